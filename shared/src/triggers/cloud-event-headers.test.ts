import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCodedError } from '../errors/coded-error.ts';
import { isBinaryEvent, readBinaryEvent } from './cloud-event-headers.ts';
import { cloudEventSchema } from './cloud-event.ts';

const headers = {
  'ce-specversion': '1.0',
  'ce-id': '17',
  'ce-source': '/ci/%E2%82%AC',
  'ce-type': 'org.example.failed',
  'ce-severity': '"a \\"quoted\\" word"',
  'content-type': 'application/json; charset=utf-8',
  'content-length': '2',
  host: 'fleet.example.org',
};

test('headers are attributes, the body is the data, and nothing else of the request gets in', () => {
  assert.equal(isBinaryEvent(headers), true);
  assert.equal(isBinaryEvent({ 'content-type': 'application/json' }), false);
  const event = readBinaryEvent(headers, { branch: 'main' });
  assert.deepEqual(event, {
    specversion: '1.0',
    id: '17',
    source: '/ci/€',
    type: 'org.example.failed',
    severity: 'a "quoted" word',
    data: { branch: 'main' },
    datacontenttype: 'application/json; charset=utf-8',
  });
  assert.equal(cloudEventSchema.safeParse(event).success, true);
});

test('an event without a body has no data, and a header cannot bring any', () => {
  const event = readBinaryEvent(
    { ...headers, 'ce-data': 'x', 'ce-datacontenttype': 'text/plain' },
    undefined,
  );
  assert.equal('data' in event || 'datacontenttype' in event, false);
  assert.equal(cloudEventSchema.safeParse(event).success, true);
});

test('a header that is no UTF-8 is told by its name', () => {
  assert.throws(
    () => readBinaryEvent({ ...headers, 'ce-subject': '%ff' }, undefined),
    (error: unknown) => isCodedError(error, 'request_invalid') && error.message.includes('ce-subject'),
  );
});
