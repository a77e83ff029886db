import { newConsoleLink } from '@lemniscate/cli/commands/console.ts';
import { buildConsole } from '@lemniscate/local/console-build.ts';
import { openBrowser } from '@lemniscate/local/end-to-end/browser.ts';
import { startTestFleet } from '@lemniscate/local/end-to-end/test-fleet.ts';
import type { TestFleet } from '@lemniscate/local/end-to-end/test-fleet.ts';
import { programs, requirePrograms } from '@lemniscate/local/packages.ts';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { Benchmark } from '../benchmark.ts';

const rounds = 10;
/** To reach: the first page is small, and a person can use it within a second on loopback. */
const firstPageBytes = 250_000;
const interactiveWithinMs = 1_000;

/** How large the console's first page is and how long it takes until it can be used, in a browser that has seen nothing. */
export const consoleBenchmark: Benchmark = {
  name: 'console',
  about: 'first page of the web console: bytes as received, and time until it can be used',
  async run(io) {
    requirePrograms([programs.chromium], io.say);
    await buildConsole(io.projectRoot, io.say);
    const site = await startTestFleet();
    try {
      const measured = await openPages(site, io.say);
      const interactive = distribution(
        'navigation to a usable list',
        'ms',
        measured.map(({ ms }) => ms),
      );
      const received = distribution(
        'first page as received',
        'bytes',
        measured.map(({ bytes }) => bytes),
      );
      return {
        results: [interactive, received],
        goals: [
          goalAtMost('navigation to a usable list, p50', 'ms', interactiveWithinMs, interactive.p50),
          goalAtMost('first page as received', 'bytes', firstPageBytes, received.max),
        ],
      };
    } finally {
      await site.stop();
    }
  },
};

async function openPages(
  site: TestFleet,
  say: (line: string) => void,
): Promise<{ ms: number; bytes: number }[]> {
  const browser = await openBrowser();
  try {
    const measured: { ms: number; bytes: number }[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
      const page = await context.newPage();
      await page.goto((await newConsoleLink(site.client)).url);
      await page.getByRole('button', { name: 'New session' }).waitFor();
      const cookies = await context.cookies();
      // A browser of its own: what the login has loaded must not be in its cache.
      const fresh = await browser.newContext({ viewport: { width: 1440, height: 900 } });
      await fresh.addCookies(cookies);
      await fresh.addInitScript("localStorage.setItem('lemniscate-logged-in', 'yes')");
      const first = await fresh.newPage();
      const network = await fresh.newCDPSession(first);
      await network.send('Network.enable');
      let bytes = 0;
      network.on('Network.loadingFinished', ({ encodedDataLength }) => {
        bytes += encodedDataLength;
      });
      const from = performance.now();
      await first.goto(new URL('/console/', site.fleet.apiUrl).href, { waitUntil: 'commit' });
      await first.getByRole('button', { name: 'Start the first one' }).click({ trial: true });
      const ms = Math.round(performance.now() - from);
      await first.evaluate('document.fonts.ready');
      await context.close();
      await fresh.close();
      // The first one warms the browser up.
      if (round > 0) measured.push({ ms, bytes });
      say(`round ${round}: usable after ${ms} ms, ${bytes} bytes`);
    }
    return measured;
  } finally {
    await browser.close();
  }
}
