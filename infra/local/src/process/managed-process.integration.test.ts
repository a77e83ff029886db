import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { scratchFolder } from '../testing/scratch-folder.ts';
import { until } from '../testing/until.ts';
import { startProcess } from './managed-process.ts';
import { startTimeOf } from './start-time.ts';
import { childPlan } from './testing/child-plan.ts';

test('a process is recorded while it runs, and gone after the stop', async (t) => {
  const folder = scratchFolder(t);
  const child = await startProcess(childPlan(folder, 'serves'));
  assert.ok(existsSync(join(folder, 'child.pid')));
  await child.stop();
  await child.stop();
  assert.equal(startTimeOf(child.pid), undefined);
  assert.ok(!existsSync(join(folder, 'child.pid')));
  assert.deepEqual(await child.ended, { code: null, signal: 'SIGTERM' });
});

test('one that ends before it serves is an error with its last lines', async (t) => {
  const folder = scratchFolder(t);
  await assert.rejects(startProcess(childPlan(folder, 'fails')), {
    code: 'service_unreachable',
    message: /child ended with code 3 before it served\.[^]*the reason of the failure/,
  });
  assert.ok(!existsSync(join(folder, 'child.pid')));
});

test('one that never serves is given up and ended', async (t) => {
  const folder = scratchFolder(t);
  const plan = childPlan(folder, 'silent', { readyWithinMs: 300 });
  await assert.rejects(startProcess(plan), { code: 'service_unreachable', message: /within 300 ms/ });
  assert.ok(!existsSync(join(folder, 'child.pid')));
});

test('one whose probe throws, or that nobody wants any more, is ended', async (t) => {
  const folder = scratchFolder(t);
  const probe = () => Promise.reject(new Error('no such key'));
  await assert.rejects(startProcess(childPlan(folder, 'silent', { ready: { probe } })), /no such key/);
  assert.ok(!existsSync(join(folder, 'child.pid')));
  const unwanted = new AbortController();
  const starting = startProcess(childPlan(folder, 'silent', { unwanted: unwanted.signal }));
  unwanted.abort();
  await assert.rejects(starting, { code: 'service_unreachable' });
  assert.ok(!existsSync(join(folder, 'child.pid')));
});

test('a program that does not exist is an error that names it', async (t) => {
  const plan = childPlan(scratchFolder(t), 'serves', { command: '/no/such/program' });
  await assert.rejects(startProcess(plan), { code: 'service_unreachable', message: /\/no\/such\/program/ });
});

test('one that ignores the stop is killed after its grace', async (t) => {
  const child = await startProcess(childPlan(scratchFolder(t), 'stubborn', { stopGraceMs: 200 }));
  await child.stop();
  assert.equal(startTimeOf(child.pid), undefined);
  assert.deepEqual(await child.ended, { code: null, signal: 'SIGKILL' });
});

test('nothing of our environment reaches it', async (t) => {
  const folder = scratchFolder(t);
  process.env['LEMNISCATE_LEAK_PROBE'] = 'leaked';
  t.after(() => delete process.env['LEMNISCATE_LEAK_PROBE']);
  const child = await startProcess(childPlan(folder, 'serves'));
  const environment = readFileSync(`/proc/${child.pid}/environ`, 'utf8');
  await child.stop();
  assert.ok(!environment.includes('leaked'));
});

test('a parent that is killed takes its child along', async (t) => {
  const folder = scratchFolder(t);
  const parent = spawn(process.execPath, [join(import.meta.dirname, 'fixtures/parent.ts'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: parent.stdout });
  const first = await new Promise<string>((settle) => void lines.once('line', settle));
  const pid = Number(first.replace('child ', ''));
  assert.notEqual(startTimeOf(pid), undefined);
  parent.kill('SIGKILL');
  await until('the child is gone', () => startTimeOf(pid) === undefined);
});
