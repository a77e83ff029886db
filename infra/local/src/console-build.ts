import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inTurn } from './process/turn.ts';

const buildMs = 5 * 60_000;
const keptOutput = 4_000;

/** Where the built console lies; the dispatcher reads it there. */
export function consoleFolder(projectRoot: string): string {
  return join(projectRoot, 'clients/console/dist');
}

/** Everything that a build depends on: the console's sources, those of `shared`, and the versions of all packages. */
function sourcesDigest(projectRoot: string): string {
  const files = globSync(
    [
      'clients/console/{src/**/*,index.html,vite.config.ts,package.json}',
      'shared/src/**/*.ts',
      'package-lock.json',
    ],
    { cwd: projectRoot, withFileTypes: true },
  )
    .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const digest = createHash('sha256');
  for (const file of files) digest.update(`${file}\0`).update(readFileSync(file)).update('\0');
  return digest.digest('hex');
}

function readStamp(folder: string): string | null {
  try {
    return readFileSync(join(folder, '.built-from'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Builds the console unless it is built from exactly these sources already. The new one takes the place of the old in
 * one step, so a dispatcher that serves it never sees half of one. Processes that want it at once build it once: the
 * first builds, the others find it built.
 * @returns whether there is a console now; a build that fails is told and leaves the fleet working
 */
export async function buildConsole(projectRoot: string, say: (line: string) => void): Promise<boolean> {
  try {
    return await inTurn(consoleFolder(projectRoot), () => buildWhenChanged(projectRoot, say));
  } catch (error) {
    say(`the console could not be built; the fleet serves without it\n${String(error)}`);
    return false;
  }
}

async function buildWhenChanged(projectRoot: string, say: (line: string) => void): Promise<boolean> {
  const folder = consoleFolder(projectRoot);
  const wanted = sourcesDigest(projectRoot);
  if (readStamp(folder) === wanted) return true;
  const from = performance.now();
  const making = `${folder}.${process.pid}`;
  const output = await runVite(projectRoot, making);
  if (output !== null) {
    rmSync(making, { recursive: true, force: true });
    say(`the console could not be built; the fleet serves without it\n${output}`);
    return false;
  }
  writeFileSync(join(making, '.built-from'), wanted);
  rmSync(folder, { recursive: true, force: true });
  renameSync(making, folder);
  say(`built the console in ${Math.round(performance.now() - from)} ms`);
  return true;
}

/** @returns null when it went well, else what it said */
async function runVite(projectRoot: string, outDir: string): Promise<string | null> {
  const child = spawn(
    process.execPath,
    [
      join(projectRoot, 'node_modules/vite/bin/vite.js'),
      'build',
      '--outDir',
      outDir,
      '--emptyOutDir',
      // Turns are ours; its own lock refuses instead of waiting.
      '--bypass-lock',
      '--logLevel',
      'warn',
    ],
    {
      cwd: join(projectRoot, 'clients/console'),
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: AbortSignal.timeout(buildMs),
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-keptOutput);
    });
  return new Promise((settle) => {
    child.once('error', (error) => settle(`${output}\n${error.message}`));
    child.once('close', (code) => settle(code === 0 ? null : output.trim()));
  });
}
