import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, statfs, symlink, truncate, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { createRootShell, quoted } from './root-shell.ts';

/** What a sandbox may put on its disk: `/workspace` and `/home/agent` together. */
export interface DiskBounds {
  readonly bytes: number;
  /** Files, folders and links. */
  readonly files: number;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** File systems of fixed size, one a sandbox. */
export interface SandboxDisks {
  /** Makes and mounts one at `folder`/disk with folders of the owner's in it. Undo: `remove`. @throws Error */
  create(folder: string, bounds: DiskBounds, owner: Owner, folders: readonly string[]): Promise<void>;
  /**
   * Lays trees that never change, the uppermost first, under an empty folder of the disk: what is written goes to the disk, they stay
   * as it is, and a sandbox that already runs sees it. @throws Error
   */
  lay(folder: string, name: string, trees: readonly string[]): Promise<void>;
  /** Unmounts everything at and under `folder`, innermost first; nothing mounted is no error. @throws Error */
  remove(folder: string): Promise<void>;
}

/**
 * An ext4 image of the disk's size, sparse and mounted by loop. Of what this was compared with (docs/decisions,
 * sandbox disks) it is the only one that bounds bytes and files, is not charged to memory, and needs no quota in the
 * host's kernel and file system. The journal is kept: without it writing after a mass deletion took 5 to 10 times as
 * long. Reserved blocks are none: nothing of root's is on it.
 */
const makeFilesystem = (image: string, files: number): string[] =>
  `-q -F -m 0 -E lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=0:0 -N ${files} ${image}`.split(
    ' ',
  );

/** @param templates folder for one empty image per size, copied for each sandbox (2 ms instead of 10) */
function createSandboxDisks(templates: string): SandboxDisks {
  const shell = createRootShell();
  const making = new Map<string, Promise<string>>();

  const make = async ({ bytes, files }: DiskBounds): Promise<string> => {
    const image = join(templates, `${bytes}-${files}.img`);
    if (existsSync(image)) return image;
    await mkdir(templates, { recursive: true, mode: 0o700 });
    const part = `${image}.${process.pid}.part`;
    try {
      await writeFile(part, '', { mode: 0o600 });
      await truncate(part, bytes);
      await promisify(execFile)('mkfs.ext4', makeFilesystem(part, files), {
        timeout: 60_000,
        env: { PATH: '/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin' },
      });
      await rename(part, image);
    } finally {
      await rm(part, { force: true });
    }
    return image;
  };
  const template = (bounds: DiskBounds): Promise<string> => {
    const key = `${bounds.bytes}-${bounds.files}`;
    const known = making.get(key);
    if (known !== undefined) return known;
    const made = make(bounds);
    making.set(key, made);
    made.catch(() => making.delete(key)); // the next sandbox tries again
    return made;
  };

  return {
    async create(folder, bounds, { uid, gid }, folders) {
      const image = join(folder, 'disk.img');
      const disk = join(folder, 'disk');
      const owned = folders.flatMap((name) => [join(disk, name), join(layFolder(folder, name), 'changes')]);
      // shared: what is mounted later on the workspace reaches the sandbox' own view of it
      await shell.run(
        [
          `cp --sparse=always ${quoted(await template(bounds), image)}`,
          `mkdir -p ${quoted(disk)}`,
          `mount --make-shared -o loop,noatime,nodev,nosuid ${quoted(image, disk)}`,
          `mkdir -p ${quoted(...owned, ...folders.map((name) => join(layFolder(folder, name), 'work')))}`,
          `chown ${uid}:${gid} ${quoted(...owned)}`,
          `chmod 755 ${quoted(...owned)}`,
        ].join(' && '),
      );
    },
    async lay(folder, name, trees) {
      const below = layFolder(folder, name);
      const names = trees.map((_, index) => `tree${index}`);
      for (const [index, tree] of trees.entries()) await symlink(tree, join(below, `tree${index}`));
      const target = relative(below, join(folder, 'disk', name));
      await shell.run(
        `cd ${quoted(below)} && mount -t overlay overlay -o lowerdir=${names.join(':')},${overlayOptions} ${quoted(target)}`,
      );
    },
    async remove(folder) {
      const points = mountsUnder(folder);
      if (points.length > 0) await shell.run(points.map((point) => `umount ${quoted(point)}`).join(' && '));
    },
  };
}

/** Beside the folders that the sandbox sees, on the same disk. */
const layFolder = (folder: string, name: string): string => join(folder, 'disk', '.lay', name);

/** Names are relative because a mount's options can be read inside, and the host's paths are none of its business. Renaming a folder of the tree must work as on any file system, and inode numbers must not change under a reader. */
const overlayOptions = 'upperdir=changes,workdir=work,redirect_dir=on,xino=auto,nodev,nosuid,noatime';

/** How a sandbox with a disk gets trees under its two folders. */
export function layers(disks: SandboxDisks, folder: string) {
  return {
    layTree: (tree: string, under?: string) =>
      disks.lay(folder, 'workspace', under === undefined ? [tree] : [tree, under]),
    layHome: (tree: string) => disks.lay(folder, 'home', [tree]),
  };
}

/** What is left on the disk of a path; nulls without one, and when it is gone. */
export async function diskCounters(
  path: string | null,
): Promise<{ readonly diskLeftBytes: number | null; readonly diskLeftFiles: number | null }> {
  if (path === null) return { diskLeftBytes: null, diskLeftFiles: null };
  try {
    const { bavail, bsize, ffree } = await statfs(path);
    return { diskLeftBytes: bavail * bsize, diskLeftFiles: ffree };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return { diskLeftBytes: null, diskLeftFiles: null };
    throw error;
  }
}

/**
 * Disks of fixed size, if this machine lets us make them: root's rights, a free loop device and mkfs.ext4. Found out by
 * making one, since a container may have any of it without the others.
 * @param folder holds one empty image per size, and the trial
 */
export async function openDisks(
  folder: string,
): Promise<{ readonly disks: SandboxDisks | null; readonly why: string }> {
  if (process.getuid?.() !== 0) return { disks: null, why: 'mounting a disk needs root' };
  const disks = createSandboxDisks(folder);
  await removeOldTrials(disks, folder);
  const trial = newTrial(folder);
  await mkdir(trial, { recursive: true, mode: 0o700 });
  try {
    await disks.create(trial, { bytes: 32 * 1024 * 1024, files: 64 }, { uid: 0, gid: 0 }, ['folder']);
    return { disks, why: '' };
  } catch (error) {
    return { disks: null, why: error instanceof Error ? error.message : String(error) };
  } finally {
    await disks.remove(trial);
    await rm(trial, { recursive: true, force: true });
  }
}

/** A folder to try a disk in. Its name says whose it is. */
export function newTrial(folder: string): string {
  return join(folder, `trial-${process.pid}-${randomBytes(4).toString('hex')}`);
}

/** A process that was killed in its trial has left a mount. */
async function removeOldTrials(disks: SandboxDisks, folder: string): Promise<void> {
  const names = existsSync(folder) ? await readdir(folder) : [];
  for (const name of names) {
    const pid = /^trial-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    await disks.remove(join(folder, name));
    await rm(join(folder, name), { recursive: true, force: true });
  }
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
