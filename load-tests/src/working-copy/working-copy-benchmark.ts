import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sandboxDrivers } from '@lemniscate/agent-server/adapters/sandbox/registry.ts';
import { createSnapshots } from '@lemniscate/agent-server/adapters/snapshot/snapshots.ts';
import { createWorkingCopies } from '@lemniscate/agent-server/adapters/working-copy/working-copies.ts';
import type { Sandbox, SandboxDriver } from '@lemniscate/agent-server/application/ports/sandbox-driver.ts';
import type { WorkingCopies } from '@lemniscate/agent-server/application/ports/working-copies.ts';
import { readProfiles } from '@lemniscate/agent-server/application/sandbox-profiles.ts';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchIo, Benchmark } from '../benchmark.ts';

const files = 50_000;
const changes = 10;
const rounds = 50;
/** Copies of all files, which stay until the end. */
const copyRounds = 5;
const snapshotFiles = 8_000;
const snapshotFileBytes = 6_400;

/** To reach with the bubblewrap driver, by the middle of the rounds; and against what everybody would do instead. */
const layWithinMs = 50;
const diffWithinMs = 300;
const layAgainstCopy = 0.1;

/** A working copy of a large cached repository, its diff, and the snapshot of a session. */
export const workingCopyBenchmark: Benchmark = {
  name: 'working-copy',
  about: `a copy of a cached repository with ${files} files, its diff after ${changes} changes, and snapshots of 50 MB`,
  async run(io) {
    const folder = mkdtempSync(join(tmpdir(), 'lemniscate-bench-copies-'));
    chmodSync(folder, 0o711);
    const driver = sandboxDrivers.bubblewrap({ stateFolder: join(folder, 'sandboxes'), serverId: 'bench' });
    const copies = createWorkingCopies({
      stateFolder: join(folder, 'copies'),
      driver,
      allowLocalPaths: true,
      hosts: { privateHosts: [] },
      maxRepositoryBytes: 8 * 1024 ** 3,
      maxRepositoryFiles: 150_000,
      maxMirrors: 2,
      maxMirrorBytes: 8 * 1024 ** 3,
      maxMirrorAgeMs: 3_600_000,
      onSpareFailure: (error) => io.say(`no copy could be put aside: ${String(error)}`),
    });
    try {
      return await measure(io, folder, driver, copies);
    } finally {
      await copies.close();
      await driver.recover();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function measure(io: BenchIo, folder: string, driver: SandboxDriver, copies: WorkingCopies) {
  io.say(`making a repository with ${files} files`);
  const repository = makeRepository(join(folder, 'repository'));
  const laid: number[] = [];
  const copied: number[] = [];
  const diffed: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    io.signal.throwIfAborted();
    const taken = await oneCopy(driver, copies, repository, round);
    io.say(`round ${round}: laid ${taken.laidMs.toFixed(1)} ms, diff ${taken.diffMs.toFixed(0)} ms`);
    // The first one fills the cache.
    if (round === 0) continue;
    laid.push(taken.laidMs);
    diffed.push(taken.diffMs);
  }
  // Behind the rounds: an ext4 without a journal walks over every inode that was deleted within the last minute whenever a
  // file is made (0.6 s each behind `rm -r` of 50,000 files here), which told of the diff what the bench's own rm had done.
  for (let round = 1; round <= copyRounds; round += 1) {
    io.signal.throwIfAborted();
    const plain = join(folder, `plain-${round}`);
    const ms = await timed(() => promisify(execFile)('cp', ['-a', repository, plain]));
    io.say(`cp -a ${round}: ${ms.toFixed(0)} ms`);
    copied.push(ms);
  }
  const lay = distribution('lay a working copy', 'ms', laid);
  const plain = distribution('cp -a of the repository', 'ms', copied);
  const diff = distribution(`diff after ${changes} changes`, 'ms', diffed);
  return {
    results: [lay, plain, diff, ...(await snapshots(io, folder, driver))],
    goals: [
      goalAtMost('lay a working copy, p50', 'ms', layWithinMs, lay.p50),
      goalAtMost('lay against cp -a', 'of its time', layAgainstCopy, lay.p50 / plain.p50),
      goalAtMost('diff, p50', 'ms', diffWithinMs, diff.p50),
    ],
  };
}

async function oneCopy(driver: SandboxDriver, copies: WorkingCopies, repository: string, round: number) {
  const sandbox = await boot(driver, `copy-${round}`);
  try {
    const began = performance.now();
    const copy = await copies.lay({
      projectId: 'bench',
      repository: { kind: 'path', path: repository },
      folder: sandbox.workspaceFolder,
      user: sandbox.commandUser,
      ...(sandbox.layTree === undefined ? {} : { layTree: sandbox.layTree }),
      signal: AbortSignal.timeout(300_000),
      deadlineMs: 300_000,
    });
    const laidMs = performance.now() - began;
    await command(sandbox, `for n in $(seq ${changes}); do echo changed >> "d$n/f$n"; done`);
    await sandbox.destroy({ keepWorkspace: true });
    let seen = 0;
    const diffMs = await timed(async () => {
      seen = (await copy.diff()).summary.files.length;
    });
    if (seen !== changes) throw new Error(`the diff has ${seen} files instead of ${changes}`);
    await copy.discard();
    return { laidMs, diffMs };
  } finally {
    await sandbox.destroy();
  }
}

/** A whole session's folders out and in again. */
async function snapshots(io: BenchIo, folder: string, driver: SandboxDriver) {
  const snapshot = createSnapshots({ folder: join(folder, 'spool'), driver });
  const never = new AbortController().signal;
  const packed: number[] = [];
  const unpacked: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    io.signal.throwIfAborted();
    const [from, to] = [await boot(driver, `from-${round}`), await boot(driver, `to-${round}`)];
    try {
      await command(
        from,
        `head -c ${snapshotFiles * snapshotFileBytes} /dev/urandom | base64 -w0 | head -c ${snapshotFiles * snapshotFileBytes} | split -a 5 -b ${snapshotFileBytes} - part-`,
      );
      const began = performance.now();
      const file = await snapshot.pack(foldersOf(from), never);
      packed.push(performance.now() - began);
      unpacked.push(await timed(() => snapshot.unpack(file.file, foldersOf(to), never)));
      await file.discard();
    } finally {
      await from.destroy();
      await to.destroy();
    }
    io.say(
      `snapshot ${round}: packed ${packed.at(-1)?.toFixed(0)} ms, unpacked ${unpacked.at(-1)?.toFixed(0)} ms`,
    );
  }
  return [
    distribution('snapshot of 50 MB in 8,000 files', 'ms', packed),
    distribution('restore of the same', 'ms', unpacked),
  ];
}

const foldersOf = (sandbox: Sandbox) => ({
  workspace: sandbox.workspaceFolder,
  home: sandbox.homeFolder,
  user: sandbox.commandUser,
});

function boot(driver: SandboxDriver, id: string): Promise<Sandbox> {
  const [profile] = readProfiles(undefined);
  if (profile === undefined) throw new Error('there is no sandbox profile');
  return driver.boot(id, profile);
}

async function command(sandbox: Sandbox, script: string): Promise<void> {
  const execution = sandbox.run({
    argv: ['bash', '--noprofile', '--norc', '-c', script],
    cwd: '/workspace',
    timeoutMs: 120_000,
    maxOutputBytes: 64 * 1024,
  });
  let said = '';
  for await (const { bytes } of execution.output) said += Buffer.from(bytes).toString('utf8');
  const { exitCode } = await execution.end;
  if (exitCode !== 0) throw new Error(`a command ended with ${exitCode}: ${said}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** One commit, a hundred folders. */
function makeRepository(folder: string): string {
  const perFolder = files / 100;
  for (let d = 1; d <= 100; d += 1) {
    mkdirSync(join(folder, `d${d}`), { recursive: true });
    for (let f = 1; f <= perFolder; f += 1)
      writeFileSync(join(folder, `d${d}`, `f${f}`), `file ${f} of folder ${d}\n`.repeat(8));
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=b', '-c', 'user.email=b@example.invalid', ...args], {
      cwd: folder,
    });
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-qm', 'all');
  if (process.getuid?.() === 0) chownSync(folder, 0, 0);
  return folder;
}
