import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import { buildConsole } from './console-build.ts';
import { offerConsoleLink } from './console-link.ts';
import { arrangeProjects } from './demo/arrange-projects.ts';
import { tellMonth } from './demo/story.ts';
import { writeMonth } from './demo/write-month.ts';
import { startFleet } from './fleet.ts';
import { projectRoot } from './project-root.ts';
import { runMain } from './run-main.ts';

// `npm run console:demo [-- --sessions N] [-- --once]`: a fleet of its own whose record holds a believable month, and a
// link into its console. It has a data folder of its own, so that a fleet that somebody uses is left alone.

const usage = `usage: npm run console:demo [-- [--sessions N] [--once]]

Starts a fleet in .lemniscate-demo, fills its record with a month of sessions, and serves its console until Ctrl-C.
  --sessions N   how many sessions the month has (1200)
  --once         ends when the record is filled`;

async function main(stopped: AbortSignal): Promise<number> {
  const { values } = parseArgs({
    options: {
      sessions: { type: 'string' },
      once: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const sessions = Number(values.sessions ?? 1200);
  if (values.help === true || !Number.isInteger(sessions) || sessions < 1 || sessions > 100_000) {
    console.error(usage);
    return values.help === true ? 0 : 2;
  }
  const say = (line: string): void => console.log(line);
  const environment = {
    ...process.env,
    LEMNISCATE_DATA: process.env['LEMNISCATE_DATA'] ?? join(projectRoot, '.lemniscate-demo'),
  };
  const built = buildConsole(projectRoot, say);
  const fleet = await startFleet({ projectRoot, environment, say });
  try {
    const { token } = JSON.parse(readFileSync(fleet.tokenFile, 'utf8')) as { token: string };
    const projects = await arrangeProjects(createApiClient({ url: fleet.apiUrl, token }));
    const month = tellMonth(new Date(), sessions);
    const from = performance.now();
    const written = await writeMonth(fleet.stores.databaseUrl, month, projects);
    say(
      written === 0
        ? 'the record has its month already; remove .lemniscate-demo for another one'
        : `wrote ${written} sessions in ${Math.round(performance.now() - from)} ms`,
    );
    if (values.once === true || !(await built)) return 0;
    say(`\nconsole  ${await offerConsoleLink(fleet)}\n\nserving at ${fleet.apiUrl} until Ctrl-C`);
    await Promise.race([
      fleet.gaveUp.then((error) => Promise.reject(error)),
      new Promise<void>((settle) => {
        if (stopped.aborted) settle();
        stopped.addEventListener('abort', () => settle(), { once: true });
      }),
    ]);
    return 0;
  } finally {
    await fleet.stop();
  }
}

await runMain(main);
