import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

const run = promisify(execFile);

/** The host folders of one sandbox. */
export interface SandboxFolder {
  readonly path: string;
  readonly workspace: string;
  readonly home: string;
}

/** A folder with this file in it holds a kept workspace and is no sandbox any more. */
const keptMark = 'kept';

export function sandboxFolder(base: string, id: string): SandboxFolder {
  const path = join(base, id);
  return { path, workspace: join(path, 'workspace'), home: join(path, 'home') };
}

/** Makes the folders; `owner` gets those that commands write to. Other accounts of the host cannot pass. */
export async function createSandboxFolder(
  folder: SandboxFolder,
  owner: { readonly uid: number; readonly gid: number } | null,
): Promise<void> {
  await mkdir(folder.path, { recursive: true, mode: 0o700 });
  for (const path of [folder.workspace, folder.home]) {
    await mkdir(path);
    await chmod(path, 0o755); // whatever the umask says
    if (owner !== null) await chown(path, owner.uid, owner.gid);
  }
}

/** Ids of the folders under `base` that are sandboxes and not kept workspaces. */
export async function listSandboxFolders(base: string): Promise<string[]> {
  if (!existsSync(base)) return [];
  const names = await readdir(base);
  return names.filter((name) => !existsSync(join(base, name, keptMark)));
}

/** Mount points at or under a folder, innermost first. */
function mountsUnder(path: string): string[] {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .map((point) =>
      point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8))),
    );
  return points.filter((point) => point === path || point.startsWith(`${path}/`)).toReversed();
}

/**
 * Removes a sandbox' folder, or all but its workspace. By `rm`, which walks by descriptor: a hostile tree may be
 * deeper than any path is long.
 * @throws CodedError `sandbox_leaked`
 */
export async function removeSandboxFolder(folder: SandboxFolder, keepWorkspace: boolean): Promise<void> {
  if (!existsSync(folder.path)) return;
  if (!keepWorkspace) for (const point of mountsUnder(folder.path)) await run('umount', [point]);
  const doomed = keepWorkspace ? [folder.home, join(folder.path, 'private')] : [folder.path];
  const remove = (): Promise<unknown> =>
    run('rm', ['-rf', '--one-file-system', '--', ...doomed], { timeout: 300_000 });
  try {
    await remove().catch(async () => {
      // without root's rights a folder of mode 000 stops rm, although it is ours
      await run('chmod', ['-R', 'u+rwX', '--', ...doomed]);
      await remove();
    });
  } catch (error) {
    throw new CodedError(
      'sandbox_leaked',
      `${doomed.join(' and ')} could not be removed.`,
      { paths: doomed },
      error,
    );
  }
  if (keepWorkspace) await writeFile(join(folder.path, keptMark), '');
  else if (existsSync(folder.path))
    throw new CodedError('sandbox_leaked', `${folder.path} is still there after its removal.`);
}
