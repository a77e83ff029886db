import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { DiskBounds, SandboxDisks } from './disk/sandbox-disk.ts';

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
  return { path, workspace: join(path, 'disk', 'workspace'), home: join(path, 'disk', 'home') };
}

/**
 * Makes the folders, on a disk of fixed size where the host can; `owner` gets those that commands write to. Other
 * accounts of the host cannot pass.
 */
export async function createSandboxFolder(
  folder: SandboxFolder,
  owner: { readonly uid: number; readonly gid: number } | null,
  disk: { readonly disks: SandboxDisks; readonly bounds: DiskBounds } | null,
): Promise<void> {
  await mkdir(folder.path, { recursive: true, mode: 0o700 });
  if (disk !== null && owner !== null)
    return disk.disks.create(folder.path, disk.bounds, owner, ['workspace', 'home']);
  await mkdir(join(folder.path, 'disk'));
  for (const path of [folder.workspace, folder.home]) {
    await mkdir(path);
    await chmod(path, 0o755); // whatever the umask says
    if (owner !== null) await chown(path, owner.uid, owner.gid);
  }
}

/** Ids of the folders under `base`: of sandboxes, and of workspaces that outlive theirs. */
export async function listSandboxFolders(
  base: string,
): Promise<{ readonly sandboxes: string[]; readonly kept: string[] }> {
  const names = existsSync(base) ? await readdir(base) : [];
  const isKept = (name: string): boolean => existsSync(join(base, name, keptMark));
  return { sandboxes: names.filter((name) => !isKept(name)), kept: names.filter(isKept) };
}

/**
 * Removes a sandbox' folder, or all but its workspace. By `rm`, which walks by descriptor: a hostile tree may be
 * deeper than any path is long.
 * @throws CodedError `sandbox_leaked`
 */
export async function removeSandboxFolder(
  folder: SandboxFolder,
  keepWorkspace: boolean,
  disks: SandboxDisks | null,
): Promise<void> {
  if (!existsSync(folder.path)) return;
  if (!keepWorkspace) await unmount(folder, disks);
  // a disk of its own goes as a whole, later
  const home = disks === null ? [folder.home] : [];
  const doomed = keepWorkspace ? [...home, join(folder.path, 'private')] : [folder.path];
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

async function unmount(folder: SandboxFolder, disks: SandboxDisks | null): Promise<void> {
  try {
    await disks?.remove(folder.path);
  } catch (error) {
    throw new CodedError(
      'sandbox_leaked',
      `The disk of ${folder.path} could not be unmounted: ${error instanceof Error ? error.message : String(error)}.`,
      { path: folder.path },
      error,
    );
  }
}
