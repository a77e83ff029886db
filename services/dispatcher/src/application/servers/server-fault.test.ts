import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverFault } from './server-fault.ts';
import type { ServerCondition } from './server-fault.ts';

const well: ServerCondition = {
  status: {
    protocol: 1,
    draining: false,
    disk: { freeBytes: 50e9, totalBytes: 100e9 },
  },
  silent_ms: 500,
  drained: false,
  listed: true,
  start_failures: 0,
  last_failure: null,
  excluded: false,
  answer_ms: 4,
  probe_failures: 1,
  probe_failure: 'no answer in time',
  clock_ahead_ms: -300,
};
const status = well.status ?? assert.fail();

const faults: readonly [what: string, change: Partial<ServerCondition>, says: RegExp][] = [
  ['silent', { silent_ms: 9_000 }, /silent for 9 s/],
  ['never heard of', { status: null }, /not reported/],
  ['drained', { drained: true }, /drained/],
  ['shutting down', { status: { ...status, draining: true } }, /shutting down/],
  ['too old', { status: { ...status, protocol: 0 } }, /speaks protocol 0.*upgrade it/],
  ['unhealthy', { status: { ...status, unhealthy: 'no sandbox starts' } }, /it says: no sandbox starts/],
  ['taken out', { listed: false }, /taken out of the list/],
  [
    'failing',
    { start_failures: 4, last_failure: 'it answered 500', excluded: true },
    /4 sessions in a row.*500/,
  ],
  ['wrong clock', { clock_ahead_ms: 3_600_000 }, /clock is 3600 s ahead/],
  ['slow', { answer_ms: 4_000 }, /answers slowly \(4000 ms/],
  ['not answering', { probe_failures: 2 }, /asked 2 times without an answer \(no answer in time\)/],
  ['full', { status: { ...status, disk: { freeBytes: 1e9, totalBytes: 100e9 } } }, /disk is full/],
];

test('a server of a later version is in the rotation', () => {
  assert.equal(serverFault({ ...well, status: { ...status, protocol: 7 } }), null);
});

test('each fault is a sentence, and a server without one is in the rotation', () => {
  assert.equal(serverFault(well), null);
  for (const [what, change, says] of faults)
    assert.match(serverFault({ ...well, ...change }) ?? '', says, what);
});

test('a server that failed often may try again when its time has passed', () => {
  assert.equal(serverFault({ ...well, start_failures: 3, last_failure: 'x', excluded: false }), null);
  assert.equal(serverFault({ ...well, start_failures: 2, last_failure: 'x', excluded: true }), null);
});
