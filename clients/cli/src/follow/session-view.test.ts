import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { createSessionView } from './session-view.ts';

function shown(...events: SessionEvent[]): string {
  let text = '';
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString('utf8');
      done();
    },
  });
  const view = createSessionView(out, false);
  for (const [index, event] of events.entries())
    view.show({ position: index + 1, at: '2026-11-29T00:00:00.000Z', attempt: 1, event });
  view.flush();
  return text;
}

const completed: SessionEvent = {
  type: 'state',
  state: 'completed',
  phase: 'ended',
  reason: 'finished',
  attempt: 1,
  server: null,
  message: 'All pass.\n\n- a\n+ b',
};

test('closing words are shown once', () => {
  const text = shown(
    { type: 'text', turn: 1, text: 'All pass.\n\n- a\n' },
    { type: 'text', turn: 1, text: '+ b' },
    completed,
  );
  assert.equal(text, 'All pass.\n\n- a\n+ b\n◆ completed ended · finished\n');
});

test('a message that nobody has said yet is shown', () => {
  assert.match(shown(completed), /finished · All pass\./);
});

test('one file is not "1 files"', () => {
  const diff: SessionEvent = { type: 'diff', state: 'offered', files: 1, insertions: 1, deletions: 1 };
  assert.match(shown(diff), /: 1 file, \+1/);
});
