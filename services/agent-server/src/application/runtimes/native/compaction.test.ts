import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compactedTranscript, planCompaction } from './compaction.ts';
import type { TranscriptMessage } from './request.ts';
import { beginTalk } from './talk.ts';

const text = (role: 'user' | 'assistant', words: string): TranscriptMessage => ({
  role,
  content: [{ type: 'text', text: words }],
});
const asks = (id: string, command: string): TranscriptMessage => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'run_command', input: { command } }],
});
const answers = (id: string, words: string, isError = false): TranscriptMessage => ({
  role: 'user',
  content: [
    {
      type: 'tool_result',
      tool_use_id: id,
      content: [{ type: 'text', text: words }],
      ...(isError ? { is_error: true } : {}),
    },
  ],
});

/** Every request has its answer in the next message, and no answer is without its request. */
function isWhole(transcript: readonly TranscriptMessage[]): boolean {
  return transcript.every(({ role, content }, index) => {
    const ids = content.flatMap((block) => (block['type'] === 'tool_use' ? [block['id']] : []));
    const given = (transcript[index + 1]?.content ?? []).flatMap((block) =>
      block['type'] === 'tool_result' ? [block['tool_use_id']] : [],
    );
    const before = (transcript[index - 1]?.content ?? []).flatMap((block) =>
      block['type'] === 'tool_use' ? [block['id']] : [],
    );
    const own = content.flatMap((block) => (block['type'] === 'tool_result' ? [block['tool_use_id']] : []));
    return role === 'assistant'
      ? JSON.stringify(ids) === JSON.stringify(given)
      : JSON.stringify(own) === JSON.stringify(before);
  });
}

function conversation(length: number): TranscriptMessage[] {
  const messages = [text('user', 'mend the build')];
  for (let index = 0; index < length; index += 1) {
    messages.push(asks(`c${index}`, `make step-${index}`));
    messages.push(
      answers(
        `c${index}`,
        index === 3 ? 'The person rejected this: not now.' : `fine ${'x'.repeat(500)}`,
        index === 3,
      ),
    );
    if (index === 5)
      messages.push(text('assistant', 'Half of it is done.'), text('user', 'Leave the docs alone.'));
  }
  return messages;
}

test('wherever it is cut, no call is parted from its result, the task stays, and it becomes shorter', () => {
  for (let length = 3; length < 40; length += 1)
    for (const keep of [0, 300, 1_000, 5_000, 50_000]) {
      const transcript = conversation(length);
      assert.ok(isWhole(transcript), 'the test’s own conversation is whole');
      const plan = planCompaction(transcript, keep);
      if (plan === null) continue;
      const short = compactedTranscript(plan, 'notes', 10_000);
      assert.ok(isWhole(short), `${length} messages, ${keep} kept`);
      assert.deepEqual(short[0]?.content[0], transcript[0]?.content[0]);
      assert.equal(short[1]?.role, 'assistant');
      assert.ok(plan.dropped.length > 1);
      assert.deepEqual([...plan.dropped, ...plan.kept], transcript.slice(1));
    }
});

test('states and decisions of dropped calls and the person’s words are on record', () => {
  const transcript = conversation(30);
  const plan = planCompaction(transcript, 1_000);
  assert.ok(plan);
  const record = String(compactedTranscript(plan, 'Step 9 was odd.', 10_000)[0]?.content[1]?.['text']);
  assert.match(record, /- run_command make step-2: done/);
  assert.match(record, /- run_command make step-3: failed: The person rejected this: not now\./);
  assert.match(record, /- the person: Leave the docs alone\./);
  assert.match(record, /Step 9 was odd\./);
});

test('the task stays word for word, however long, behind the advice of a repository, through every cut', () => {
  const task = `mend the build: ${'every word counts '.repeat(1_000)}`;
  const talk = beginTalk(task, 'the repository’s advice');
  for (let cuts = 1; cuts <= 3; cuts += 1) {
    talk.transcript.push(...conversation(450).slice(1));
    assert.ok(isWhole(talk.transcript));
    const plan = planCompaction(talk.transcript, 1_000);
    assert.ok(plan);
    talk.transcript.splice(0, talk.transcript.length, ...compactedTranscript(plan, 'notes', 10_000));
    assert.ok(isWhole(talk.transcript));
    assert.equal(talk.transcript[1]?.role, 'assistant');
    assert.deepEqual(
      talk.transcript[0]?.content.slice(0, 2).map(({ text: words }) => words),
      ['the repository’s advice', task],
    );
  }
});

test('a conversation that is cut again and again does not grow by it, and forgets the oldest first', () => {
  let transcript: readonly TranscriptMessage[] = conversation(20);
  const lengths = [];
  for (let cuts = 1; cuts <= 30; cuts += 1) {
    const plan = planCompaction(transcript, 1_000);
    assert.ok(plan);
    const short = compactedTranscript(plan, cuts === 30 ? '' : `notes ${cuts}`, 3_000);
    lengths.push(JSON.stringify(short).length);
    const said = String(short[0]?.content.at(-1)?.['text']);
    assert.equal(short[0]?.content.length, 2, 'the task and one record');
    assert.match(said, /: done\n.*\n\nYour own notes about it:\n\nnotes \d+\n\nGo on with the task\.$/s);
    if (cuts === 1) assert.match(said, /The person rejected this/);
    if (cuts === 30)
      assert.match(said, /record:\n\n- \(earlier ones are left out\)\n(?!.*(rejected this|left out))/s);
    transcript = [...short, ...conversation(20).slice(9)];
  }
  assert.ok((lengths.at(-1) ?? 0) <= Math.max(...lengths.slice(0, 10)), lengths.join(' '));
});

test('a short conversation is left alone', () => {
  assert.equal(planCompaction([text('user', 'hi')], 0), null);
  assert.equal(planCompaction([text('user', 'hi'), asks('a', 'ls'), answers('a', 'x')], 0), null);
});
