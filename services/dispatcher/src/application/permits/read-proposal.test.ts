import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { readProposal } from './read-proposal.ts';

test('a proposal with wrong arguments, an unknown tool, another digest or endless nesting is refused', () => {
  const args = { path: 'a' };
  const request = { callId: 'c', turn: 1, tool: 'read_file', arguments: args, waitMs: 0 };
  const good = { ...request, argumentsDigest: argumentsDigest(args) };
  assert.equal(readProposal(good).path, 'a');
  assert.throws(() => readProposal({ ...good, callId: 'a\0b' }), { code: 'request_invalid' });
  assert.throws(() => readProposal({ ...good, turn: 5_000_000_000 }), { code: 'request_invalid' });
  assert.throws(() => readProposal({ ...good, tool: 'sudo' }), { code: 'request_invalid' });
  assert.throws(() => readProposal({ ...good, arguments: { path: 'a', mode: 1 } }), {
    code: 'request_invalid',
  });
  assert.throws(() => readProposal({ ...good, argumentsDigest: '0'.repeat(64) }), {
    code: 'digest_mismatch',
  });
  let nested: unknown = 1;
  for (let depth = 0; depth < 50_000; depth += 1) nested = [nested];
  assert.throws(() => readProposal({ ...good, arguments: { path: nested } }), { code: 'request_invalid' });
});
