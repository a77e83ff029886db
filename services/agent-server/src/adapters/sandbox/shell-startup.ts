import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SandboxMount } from '../../application/ports/sandbox-driver.ts';

/** Stands in for the home folder while a shell looks there for startup files; nothing inside can write to it. */
const startupHome = '/etc/lemniscate/shell';

/**
 * A login shell reads /etc/profile and then `~/.bash_profile` or `~/.profile`, an interactive one /etc/bash.bashrc and
 * `~/.bashrc`: files that an earlier command may have written, so that `bash -lc 'ls'` would run what nobody has
 * judged. The tilde is the variable HOME at that moment. So the first file, which is ours, points it to a folder of
 * ours, and what the shell finds there points it back. Read-only mounts over the files in the home were rejected: an
 * environment that is laid on the home later hides them, and they would be in every snapshot.
 */
const leaveHome = `__lemniscate_home=\${HOME-/home/agent} HOME=${startupHome}\n`;
const comeHome = 'HOME=$__lemniscate_home; unset __lemniscate_home\n';

/** zsh reads its startup files after this one only while the option is set. */
const noMoreFiles = 'setopt NO_RCS\n';

/** Below /etc. What a distribution compiles into its shells differs; a file that no shell asks for harms nobody. */
const files: Readonly<Record<string, string>> = {
  profile: leaveHome,
  'bash.bashrc': leaveHome,
  'lemniscate/shell/.bash_profile': comeHome,
  'lemniscate/shell/.profile': comeHome,
  'lemniscate/shell/.bashrc': comeHome,
  zshenv: noMoreFiles,
  'zsh/zshenv': noMoreFiles,
};

/** What is mounted where /etc is an image's own: single files, and whole folders of ours. */
const mounted = ['profile', 'bash.bashrc', 'zshenv', 'lemniscate', 'zsh'] as const;

/** Puts the startup files of all shells into a folder that is /etc inside, or is mounted there. */
export async function writeShellStartup(etcFolder: string): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(etcFolder, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(file, text, { mode: 0o644 });
  }
}

/** The same for a sandbox whose /etc is its image's own. */
export function shellStartupMounts(etcFolder: string): SandboxMount[] {
  return mounted.map((name) => ({ source: join(etcFolder, name), target: `/etc/${name}`, readOnly: true }));
}
