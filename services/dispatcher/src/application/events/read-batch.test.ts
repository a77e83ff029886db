import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBatch } from './read-batch.ts';

// Put together here, so that no scanner takes this file for a leak.
const secret = ['gh', 'p_', '0123456789abcdefghijABCDEFGHIJ012345'].join('');

test('a secret in what an edit puts instead of what is not kept', () => {
  const event = {
    type: 'tool_call',
    callId: 'c_1',
    turn: 1,
    tool: 'edit_file',
    state: 'generated',
    path: 'token.txt',
    oldText: `token = ${secret}`,
    newText: 'token = $TOKEN',
  };
  const body = { firstSeq: 1, events: [{ at: new Date(0).toISOString(), event }] };
  const [read] = readBatch(body, new Date());
  assert.equal(read?.event.type, 'tool_call');
  if (read?.event.type !== 'tool_call') return;
  assert.equal(read.event.newText, event.newText, 'what is no secret stays');
  assert.doesNotMatch(JSON.stringify(read), new RegExp(secret));
});
