import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { applyPatch } from '@lemniscate/cli/repository/apply.ts';
import {
  assertNothingRuns,
  makeRepository,
  positionsAreDense,
  runSession,
  sampleRepository,
  startTestFleet,
  testsPass,
} from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

let site: TestFleet;

before(async () => {
  site = await startTestFleet();
});

after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

test('the agent mends the sample’s failing test, and everything about it is on record', async () => {
  const folder = sampleRepository(site.scratch, 'sample');
  assert.equal(testsPass(folder), false, 'the sample has a fault');
  const { session, events, patch, audit } = await runSession(site, { repositoryFolder: folder });
  assert.equal(session.state, 'completed', session.message ?? '');
  assert.equal(session.reason, 'finished');
  assert.equal(session.exitCode, 0);
  assert.ok(positionsAreDense(events));
  assert.equal(session.diff?.state, 'offered');
  await applyPatch(folder, Buffer.from(patch), session.diff?.baseTree ?? '');
  assert.equal(testsPass(folder), true, patch);
  assert.equal(audit.fault, null);
  assert.ok(audit.entries > 10);
  assert.ok(session.usage.inputTokens > 0 && session.usage.outputTokens > 0);
  assert.ok(Number(session.totalCostUsd) > 0 && session.priced);
  const states = new Map<string, string[]>();
  for (const { event } of events)
    if (event.type === 'tool_call')
      states.set(event.callId, [...(states.get(event.callId) ?? []), event.state]);
  for (const [call, seen] of states)
    assert.match(
      seen.join(' '),
      /^generating generated (calling (done|errored)|errored|canceled)$|^generating errored$/,
      call,
    );
  for (const { event } of events)
    if (event.type === 'tool_call' && event.state === 'calling')
      assert.match(event.decidedBy ?? '', /^(human|automation)$/);
});

test('another fault makes another diff', async () => {
  const plants = [
    { file: 'src/due-date.js', from: '=== 6', to: '=== 5' },
    { file: 'src/invoice.js', from: 'netCents + taxCents', to: 'netCents - taxCents' },
  ];
  const patches: string[] = [];
  for (const [index, plant] of plants.entries()) {
    const folder = sampleRepository(site.scratch, `planted-${index}`, plant);
    const { session, patch } = await runSession(site, { repositoryFolder: folder });
    assert.equal(session.state, 'completed', session.message ?? '');
    assert.match(patch, new RegExp(plant.file.replace('.', '\\.')));
    await applyPatch(folder, Buffer.from(patch), session.diff?.baseTree ?? '');
    assert.equal(testsPass(folder), true, patch);
    patches.push(patch);
  }
  assert.notEqual(patches[0], patches[1]);
});

test('on a repository that it does not know the scripted model looks, says what it saw and ends', async () => {
  const folder = makeRepository(site.scratch, 'unknown', {
    'main.py': 'print("hello")\n',
    'README.md': '# A Python thing\n',
    '-x': 'dash\n',
    'dir/é.txt': 'accent\n',
  });
  const { session, events, patch } = await runSession(site, { repositoryFolder: folder });
  assert.equal(session.state, 'completed', session.message ?? '');
  assert.equal(patch, '');
  const said = events.map(({ event }) => (event.type === 'text' ? event.text : '')).join('');
  assert.match(said, /main\.py/);
});

test('uncommitted changes travel along and the diff is against them', async () => {
  const folder = sampleRepository(site.scratch, 'uncommitted');
  execFileSync('git', ['rm', '-q', '--cached', 'README.md'], { cwd: folder });
  const notes = join(folder, 'notes.txt');
  execFileSync('sh', ['-c', 'echo mine > notes.txt'], { cwd: folder });
  const { session, patch } = await runSession(site, { repositoryFolder: folder });
  assert.equal(session.state, 'completed', session.message ?? '');
  assert.doesNotMatch(patch, /notes\.txt/);
  await applyPatch(folder, Buffer.from(patch), session.diff?.baseTree ?? '');
  assert.equal(readFileSync(notes, 'utf8'), 'mine\n');
  assert.equal(testsPass(folder), true);
});
