import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subjectSoFar } from './read-fragment.ts';

test('a command is read as far as it has come, wherever it is cut', () => {
  const command = 'echo "é😀" \\ > a.txt\n';
  const whole = JSON.stringify({ timeout_seconds: 5, command });
  let longest = '';
  for (let length = 0; length <= whole.length; length += 1) {
    const subject = subjectSoFar(whole.slice(0, length));
    if (subject === null) continue;
    assert.ok(command.startsWith(subject.replace(/\ufffd$/, '')), `${subject} of ${command}`);
    if (subject.length > longest.length) longest = subject;
  }
  assert.equal(longest, command);
  assert.equal(subjectSoFar('{"command": "a \\u00e9 b"}'), 'a é b');
  assert.equal(subjectSoFar('{"command": "a \\u00'), 'a ');
});

test('what a text says of a command is none, and what is no JSON says nothing', () => {
  assert.equal(subjectSoFar(JSON.stringify({ content: '{"command": "rm"}', path: 'a' })), 'a');
  for (const text of ['', '{', '{"command"', "{'command': 'ls'}", '{"command": 5', '{"command": "\n'])
    assert.equal(subjectSoFar(text), null, text);
});
