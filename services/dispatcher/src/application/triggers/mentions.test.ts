import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadProcessorMs } from '@lemniscate/shared/clock.ts';
import { mentionsIn } from './mentions.ts';

test('names are found where people would mean them, each once', () => {
  assert.deepEqual(mentionsIn('@fixer please look. And (@Reviewer), @fixer.'), ['fixer', 'reviewer']);
  assert.deepEqual(mentionsIn('cc @pat@example.org'), ['pat@example.org']);
});

test('addresses, code and quotations mention nobody', () => {
  assert.deepEqual(mentionsIn('mail me@fixer.example, see https://x.example/@fixer'), []);
  assert.deepEqual(mentionsIn('`@fixer`\n```\n@fixer\n```\n> @fixer said so\nno'), []);
  assert.deepEqual(mentionsIn('@ @- @@fixer'), []);
});

test('a text full of names asks for a bounded number of them, in time that grows with its length', () => {
  const began = threadProcessorMs();
  assert.equal(mentionsIn(Array.from({ length: 9_000 }, (_, n) => `@a${n}`).join(' ')).length, 20);
  mentionsIn(`${'`'.repeat(60_000)}${'@'.repeat(60_000)}`);
  assert.ok(threadProcessorMs() - began < 2_000);
});
