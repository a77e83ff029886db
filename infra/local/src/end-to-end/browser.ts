import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { findProgram, programs } from '../packages.ts';
import { projectRoot } from '../project-root.ts';

/** Reason for a skip where no browser is; undefined where one is. */
export const browserMissing: string | undefined =
  findProgram(programs.chromium.program) === undefined
    ? 'browser: no chromium on this machine, and it could not be installed'
    : undefined;

/** The machine's own Chromium, without a window. */
export function openBrowser(): Promise<Browser> {
  const executablePath = findProgram(programs.chromium.program);
  if (executablePath === undefined) throw new Error(browserMissing);
  // Its sandbox wants a user that is not root; what is shown here is ours.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** What went wrong in a page by itself: scripts that threw, files that were refused, policies that were broken. */
export function watchFaults(page: Page, expected: readonly RegExp[] = []): string[] {
  const faults: string[] = [];
  const add = (text: string): void => {
    if (!expected.some((pattern) => pattern.test(text))) faults.push(text);
  };
  page.on('pageerror', (error) => add(`thrown: ${error.message}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) add(`${message.type()}: ${message.text()}`);
  });
  return faults;
}

/** Waits until a condition holds when a frame is drawn, and for one frame more. The page's policy forbids what Playwright would do. */
export async function untilDrawn(page: Page, condition: string): Promise<void> {
  const look = `(${condition}) ? requestAnimationFrame(done) : requestAnimationFrame(look)`;
  await page.evaluate(`new Promise((done) => { const look = () => ${look}; look(); })`);
}

/** Waits until every part of the page is drawn in the colours of the scheme. */
export async function coloursAreThere(page: Page, scheme: 'light' | 'dark'): Promise<void> {
  const text = scheme === 'light' ? 'rgb(25, 25, 24)' : 'rgb(235, 236, 238)';
  const ground = scheme === 'light' ? 'rgb(247, 247, 245)' : 'rgb(13, 14, 16)';
  const style = 'getComputedStyle(document.body)';
  await untilDrawn(page, `${style}.color === '${text}' && ${style}.backgroundColor === '${ground}'`);
}

const artifacts = process.env['LEMNISCATE_ARTIFACTS'] ?? join(projectRoot, '.artifacts/console');

/** Keeps what a page looks like, for people. */
export async function takePicture(page: Page, name: string): Promise<void> {
  mkdirSync(artifacts, { recursive: true });
  await page.screenshot({ path: join(artifacts, `${name}.png`) });
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds that keeps people out, in words. Injected through the debugger: the page's policy lets nothing in. */
export async function seriousBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const result = await page.evaluate<AxeResult>('axe.run(document)');
  return result.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, help, nodes }) =>
        `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html} ${failureSummary ?? ''}`).join('\n')}`,
    );
}
