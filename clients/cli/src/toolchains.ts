import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join, relative } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** A profile takes so many. */
const most = 32;

/** What a sandbox has of its own, or what a machine keeps its secrets in: no toolchain is looked for there. */
const closed = ['/proc', '/sys', '/dev', '/run', '/tmp', '/var/tmp', '/etc', '/workspace', '/home/agent'];

/** Found first in every sandbox as they are. */
const usual = ['/', '/usr', '/usr/local'];

/** By what one sees that a folder is a toolchain and nothing else: all files of one line, or of another. */
const marks: readonly (readonly string[])[] = [
  ['bin/node', 'include/node/node.h'],
  ['bin/go', 'VERSION', 'src'],
  ['bin/rustc', 'lib/rustlib'],
  ['bin/java', 'release'],
  ['bin/ruby', 'lib/ruby'],
];

/** Where the settings of a toolchain may keep a login, as `npm config set --global` does. */
const secrets = [
  'etc/npmrc',
  '.npmrc',
  'pip.conf',
  'etc/pip.conf',
  'credentials',
  'credentials.toml',
  '.netrc',
];

/**
 * The toolchains that the person's own PATH leads to and that a sandbox would not see by itself: of nvm, fnm, volta, asdf,
 * mise, pyenv, rbenv, rustup, SDKMAN and plain folders, in the order of the PATH. Each is the folder of one installation;
 * never a home, a folder of a home's dotfiles, or one that keeps a login.
 * @returns absolute folders, links resolved
 */
export async function findToolchains(env: Environment): Promise<string[]> {
  const home = await resolved(env['HOME'] || homedir());
  const entries = (env['PATH'] ?? '').split(delimiter).filter((entry) => isAbsolute(entry));
  const found: string[] = [];
  for (const entry of entries)
    for (const bin of [entry, ...(await behindShims(entry, env))]) {
      const root = await resolved(bin);
      if (root === null || basename(root) !== 'bin') continue;
      const folder = dirname(root);
      if (!found.includes(folder) && isOpen(folder, home) && (await isToolchain(folder))) found.push(folder);
    }
  return found.slice(0, most);
}

async function resolved(path: string): Promise<string | null> {
  return realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'].includes(error.code ?? '')) return null;
    throw error;
  });
}

/** Whether a sandbox may be shown it for its place alone. */
function isOpen(folder: string, home: string | null): boolean {
  if (usual.includes(folder) || closed.some((own) => isBelow(folder, own) || isBelow(own, folder)))
    return false;
  // an engine's own punctuation
  if (/[:,\0\n]/.test(folder)) return false;
  return home === null || !isBelow(home, folder);
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || !(way === '..' || way.startsWith('../'));
}

async function isToolchain(folder: string): Promise<boolean> {
  // ~/.local and its like hold programs and secrets side by side
  if (basename(folder).startsWith('.')) return false;
  const find = (names: readonly string[]): Promise<(boolean | null)[]> =>
    Promise.all(names.map((name) => isThere(join(folder, name))));
  const all = async (names: readonly string[]): Promise<boolean> => (await find(names)).every(Boolean);
  // where it cannot be told whether a secret is there, one is
  if ((await find(secrets)).some((found) => found !== false)) return false;
  return (await isPython(folder)) || (await Promise.all(marks.map(all))).some(Boolean);
}

/** @returns null where the system does not tell: no permission on the way, a fault of the disk */
async function isThere(path: string): Promise<boolean | null> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '') ? false : null;
  }
}

/** Its library is a folder with a version in its name: `lib/python3.13/os.py`. */
async function isPython(folder: string): Promise<boolean> {
  const names = await readdir(join(folder, 'lib')).catch(() => []);
  const libraries = names.filter((name) => /^python3\.\d+$/.test(name));
  const found = await Promise.all(libraries.map((name) => isThere(join(folder, 'lib', name, 'os.py'))));
  return found.some((file) => file === true);
}

/** The `bin` folders that the shims of a version manager hand over to where nothing else is asked for. */
async function behindShims(entry: string, env: Environment): Promise<string[]> {
  const root = dirname(entry);
  if (basename(entry) === 'shims') {
    const versions = await wordsOf(join(root, 'version'));
    const tools = (await linesOf(join(env['HOME'] || homedir(), '.tool-versions'))).map((line) =>
      line.trim().split(/\s+/),
    );
    return [
      ...versions.map((version) => join(root, 'versions', version, 'bin')),
      ...tools
        .filter((words) => words.length > 1 && words.every(isName))
        .map(([tool = '', version = '']) => join(root, 'installs', tool, version, 'bin')),
    ];
  }
  // rustup's programs in ~/.cargo/bin only start those of a toolchain
  const rustup = env['RUSTUP_HOME'] || join(dirname(root), '.rustup');
  if (basename(entry) !== 'bin' || (await isThere(join(entry, 'rustup'))) !== true) return [];
  const settings = (await linesOf(join(rustup, 'settings.toml'))).join('\n');
  const name = /^default_toolchain\s*=\s*"([^"]+)"/m.exec(settings)?.[1];
  return name === undefined || !isName(name) ? [] : [join(rustup, 'toolchains', name, 'bin')];
}

function isName(word: string): boolean {
  return /^[\w+-][\w.+-]*$/.test(word);
}

async function wordsOf(file: string): Promise<string[]> {
  return (await linesOf(file)).flatMap((line) => line.trim().split(/\s+/)).filter(isName);
}

async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR'].includes(error.code ?? '')) return '';
    throw error;
  });
  return text.split('\n');
}
