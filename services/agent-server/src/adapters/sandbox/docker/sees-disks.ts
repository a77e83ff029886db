import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ThrowawayProfile } from '../../../application/ports/sandbox-driver.ts';
import { newTrial } from '../disk/sandbox-disk.ts';
import type { SandboxDisks } from '../disk/sandbox-disk.ts';
import type { DockerWorkplace } from './driver.ts';
import { runInThrowawayContainer } from './throwaway.ts';

/**
 * Whether the engine sees what this process mounts. An engine with a mount namespace of its own (another container, a
 * unit with private mounts, another machine) would show the empty folder under the mount, and what is written there has
 * no bound.
 */
export async function seesDisks(
  place: DockerWorkplace,
  disks: SandboxDisks,
  folder: string,
  profile: ThrowawayProfile,
): Promise<boolean> {
  const trial = newTrial(folder);
  await mkdir(trial, { recursive: true, mode: 0o700 });
  try {
    await disks.create(trial, { bytes: 32 * 1024 * 1024, files: 64 }, { uid: 0, gid: 0 }, ['folder']);
    const source = join(trial, 'disk', 'folder');
    await writeFile(join(source, 'mark'), 'seen', { mode: 0o644 });
    const run = await runInThrowawayContainer(
      place,
      {
        argv: ['cat', '/trial/mark'],
        mounts: [{ source, target: '/trial', readOnly: true, follows: true }],
        cwd: '/',
        user: { uid: 10_001, gid: 10_001 },
        timeoutMs: 20_000,
        maxOutputBytes: 1024,
      },
      profile,
    ).catch(() => null); // an engine elsewhere refuses to follow a mount that it does not have
    return run?.stdout.toString('utf8') === 'seen';
  } finally {
    await disks.remove(trial);
    await rm(trial, { recursive: true, force: true });
  }
}
