import { constants, existsSync, readFileSync } from 'node:fs';
import { access, mkdir, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SandboxMount } from '../../application/ports/sandbox-driver.ts';
import { prepareProgram } from './supervisor/prepare.ts';

/** A command-line agent as npm has it: a package whose program lies in another package, one for each machine. */
interface CliPackage {
  /** The package whose version `package.json` pins. */
  readonly name: string;
  /** Its companion for this machine, and the folder in it that sandboxes see. */
  readonly companion: string;
  readonly folder: string;
  /** Its programs, in that folder. */
  readonly programs: readonly string[];
  /** Where the folder is inside. An image that brings the program itself has it there as well. */
  readonly target: string;
}

const triples = { x64: 'x86_64-unknown-linux-musl', arm64: 'aarch64-unknown-linux-musl' } as const;
const arch = process.arch === 'arm64' ? 'arm64' : 'x64';

const packages: readonly CliPackage[] = [
  {
    name: '@anthropic-ai/claude-code',
    companion: `@anthropic-ai/claude-code-linux-${arch}`,
    folder: '.',
    programs: ['claude'],
    target: '/opt/lemniscate/claude-code',
  },
  {
    name: '@openai/codex',
    companion: `@openai/codex-linux-${arch}`,
    folder: `vendor/${triples[arch]}`,
    programs: ['bin/codex', 'bin/codex-code-mode-host'],
    target: '/opt/lemniscate/codex',
  },
];

/** One program of the bundle. */
export interface BundledCli {
  readonly name: string;
  readonly version: string;
  readonly source: string;
  readonly programs: readonly string[];
  readonly target: string;
}

/**
 * The command-line agents that `npm ci` has put on this machine; one that is not there is left out. Nothing of them
 * is ever imported or run outside a sandbox.
 */
export function findCliBundle(): BundledCli[] {
  return packages.flatMap(({ name, companion, folder, programs, target }) => {
    try {
      const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
      const own = createRequire(manifest).resolve(`${companion}/package.json`);
      const source = join(dirname(own), folder);
      const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
      return existsSync(source) ? [{ name, version, source, programs, target }] : [];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return [];
      throw error;
    }
  });
}

/** Every tool of Claude Code asks; what a workspace says about hooks and permissions is not listened to. */
const claudeSettings = {
  allowManagedHooksOnly: true,
  allowManagedPermissionRulesOnly: true,
  permissions: {
    ask: [
      'Bash',
      'Edit',
      'Glob',
      'Grep',
      'MultiEdit',
      'NotebookEdit',
      'Read',
      'Skill',
      'WebFetch',
      'WebSearch',
      'Write',
    ],
    disableBypassPermissionsMode: 'disable',
  },
};

/**
 * Commands that Codex thinks safe and would run unasked. They ask as well: what is safe is the policy's to say.
 */
const codexSafe = [
  ...'base64 cat cd cut date du echo env expr false file find grep head hostname id ls nl numfmt paste'.split(
    ' ',
  ),
  ...'printenv printf pwd rev rg sed seq sort stat tac tail tr true uname uniq wc which whoami'.split(' '),
  'git',
];
const codexRules = codexSafe.map((name) => `prefix_rule(pattern=["${name}"], decision="prompt")\n`).join('');

/**
 * The shell of Claude Code, which asks for a login shell with each command: one that reads no profile, so that what runs
 * is what was judged and not what an earlier command has left in the home.
 */
const plainShell = `#!/bin/bash
options=()
while [[ \${1-} == -* ]]; do
  [[ $1 == -l || $1 == --login ]] || options+=("$1")
  shift
done
exec /bin/bash --noprofile --norc "\${options[@]}" "$@"
`;

/** Files below /etc that the command-line agents obey before anything that a repository brings. */
const settings: Readonly<Record<string, string>> = {
  'claude-code/managed-settings.json': `${JSON.stringify(claudeSettings, null, 2)}\n`,
  'claude-code/bash': plainShell,
  'codex/rules/lemniscate.rules': codexRules,
};
const programs: readonly string[] = ['claude-code/bash'];

/** Puts the machine-wide settings of the command-line agents into a folder that is /etc inside, or is mounted there. */
export async function writeCliSettings(etcFolder: string): Promise<void> {
  for (const [path, text] of Object.entries(settings)) {
    const file = join(etcFolder, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(file, text, { mode: programs.includes(path) ? 0o755 : 0o644 });
  }
}

/** What sandboxes show of the bundle, read-only. */
export interface CliMounts {
  readonly folders: readonly SandboxMount[];
  /**
   * Over each program a copy that its user cannot read, whose process the kernel closes to its equals: a command of the
   * agent has the uid of the program that asked for it, and could write into that program's descriptors and memory.
   */
  readonly closedPrograms: readonly SandboxMount[];
}

/**
 * Makes the copies, once for all servers of an installation: they are 630 MB, and a state folder may be a new one at each
 * start. `own` is where they go when the installation cannot be written to, as in an image.
 */
export async function prepareCliMounts(own: string): Promise<CliMounts> {
  const bundle = findCliBundle();
  const folder = bundle.length === 0 ? own : await sharedFolder(own);
  const closed = bundle.flatMap(({ version, source, programs, target }) =>
    programs.map(async (program) => ({
      source: await prepareProgram(folder, `${basename(program)}-${version}`, join(source, program)),
      target: join(target, program),
      readOnly: true,
    })),
  );
  return {
    folders: bundle.map(({ source, target }) => ({ source, target, readOnly: true })),
    closedPrograms: await Promise.all(closed),
  };
}

/** Of the packages themselves, so that it goes with them. */
const installed = fileURLToPath(
  new URL('../../../../../node_modules/.cache/lemniscate-programs', import.meta.url),
);

/** Somebody else's folder is no place for a program that root starts. */
async function sharedFolder(own: string): Promise<string> {
  try {
    await mkdir(installed, { recursive: true, mode: 0o755 });
    await access(installed, constants.W_OK);
    return (await stat(installed)).uid === process.getuid?.() ? installed : own;
  } catch (error) {
    if (
      ['EACCES', 'EROFS', 'ENOENT', 'ENOTDIR', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')
    )
      return own;
    throw error;
  }
}

/** The same for a sandbox whose /etc is its image's own. */
export function cliSettingsMounts(etcFolder: string): SandboxMount[] {
  const folders = new Set(Object.keys(settings).map((path) => dirname(path)));
  return [...folders].map((name) => ({
    source: join(etcFolder, name),
    target: `/etc/${name}`,
    readOnly: true,
  }));
}
