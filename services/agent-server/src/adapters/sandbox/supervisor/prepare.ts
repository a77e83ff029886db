import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { constants } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Joined in this order; none imports another but by name. */
const sources = ['pausable-timer.ts', 'process-tree.ts', 'loopback.ts', 'transport.ts', 'supervisor.ts'].map(
  (name) => fileURLToPath(new URL(name, import.meta.url)),
);

/** Host paths of the files that every sandbox shows inside, read-only. */
export interface SupervisorFiles {
  readonly node: string;
  readonly supervisor: string;
  /** A bash of the same kind as `node`, for PID 1 where there is only one uid. */
  readonly bash: string;
}

/** Makes a file whole or not at all: several servers may prepare the same folder at once. */
async function install(path: string, mode: number, make: (part: string) => Promise<void>): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  try {
    await make(part);
    await chmod(part, mode);
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/**
 * A copy of a program that its user cannot read (0711 of root; 0111 where we are not root). The kernel
 * makes such a process non-dumpable, which closes /proc, ptrace and pidfd_getfd to processes of the same uid.
 * A copy and not a link: the mode belongs to the inode. The folder must be there.
 */
export async function prepareProgram(folder: string, name: string, program: string): Promise<string> {
  const { size, mtimeMs } = await stat(program);
  const path = join(folder, `${name}-${size}-${Math.floor(mtimeMs)}`);
  if (await exists(path)) return path;
  const mode = process.getuid?.() === 0 ? 0o711 : 0o111;
  await install(path, mode, (part) => copyFile(program, part, constants.COPYFILE_FICLONE));
  return path;
}

/**
 * The supervisor as JavaScript, so that no sandbox pays for stripping types (40 ms of an 80 ms start). Stripped
 * in a process of its own because Node warns once that the function is experimental.
 */
async function prepareScript(folder: string): Promise<string> {
  const parts = await Promise.all(sources.map((source) => readFile(source, 'utf8')));
  const text = parts
    .join('\n')
    .replaceAll(/^import \{[^}]*\} from '\.\/[^']*';$/gm, '')
    .replaceAll(/^export (?=function )/gm, '');
  const digest = createHash('sha256').update(process.version).update(text).digest('hex').slice(0, 16);
  const path = join(folder, `supervisor-${digest}.mjs`);
  if (await exists(path)) return path;
  const strip =
    'const { stripTypeScriptTypes } = require("node:module");' +
    'process.stdout.write(stripTypeScriptTypes(process.argv[1]));';
  const run = await promisify(execFile)(process.execPath, ['--no-warnings', '-e', strip, text], {
    timeout: 30_000,
    maxBuffer: 4 * 1024 * 1024,
    env: {},
  });
  await install(path, 0o444, (part) => writeFile(part, run.stdout));
  return path;
}

/** Puts the files into the folder, once; cheap when they are there. */
export async function prepareSupervisor(folder: string): Promise<SupervisorFiles> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755); // whatever the umask says: sandboxes are started as an unprivileged user
  const [node, bash, supervisor] = await Promise.all([
    prepareProgram(folder, `node-${process.versions.node}`, process.execPath),
    prepareProgram(folder, 'bash', '/bin/bash'),
    prepareScript(folder),
  ]);
  return { node, bash, supervisor };
}

/** Where the files are inside. */
export const insidePaths = {
  bash: '/run/lemniscate/bash',
  privateFolder: '/run/lemniscate/private',
  node: '/run/lemniscate/node',
  supervisor: '/run/lemniscate/supervisor.mjs',
} as const;

const closeDescriptors = 'for f in /proc/self/fd/*; do n=${f##*/}; [ "$n" -le 2 ] || eval "exec $n>&-"; done';

/** A program without the descriptors of whoever launched it, in its folder. */
export function closedArgv(cwd: string, argv: readonly string[]): string[] {
  return ['/bin/bash', '-c', `${closeDescriptors}; cd -- "$0" || exit 126; exec "$@"`, cwd, ...argv];
}

/** Descriptors of one process: what the host itself allows may be a million, and the kernel's memory for them is the host's. */
const openFiles = 65_536;

/**
 * The main process of a sandbox. Bash first closes every descriptor that the host's launcher may have left
 * open, which Node cannot do to itself. `reaper` keeps bash as the parent: as PID 1 it reaps orphans, which Node
 * does not (20 daemons were 20 zombies, counted against the process bound). SIGUSR1 would open Node's inspector.
 */
export function mainArgv(parent: 'replaced' | 'reaper', bash = '/bin/bash'): string[] {
  const run = parent === 'replaced' ? 'exec "$0" "$@"' : '"$0" "$@"; exit $?';
  const limits = `ulimit -c 0; [ "$(ulimit -Hn)" -le ${openFiles} ] 2>/dev/null || ulimit -n ${openFiles}`;
  return [
    bash,
    '-c',
    `${closeDescriptors}; ${limits}; ${run}`,
    insidePaths.node,
    '--disable-sigusr1',
    '--no-warnings',
    '--v8-pool-size=1',
    '--max-semi-space-size=1',
    '--max-old-space-size=128',
    insidePaths.supervisor,
  ];
}

/** Tasks that supervisor and launcher need beside the commands: Node has about eight threads of its own. */
export const supervisorTasks = 24;
