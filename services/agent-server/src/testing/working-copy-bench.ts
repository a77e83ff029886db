import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { SandboxDriver } from '../application/ports/sandbox-driver.ts';
import type { WorkingCopies } from '../application/ports/working-copies.ts';
import { createBubblewrapDriver } from '../adapters/sandbox/bubblewrap/driver.ts';
import { createWorkingCopies } from '../adapters/working-copy/working-copies.ts';
import type { WorkingCopyOptions } from '../adapters/working-copy/working-copies.ts';

/** The account of sandboxes; our own where we are not root. */
export const sandboxUser =
  process.getuid?.() === 0
    ? { uid: 10_001, gid: 10_001 }
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

/** A folder of a test file's own that sandboxes' accounts may pass through. */
export function ownFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `lemniscate-${name}-`));
  chmodSync(folder, 0o755);
  return folder;
}

/** Working copies whose bounds no test meets by accident. */
export function openWorkingCopies(
  options: Partial<WorkingCopyOptions> & Pick<WorkingCopyOptions, 'stateFolder' | 'driver'>,
): WorkingCopies {
  return createWorkingCopies({
    allowLocalPaths: true,
    hosts: { privateHosts: [] },
    maxRepositoryBytes: 64 * 1024 * 1024,
    maxRepositoryFiles: 150_000,
    maxMirrors: 50,
    maxMirrorBytes: 8 * 1024 ** 3,
    maxMirrorAgeMs: 3_600_000,
    onSpareFailure: (error) => assert.fail(String(error)),
    ...options,
  });
}

/** What the tests of working copies work with. */
export interface WorkingCopyBench {
  readonly driver: SandboxDriver;
  readonly copies: WorkingCopies;
}

/** Working copies over bubblewrap in a folder, which is taken down after the file's tests; no sandbox may be left then. */
export function openWorkingCopyBench(
  root: string,
  options: Partial<WorkingCopyOptions> = {},
): WorkingCopyBench {
  const driver = createBubblewrapDriver({ stateFolder: join(root, 'driver'), serverId: 'copies' });
  const copies = openWorkingCopies({ stateFolder: join(root, 'state'), driver, ...options });
  after(async () => {
    await copies.close();
    assert.deepEqual(await driver.list(), []);
    rmSync(root, { recursive: true, force: true });
  });
  return { driver, copies };
}

/** Runs git on the host, for folders that the test itself made. @returns what it prints */
export function gitIn(folder: string, ...args: string[]): string {
  const settings = ['user.name=T', 'user.email=t@example.invalid', 'safe.directory=*'];
  return execFileSync('git', [...settings.flatMap((setting) => ['-c', setting]), ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
