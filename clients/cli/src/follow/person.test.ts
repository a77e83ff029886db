import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import * as prompts from '@clack/prompts';
import pc from 'picocolors';
import { askPerson } from './person.ts';
import type { Outcome, Person } from './person.ts';

function person(withdrawn = new AbortController()) {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const output = new PassThrough();
  output.resume();
  const asked: Person = { input, output, paint: pc.createColors(false), withdrawn: withdrawn.signal };
  return { asked, type: (keys: string) => void input.write(keys), withdrawn };
}

const text = (asked: Person): Promise<Outcome<string>> =>
  askPerson(asked, { letters: false }, (place) => prompts.text({ ...place, message: 'Why?' }));
const confirm = (asked: Person): Promise<Outcome<boolean>> =>
  askPerson(asked, { letters: true }, (place) => prompts.confirm({ ...place, message: 'Go on?' }));

test('what is typed is the answer, with every letter of it', async () => {
  const { asked, type } = person();
  const outcome = text(asked);
  type('sS日本');
  type('\r');
  assert.deepEqual(await outcome, { answer: 'sS日本' });
});

test('in the middle of a text Ctrl-X stops and Ctrl-C leaves; neither is an answer', async () => {
  for (const [key, left] of [
    ['\u0018', 'stop'],
    ['\u0003', 'left'],
  ] as const) {
    const { asked, type } = person();
    const outcome = text(asked);
    type('half a sen');
    type(key);
    assert.equal(await outcome, left);
  }
});

test('where no text is typed, s stops as it does everywhere', async () => {
  for (const key of ['s', 'S', '\u0018']) {
    const { asked, type } = person();
    const outcome = confirm(asked);
    type(key);
    assert.equal(await outcome, 'stop', JSON.stringify(key));
  }
  const { asked, type } = person();
  const outcome = confirm(asked);
  type('n');
  assert.deepEqual(await outcome, { answer: false });
});

test('a question that nobody wants answered any more ends by itself', async () => {
  const { asked, type, withdrawn } = person();
  const outcome = text(asked);
  type('half');
  withdrawn.abort();
  assert.equal(await outcome, 'withdrawn');
});

test('it listens to nothing afterwards', async () => {
  const { asked, type } = person();
  const outcome = text(asked);
  type('a\r');
  await outcome;
  assert.equal(asked.input.listenerCount('keypress'), 0);
});
