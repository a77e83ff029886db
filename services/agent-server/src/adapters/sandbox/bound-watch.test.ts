import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SandboxCounters } from '../../application/ports/sandbox-driver.ts';
import { brokenBound, createBoundWatch } from './bound-watch.ts';

const fine: SandboxCounters = {
  memoryKills: 0,
  processRefusals: 0,
  cpuMs: 10_000,
  diskLeftBytes: 10_000_000,
  diskLeftFiles: 10,
};
const profile = { cpuSeconds: 10 };

test('each counter has its bound, and what is not counted breaks none', () => {
  assert.equal(brokenBound(profile, fine), null);
  assert.equal(brokenBound(profile, { ...fine, memoryKills: 1 }), 'sandbox_memory');
  assert.equal(brokenBound(profile, { ...fine, processRefusals: 3 }), 'sandbox_processes');
  assert.equal(brokenBound(profile, { ...fine, cpuMs: 10_001 }), 'sandbox_cpu');
  assert.equal(brokenBound(profile, { ...fine, diskLeftBytes: 4096 }), 'sandbox_disk');
  assert.equal(brokenBound(profile, { ...fine, diskLeftFiles: 0 }), 'sandbox_disk');
  const nothing = {
    memoryKills: null,
    processRefusals: null,
    cpuMs: null,
    diskLeftBytes: null,
    diskLeftFiles: null,
  };
  assert.equal(brokenBound(profile, nothing), null);
});

test('what was seen broken stays so, and a sandbox that is gone is no broken bound', async () => {
  let counters: SandboxCounters | null = fine;
  const watch = createBoundWatch(profile, async () => {
    return counters;
  });
  assert.equal(await watch.look(), null);
  counters = null;
  assert.equal(await watch.look(), null);
  counters = { ...fine, memoryKills: 1 };
  assert.equal(await watch.look(), 'sandbox_memory');
  counters = fine;
  assert.equal(await watch.look(), 'sandbox_memory');
  await watch.whenBroken;
  watch.stop();
});

test('counters that cannot be read although the sandbox is there end it, but not at the first time', async () => {
  let readable = false;
  const watch = createBoundWatch(profile, () =>
    readable ? Promise.resolve(fine) : Promise.reject(new Error('EMFILE')),
  );
  for (let look = 0; look < 4; look += 1) assert.equal(await watch.look(), null);
  readable = true;
  assert.equal(await watch.look(), null, 'one that can be read begins the count anew');
  readable = false;
  for (let look = 0; look < 4; look += 1) assert.equal(await watch.look(), null);
  assert.equal(await watch.look(), 'unwatched');
  await watch.whenBroken;
  watch.stop();
});

test('a sign of the kernel makes it look at once, and none is waited for after the end', async () => {
  let counters: SandboxCounters = fine;
  let sign: (() => void) | null = null;
  const watch = createBoundWatch(
    profile,
    () => Promise.resolve(counters),
    (listener) => {
      sign = listener;
      return () => (sign = null);
    },
  );
  assert.equal(sign, null, 'nobody has used it yet');
  watch.start();
  counters = { ...fine, processRefusals: 1 };
  (sign as (() => void) | null)?.();
  await watch.whenBroken;
  assert.equal(watch.broken(), 'sandbox_processes');
  watch.stop();
  assert.equal(sign, null);
});
