import { isatty } from 'node:tty';
import { parseArgs } from 'node:util';
import type { CommandIo } from '@lemniscate/cli/io.ts';
import type { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { mayColour } from './colours.ts';
import { buildConsole } from './console-build.ts';
import { offerConsoleLink } from './console-link.ts';
import { runFirstSession } from './first-session.ts';
import { startFleet } from './fleet.ts';
import type { Fleet } from './fleet.ts';
import { projectRoot } from './project-root.ts';
import { runMain } from './run-main.ts';
import { openSampleRepository } from './sample-repository.ts';
import { reportForPeople, reportForPrograms } from './session-report.ts';

// `npm start [-- --once] [--json]`: brings up a fleet on this machine, has its agent mend the sample repository, shows
// what came of it, and serves until Ctrl-C.

const usage = `usage: npm start [-- [--once] [--json]]

Sets up and starts a fleet on this machine, has its agent mend a sample repository, and serves until Ctrl-C.
  --once   ends after that first session, with its exit code
  --json   prints one JSON object at the end on stdout, all else on stderr
Variables are listed in README.md.`;

interface StartOptions {
  /** Ends after the first session, with its exit code. */
  readonly once: boolean;
  /** One JSON object at the end of stdout; all else goes to stderr. */
  readonly json: boolean;
  readonly help: boolean;
}

async function main(stopped: AbortSignal): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options?.help === true) {
    console.log(usage);
    return 0;
  }
  if (options === undefined) {
    console.error(usage);
    return 2;
  }
  const out = options.json ? process.stderr : process.stdout;
  const say = (line: string) => out.write(`${line}\n`);
  const starting = startFleet({ projectRoot, environment: process.env, say });
  // While the stores come up there is time to look whether it has to be built; the fleet serves without it as well.
  const built = options.once ? null : buildConsole(projectRoot, say);
  const fleet = await starting;
  const over = new AbortController();
  try {
    const setupMs = sinceLaunch();
    say(`serving at ${fleet.apiUrl} after ${setupMs} ms`);
    const exitCode = await unlessGivenUp(
      fleet,
      firstSession(fleet, setupMs, options, out, AbortSignal.any([stopped, over.signal])),
    );
    if (options.once) say('the fleet stops now; "npm start" serves, and then the session can be applied');
    if (options.once || stopped.aborted) return exitCode;
    if (built !== null && (await built)) say(`\nconsole  ${await offerConsoleLink(fleet)}`);
    say(`\nserving at ${fleet.apiUrl} until Ctrl-C; in another terminal: npx lemniscate run "…" --repo PATH`);
    await unlessGivenUp(fleet, untilStopped(stopped));
    return 0;
  } finally {
    over.abort();
    say('stopping');
    await fleet.stop();
  }
}

function readOptions(args: string[]): StartOptions | undefined {
  try {
    const options = {
      once: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    } as const;
    return parseArgs({ args, options }).values;
  } catch (error) {
    console.error((error as Error).message);
    return undefined;
  }
}

async function firstSession(
  fleet: Fleet,
  setupMs: number,
  options: StartOptions,
  out: NodeJS.WriteStream,
  stopped: AbortSignal,
): Promise<number> {
  const repository = openSampleRepository(fleet.data);
  const colour = mayColour(options.json ? 2 : 1);
  const io: CommandIo = {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    interactive: isatty(0) && isatty(1) && !options.json,
    colour,
    signal: stopped,
    setExitCode: () => undefined,
  };
  try {
    const first = await runFirstSession(fleet, repository, io, out);
    await reportForPeople(first, repository, setupMs, out, colour);
    if (options.json) console.log(JSON.stringify(reportForPrograms(first, repository, setupMs)));
    // a log that does not verify is a failure of the fleet, whatever the session says of itself
    return first.audit.verified ? (first.session.exitCode ?? 1) : 1;
  } catch (error) {
    if (stopped.aborted) return 130;
    throw error;
  }
}

/** @throws CodedError of the service that is given up meanwhile */
async function unlessGivenUp<Result>(fleet: Fleet, waited: Promise<Result>): Promise<Result> {
  return Promise.race([
    waited,
    fleet.gaveUp.then((error: CodedError) => {
      throw error;
    }),
  ]);
}

function untilStopped(stopped: AbortSignal): Promise<void> {
  if (stopped.aborted) return Promise.resolve();
  return new Promise((settle) => {
    stopped.addEventListener('abort', () => settle(), { once: true });
  });
}

/** Milliseconds since the launcher began, the installation included; it says when in a variable. */
function sinceLaunch(): number {
  const launchedAt = Number(process.env['LEMNISCATE_LAUNCHED_AT'] ?? performance.timeOrigin);
  return Math.round(Date.now() - launchedAt);
}

await runMain(main);
