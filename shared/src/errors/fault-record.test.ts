import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodedError } from './coded-error.ts';
import { faultRecord } from './fault-record.ts';

const marker = 'PLANTEDwordMARKER';
const told = (error: unknown): string => JSON.stringify(faultRecord(error));

test('what was thrown is told by code, title and place', () => {
  const { at, ...record } = faultRecord(
    new CodedError('storage_failed', marker, { status: 503, host: marker }),
  );
  assert.equal(record.type, 'CodedError');
  assert.equal(record.code, 'storage_failed');
  assert.equal(record.status, 503);
  assert.notEqual(record.title, undefined);
  assert.match(at[0] ?? '', /^shared\/src\/errors\/fault-record\.test\.ts:\d+$/);
  const refused = Object.assign(new Error(marker), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
    address: '::1',
    port: 5432,
  });
  const { at: _place, ...network } = faultRecord(refused);
  assert.deepEqual(network, {
    type: 'Error',
    code: 'ECONNREFUSED',
    syscall: 'connect',
    address: '::1',
    port: 5432,
  });
});

test('no words come along, whatever carries them', () => {
  const frame = `\n    at ${marker} (/app/services/${marker}.ts:1:1)`;
  const renamed = new Error('short');
  renamed.message = `longer ${frame}`;
  const hostile: unknown[] = [
    marker,
    { message: marker },
    new Error(frame),
    renamed,
    Object.assign(new Error('x'), { name: `a ${marker}`, code: `b ${marker}`, syscall: `spawn ${marker}` }),
    Object.assign(new Error('x'), { path: `/${marker}`, detail: marker, hint: marker, where: marker }),
    Object.assign(new Error('x'), { address: marker, port: marker, status: marker, table: `"${marker}"` }),
    new Error('x', { cause: new Error(marker, { cause: marker }) }),
    new AggregateError([new Error(marker)], marker),
  ];
  for (const error of hostile) assert.doesNotMatch(told(error), /PLANTED/);
});

test('causes are followed so far and no further', () => {
  let error = new Error('first');
  for (let depth = 0; depth < 50; depth += 1) error = new Error('next', { cause: error });
  error.cause = error;
  assert.equal(told(error).match(/"type"/g)?.length, 5);
});
