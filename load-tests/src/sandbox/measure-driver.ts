import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { createReadStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { join } from 'node:path';
import { createWarmPool } from '@lemniscate/agent-server/application/warm-pool.ts';
import type { WarmPool } from '@lemniscate/agent-server/application/warm-pool.ts';
import type {
  Sandbox,
  SandboxDriver,
  SandboxProfile,
} from '@lemniscate/agent-server/application/ports/sandbox-driver.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { createNewId } from '@lemniscate/shared/id.ts';
import type { BenchIo } from '../benchmark.ts';

/** Rounds of one driver, in milliseconds. */
export interface DriverRounds {
  readonly warm: readonly number[];
  readonly claim: readonly number[];
  readonly cold: readonly number[];
  readonly command: readonly number[];
  readonly snapshot: readonly number[];
  readonly restore: readonly number[];
  readonly claimsPerSecond: number;
}

const warmUpRounds = 10;
const sustainedMs = 10_000;
const log = { debug: () => undefined, info: () => undefined, warn: console.error, error: console.error };
const command = (argv: readonly string[]) => ({ argv, timeoutMs: 60_000, maxOutputBytes: 1024 });

export async function measureDriver(
  driver: SandboxDriver,
  profile: SandboxProfile,
  rounds: number,
  io: BenchIo,
): Promise<DriverRounds> {
  const what = `${driver.name}${profile.ociRuntime === undefined ? '' : `+${profile.ociRuntime}`}`;
  io.say(`${what}: ${rounds} warm claims`);
  const { warm, claim } = await warmClaims(driver, profile, rounds, io.signal);
  io.say(`${what}: ${rounds} cold starts, ${rounds} commands`);
  const cold = await coldStarts(driver, profile, rounds, io.signal);
  const sandbox = await driver.boot('sbx_bench_live', profile);
  try {
    const commands: number[] = [];
    for (let round = 1 - warmUpRounds; round <= rounds; round += 1) {
      const took = await timed(
        () => sandbox.run(command(['bash', '--noprofile', '--norc', '-c', 'true'])).end,
      );
      if (round > 0) commands.push(took);
    }
    const archives = await archive(driver, sandbox, rounds);
    io.say(`${what}: claims for ${sustainedMs / 1000} s`);
    const claimsPerSecond = await sustained(driver, profile, io.signal);
    return { warm, claim, cold, command: commands, ...archives, claimsPerSecond };
  } finally {
    await sandbox.destroy();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

async function firstOutput(sandbox: Sandbox): Promise<void> {
  const execution = sandbox.run(command(['bash', '--noprofile', '--norc', '-c', 'echo first']));
  for await (const _piece of execution.output) break;
}

function poolOf(driver: SandboxDriver, profile: SandboxProfile, size: number): WarmPool {
  return createWarmPool({
    driver,
    profiles: [profile],
    size: { floor: size, ceiling: size },
    maxAgeMs: 3_600_000,
    newId: createNewId(),
    clock: systemClock,
    log,
    onChange: () => undefined,
  });
}

async function untilWarm(pool: WarmPool, count: number): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (pool.status().warm < count) {
    if (performance.now() > deadline)
      throw new Error(`no ${count} warm sandboxes within 60 s: ${pool.status().unhealthy}`);
    await turn();
  }
}

/** Each round begins with a warm sandbox there and its predecessor gone, as on a server that is not overrun. */
async function warmClaims(
  driver: SandboxDriver,
  profile: SandboxProfile,
  rounds: number,
  signal: AbortSignal,
): Promise<{ warm: number[]; claim: number[] }> {
  const pool = poolOf(driver, profile, 1);
  const warm: number[] = [];
  const claims: number[] = [];
  pool.start();
  try {
    for (let round = 1 - warmUpRounds; round <= rounds; round += 1) {
      signal.throwIfAborted();
      await untilWarm(pool, 1);
      const claim = pool.claim(profile.name, signal);
      let claimed = 0;
      const took = await timed(async () => {
        let sandbox: Sandbox | undefined;
        claimed = await timed(async () => void ({ sandbox } = await claim.ready));
        if (sandbox !== undefined) await firstOutput(sandbox);
      });
      await claim.release();
      if (round < 1) continue;
      warm.push(took);
      claims.push(claimed);
    }
    return { warm, claim: claims };
  } finally {
    await pool.close();
  }
}

async function coldStarts(
  driver: SandboxDriver,
  profile: SandboxProfile,
  rounds: number,
  signal: AbortSignal,
): Promise<number[]> {
  const took: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    signal.throwIfAborted();
    let sandbox: Sandbox | undefined;
    took.push(
      await timed(async () => {
        sandbox = await driver.boot(`sbx_bench_${round}`, profile);
        await firstOutput(sandbox);
      }),
    );
    await sandbox?.destroy();
  }
  return took;
}

/** One session after the other, as fast as the pool gives: claims a second with boots and destructions in between. */
async function sustained(
  driver: SandboxDriver,
  profile: SandboxProfile,
  signal: AbortSignal,
): Promise<number> {
  const pool = poolOf(driver, profile, 4);
  pool.start();
  try {
    await untilWarm(pool, 4);
    const releases: Promise<void>[] = [];
    const from = performance.now();
    let count = 0;
    while (performance.now() - from < sustainedMs) {
      signal.throwIfAborted();
      const claim = pool.claim(profile.name, signal);
      const { sandbox } = await claim.ready;
      await firstOutput(sandbox);
      releases.push(claim.release());
      count += 1;
    }
    const seconds = (performance.now() - from) / 1000;
    await Promise.all(releases);
    return Math.round((count / seconds) * 10) / 10;
  } finally {
    await pool.close();
  }
}

const fill = `for i in $(seq 1 80); do mkdir -p d$i; head -c 512000 /dev/urandom > d$i/noise; for j in $(seq 1 100); do echo "$i $j" > d$i/$j; done; done; head -c 10000000 /dev/zero > zeros`;

/** tar and zstd behind the walls, as a pause does it: 50 MB in 8,000 files. */
async function archive(
  driver: SandboxDriver,
  sandbox: Sandbox,
  rounds: number,
): Promise<{ snapshot: number[]; restore: number[] }> {
  const end = await sandbox.run({ ...command(['bash', '-c', fill]), timeoutMs: 120_000 }).end;
  if (end.exitCode !== 0) throw new Error('the workspace could not be filled');
  const folder = mkdtempSync('/var/tmp/lemniscate-bench-archive-');
  const file = join(folder, 'workspace.tar.zst');
  const user = sandbox.commandUser;
  const common = { cwd: '/data', user, timeoutMs: 120_000 };
  const mounts = [{ source: sandbox.workspaceFolder, target: '/data', readOnly: false }];
  const snapshot: number[] = [];
  const restore: number[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const stdout = createWriteStream(file);
      snapshot.push(
        await timed(async () => {
          const argv = ['bash', '-c', 'tar --sparse --xattrs --acls --exclude=./restored -c . | zstd -q -1'];
          await driver.runThrowaway({ ...common, mounts, argv, stdout, maxOutputBytes: 2 ** 30 });
          stdout.end();
          await finished(stdout);
        }),
      );
      restore.push(
        await timed(async () => {
          const argv = [
            'bash',
            '-c',
            'mkdir restored && cd restored && zstd -q -d | tar --xattrs --acls -xp',
          ];
          const stdin = createReadStream(file);
          const run = await driver.runThrowaway({ ...common, mounts, argv, stdin, maxOutputBytes: 1024 });
          if (run.exitCode !== 0) throw new Error(`restore: ${run.stderr}`);
        }),
      );
      await sandbox.run(command(['rm', '-rf', 'restored'])).end;
    }
    return { snapshot, restore };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
