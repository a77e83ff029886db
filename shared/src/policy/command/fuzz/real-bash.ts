import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { separator } from './argument-scripts.ts';

/** A folder in which scripts run with a PATH of stubs that only note that they were called. */
export interface StubWorld {
  /**
   * Runs the scripts one after the other, each in its own subshell.
   * @returns for each script the names of the stubs that ran
   */
  readonly run: (scripts: readonly string[]) => Promise<Set<string>[]>;
  readonly remove: () => Promise<void>;
}

/** Whatever a script reaches in spite of the stubs, it reaches as nobody. */
const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** A script that spins is ended by its processor time; a batch by the clock: it takes 30 s when ten others want a core. */
const batchDeadlineMs = 240_000;

/**
 * Builds the stubs.
 * @param stubs names that only note a call
 * @param real programs that are the machine's own
 * @param detailed names that note their arguments too, behind `separator`
 */
export async function createStubWorld(
  stubs: readonly string[],
  real: readonly string[],
  detailed: readonly string[],
): Promise<StubWorld> {
  const root = await mkdtemp(join(tmpdir(), 'judge-fuzz-'));
  await chmod(root, 0o755);
  const bin = join(root, 'bin');
  await mkdir(bin);
  for (const name of stubs) {
    // noted from a file too, for wrappers start programs and not functions
    await writeFile(join(bin, name), `#!/bin/sh\necho "$FZ ${name}" >> "$FUZZ_LOG"\n`);
    await chmod(join(bin, name), 0o755);
  }
  for (const name of detailed) {
    await writeFile(
      join(bin, name),
      `#!/bin/sh\nIFS='${separator}'\necho "$FZ ${name}${separator}$*" >> "$FUZZ_LOG"\n`,
    );
    await chmod(join(bin, name), 0o755);
  }
  for (const name of real) await symlink(await whereIs(name), join(bin, name));
  const driver = join(root, 'driver.sh');
  await writeFile(driver, driverText(stubs, detailed));
  let batch = 0;
  return {
    run: async (scripts) => {
      batch += 1;
      const folder = join(root, `batch-${batch}`);
      await mkdir(join(folder, 'work'), { recursive: true });
      for (const place of [folder, join(folder, 'work')]) await chmod(place, 0o777);
      await Promise.all(scripts.map((script, index) => writeFile(join(folder, `${index}.sh`), script)));
      await runDriver(driver, folder, bin, scripts.length);
      const calls = await readCalls(join(folder, 'log'), scripts.length);
      await rm(folder, { recursive: true, force: true });
      return calls;
    },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

async function whereIs(name: string): Promise<string> {
  for (const folder of ['/usr/bin', '/bin', '/usr/local/bin']) {
    const path = join(folder, name);
    const found = await readFile(path).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return false;
        throw error;
      },
    );
    if (found) return path;
  }
  throw new Error(`${name} is not on this machine`);
}

/** Functions spare the fork where bash itself runs the name. */
function driverText(stubs: readonly string[], detailed: readonly string[]): string {
  const functions = stubs
    .map((name) => `${name}() { builtin echo "$FZ ${name}" >> "$FUZZ_LOG"; }`)
    .join('\n');
  const noting = detailed
    .map(
      (name) => `${name}() { local IFS=$'\\x01'; builtin echo "$FZ ${name}${separator}$*" >> "$FUZZ_LOG"; }`,
    )
    .join('\n');
  return `${functions}
${noting}
ulimit -t 2
ulimit -f 2048
ulimit -c 0
FUNCNEST=30
cd "$FUZZ_FOLDER/work" || exit 1
for ((number = 0; number < FUZZ_COUNT; number++)); do
  echo "$number" > "$FUZZ_FOLDER/at"
  (
    export FZ=$number
    readonly FZ FUZZ_LOG
    unset number
    . "$FUZZ_FOLDER/$FZ.sh"
  ) < /dev/null > /dev/null 2>&1
done
`;
}

async function runDriver(driver: string, folder: string, bin: string, count: number): Promise<void> {
  const child = spawn('/bin/bash', ['--norc', '--noprofile', driver], {
    // a group of its own, so that what a script left in the background ends with the batch
    detached: true,
    stdio: 'ignore',
    ...unprivileged,
    env: { PATH: bin, FUZZ_LOG: join(folder, 'log'), FUZZ_FOLDER: folder, FUZZ_COUNT: String(count) },
  });
  const group = child.pid;
  if (group === undefined) throw new Error('bash did not start');
  const deadline = setTimeout(() => endGroup(group), batchDeadlineMs);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  clearTimeout(deadline);
  endGroup(group);
  if (code !== null) return;
  const at = (await readFile(join(folder, 'at'), 'utf8')).trim();
  throw new Error(`a script did not end: ${await readFile(join(folder, `${at}.sh`), 'utf8')}`);
}

function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch (error) {
    // everything of the group has ended by itself
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function readCalls(path: string, count: number): Promise<Set<string>[]> {
  const calls = Array.from({ length: count }, () => new Set<string>());
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  for (const line of text.split('\n')) {
    const [number, ...noted] = line.split(' ');
    if (number !== undefined && noted.length > 0) calls[Number(number)]?.add(noted.join(' '));
  }
  return calls;
}
