import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toolCallStates } from '@lemniscate/shared/tool-call/state.ts';
import { createUpdateWriter } from './updates.ts';

const call = { type: 'tool_call', callId: 'c_1', turn: 1, tool: 'run_command' } as const;

test('each of the six states has a status of the protocol, and travels along exactly', () => {
  const seen = toolCallStates.map((state) => {
    const [update] = createUpdateWriter('/home/ann/shop').updates({ ...call, state }, false);
    assert.ok(update !== undefined && 'status' in update);
    assert.deepEqual(update._meta, { lemniscate: { state } });
    return [state, update.sessionUpdate, update.status];
  });
  assert.deepEqual(seen, [
    ['generating', 'tool_call', 'pending'],
    ['generated', 'tool_call_update', 'pending'],
    ['calling', 'tool_call_update', 'in_progress'],
    ['done', 'tool_call_update', 'completed'],
    ['errored', 'tool_call_update', 'failed'],
    ['canceled', 'tool_call_update', 'failed'],
  ]);
});

test('output grows within its bound and stays when the call ends', () => {
  const writer = createUpdateWriter('/home/ann/shop');
  const output = (text: string) =>
    writer.updates({ type: 'output', callId: 'c_1', stream: 'stdout', text }, false);
  output('one\n');
  assert.match(JSON.stringify(output('two\n')), /one\\ntwo/);
  assert.ok(JSON.stringify(output('x'.repeat(100_000))).length < 20_000);
  assert.match(JSON.stringify(writer.updates({ ...call, state: 'done', preview: 'p' }, false)), /xxx/);
});

test('what the person said is shown again only when a conversation is loaded', () => {
  const said = { type: 'message', number: 1, state: 'sent', text: 'hi' } as const;
  assert.equal(createUpdateWriter('/home/ann/shop').updates(said, false).length, 0);
  assert.equal(
    createUpdateWriter('/home/ann/shop').updates(said, true)[0]?.sessionUpdate,
    'user_message_chunk',
  );
});

test('terminal sequences of an agent are made visible, never passed on', () => {
  const text = JSON.stringify(
    createUpdateWriter('/home/ann/shop').updates({ type: 'text', turn: 1, text: '\u001b[2Jx' }, false),
  );
  assert.doesNotMatch(text, /\\u001b/);
});

test('an edit shows its old and new text, and keeps them beside its result', () => {
  const writer = createUpdateWriter('/home/ann/shop');
  const edit = { ...call, tool: 'edit_file', path: 'src/a.ts', oldText: 'one', newText: 'two' } as const;
  const diff = { type: 'diff', path: '/home/ann/shop/src/a.ts', oldText: 'one', newText: 'two' };
  const contentOf = (state: 'generated' | 'done', facts: object = {}) => {
    const [update] = writer.updates({ ...edit, state, ...facts }, false);
    return update !== undefined && 'content' in update ? update.content : null;
  };
  assert.deepEqual(contentOf('generated'), [diff]);
  assert.deepEqual(contentOf('done', { preview: 'Replaced.' }), [
    diff,
    { type: 'content', content: { type: 'text', text: 'Replaced.' } },
  ]);
});
