import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { createNewId } from '@lemniscate/shared/id.ts';
import type { Sandbox, SandboxDriver, SandboxEndCause, SandboxProfile } from './ports/sandbox-driver.ts';
import { createGate } from './signal-gate.ts';
import { createWarmPool } from './warm-pool.ts';

const small: SandboxProfile = {
  name: 'small',
  memoryBytes: 1,
  processes: 1,
  cpus: 1,
  tmpBytes: 1,
  shmBytes: 1,
  cpuSeconds: 1,
  diskBytes: 1,
  diskFiles: 1,
};
const large: SandboxProfile = { ...small, name: 'large' };
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const signal = new AbortController().signal;

interface Booted {
  readonly sandbox: Sandbox;
  end(cause: SandboxEndCause): void;
  answers: boolean;
  alive: boolean;
  leaks: number;
  commands: number;
}

/** A driver in memory, for the pool's own rules; what real drivers do is in their contract suite. */
function createBench(
  size: number,
  profiles: readonly SandboxProfile[] = [small],
  {
    clock = systemClock,
    maxAgeMs = 3_600_000,
    ceiling = size,
  }: { clock?: Clock; maxAgeMs?: number; ceiling?: number } = {},
) {
  const booted: Booted[] = [];
  const changed = createGate();
  const bench = {
    booted,
    failBoots: 0,
    failCommands: 0,
    holdBoots: false,
    release: () => {},
    fingerprint: 'first',
  };
  const driver = {
    name: 'bubblewrap',
    fingerprint: async () => bench.fingerprint,
    boot: async (id: string, profile: SandboxProfile) => {
      if (bench.holdBoots) {
        const held = Promise.withResolvers<void>();
        bench.release = held.resolve;
        await held.promise;
      }
      if (bench.failBoots > 0) {
        bench.failBoots -= 1;
        throw new Error('no boot today');
      }
      const ended = Promise.withResolvers<SandboxEndCause>();
      const self: Booted = {
        answers: true,
        alive: true,
        leaks: 0,
        commands: 0,
        end: ended.resolve,
        sandbox: {
          id,
          profile,
          driver: 'bubblewrap',
          ended: ended.promise,
          run: () => {
            self.commands += 1;
            const exitCode = bench.failCommands > 0 ? 126 : 0;
            bench.failCommands -= exitCode === 0 ? 0 : 1;
            return { end: Promise.resolve({ exitCode, cause: 'exited' }) };
          },
          ping: async () => {
            if (!self.answers) throw new Error('silent');
          },
          destroy: async () => {
            if (self.leaks > 0) {
              self.leaks -= 1;
              throw new Error('still there');
            }
            self.alive = false;
            ended.resolve('destroyed');
          },
        } as unknown as Sandbox,
      };
      booted.push(self);
      return self.sandbox;
    },
  } as unknown as SandboxDriver;
  const pool = createWarmPool({
    driver,
    profiles,
    size: { floor: size, ceiling },
    maxAgeMs,
    newId: createNewId(),
    clock,
    log,
    onChange: changed.wake,
  });
  return {
    ...bench,
    bench,
    pool,
    until: (open: () => boolean) => changed.until(open, AbortSignal.timeout(5000)),
  };
}

test('the pool fills, a claim takes a warm one, and no sandbox is handed out twice', async () => {
  const { pool, until, booted } = createBench(2);
  pool.start();
  await until(() => pool.status().warm === 2);
  const claims = await Promise.all([
    pool.claim('small', signal).ready,
    pool.claim('small', signal).ready,
    pool.claim('small', signal).ready,
  ]);
  assert.equal(new Set(claims.map(({ sandbox }) => sandbox.id)).size, 3);
  assert.equal(claims.filter(({ warm }) => warm).length, 2);
  assert.equal(pool.status().coldStarts, 1);
  await until(() => pool.status().warm === 2);
  await pool.close();
  assert.equal(booted.filter(({ alive }) => alive).length, 3);
});

test('a warm sandbox of another profile is never taken', async () => {
  const { pool, until } = createBench(1, [small, large]);
  pool.start();
  await until(() => pool.status().warm === 2);
  const first = await pool.claim('large', signal).ready;
  const second = await pool.claim('large', signal).ready;
  assert.deepEqual([first.sandbox.profile.name, second.sandbox.profile.name], ['large', 'large']);
  assert.equal(second.warm, false);
  assert.throws(() => pool.claim('other', signal), { code: 'request_invalid' });
  await pool.close();
});

test('a warm one that does not answer or has ended is destroyed, not handed out', async () => {
  const { pool, until, booted } = createBench(2);
  pool.start();
  await until(() => pool.status().warm === 2);
  const [silent, ended] = booted;
  assert.ok(silent !== undefined && ended !== undefined);
  silent.answers = false;
  ended.end('sandbox_memory');
  const claim = await pool.claim('small', signal).ready;
  assert.ok(claim.sandbox.id !== silent.sandbox.id && claim.sandbox.id !== ended.sandbox.id);
  await until(() => !silent.alive && !ended.alive);
  await pool.close();
});

test('a claim that is given back while its sandbox boots destroys it', async () => {
  const { pool, bench, booted } = createBench(0);
  bench.holdBoots = true;
  const stop = new AbortController();
  const claim = pool.claim('small', stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(claim.ready, /stopped/);
  const released = claim.release();
  bench.release();
  await released;
  assert.deepEqual(
    booted.map(({ alive }) => alive),
    [false],
  );
});

test('a release goes on until the sandbox is gone', async () => {
  const { pool, booted } = createBench(0);
  const claim = pool.claim('small', signal);
  await claim.ready;
  const [only] = booted;
  assert.ok(only !== undefined);
  only.leaks = 1;
  await claim.release();
  assert.equal(only.alive, false);
  await claim.release();
});

test('boots that fail in a row make the server unhealthy until one works', async () => {
  const { pool, bench } = createBench(0);
  bench.failBoots = 3;
  for (let count = 0; count < 3; count += 1)
    await assert.rejects(pool.claim('small', signal).ready, /no boot today/);
  assert.match(pool.status().unhealthy ?? '', /3 sandboxes in a row did not start: no boot today/);
  await pool.claim('small', signal).ready;
  assert.equal(pool.status().unhealthy, null);
});

test('an unhealthy pool tries by itself, even one that keeps no warm sandboxes', async () => {
  const { pool, bench, until } = createBench(0);
  pool.start();
  bench.failBoots = 3;
  for (let count = 0; count < 3; count += 1) await assert.rejects(pool.claim('small', signal).ready);
  await until(() => pool.status().unhealthy === null);
  await pool.close();
});

test('a warm one of an older image or profile is a miss', async () => {
  const { pool, bench, until, booted } = createBench(1);
  pool.start();
  await until(() => pool.status().warm === 1);
  bench.fingerprint = 'second';
  const claim = await pool.claim('small', signal).ready;
  assert.equal(claim.warm, false);
  assert.equal(pool.status().coldStarts, 1);
  await until(() => booted[0]?.alive === false);
  await pool.close();
});

test('the pool grows with its demand, and shrinks and renews itself when nobody asks', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 0;
  // each look at the clock takes a while, so that a refill takes time
  const clock = { now: () => new Date(now), monotonicMs: () => (now += 5) };
  const { pool, until, booted } = createBench(1, [small], { clock, maxAgeMs: 100_000, ceiling: 3 });
  pool.start();
  await until(() => pool.status().warm === 1);
  const claims = Array.from({ length: 100 }, () => pool.claim('small', signal));
  await Promise.all(claims.map((claim) => claim.ready));
  await until(() => pool.status().warm === 3);
  await Promise.all(claims.map((claim) => claim.release()));
  now += 61_000;
  assert.equal(pool.status().target, 1);
  for (const left of [2, 1]) {
    t.mock.timers.tick(5_000);
    await until(() => pool.status().warm === left);
  }
  const [last] = booted.filter(({ alive }) => alive);
  now += 100_001;
  t.mock.timers.tick(5_000);
  await until(() => last?.alive === false && pool.status().warm === 1);
  await pool.close();
});

test('a sandbox has run a command before it is warm, and one that cannot is destroyed and counted', async () => {
  const { bench, pool, until, booted } = createBench(1);
  bench.failCommands = 1;
  pool.start();
  await until(() => booted.length === 1 && booted[0]?.alive === false);
  await until(() => pool.status().warm === 1);
  assert.deepEqual(
    booted.map(({ commands, alive }) => [commands, alive]),
    [
      [1, false],
      [1, true],
    ],
  );
  const { warm } = await pool.claim('small', signal).ready;
  assert.equal(warm, true);
  await pool.close();
});

test('whoever waits for a cold start does not wait for a rehearsal', async () => {
  const { pool, booted } = createBench(0);
  await pool.claim('small', signal).ready;
  assert.deepEqual(
    booted.map(({ commands }) => commands),
    [0],
  );
});
