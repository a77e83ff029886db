import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createReadGatherer } from './gather-reads.ts';

/** An event loop of the test's: pieces come in turns, and it counts how often it stood. */
function startLoop() {
  let now = 1_000;
  let stood = 0;
  let atEnd: (() => void)[] = [];
  const gatherer = createReadGatherer({
    now: () => now,
    atTurnsEnd: (callback) => void atEnd.push(callback),
    stand: (ms) => {
      stood += 1;
      now += ms;
    },
  });
  return {
    turn: (pieces: number, lastsMs: number) => {
      for (let piece = 0; piece < pieces; piece += 1) gatherer.note();
      now += lastsMs;
      assert.ok(atEnd.length <= 1, 'one callback a turn');
      for (const end of atEnd.splice(0)) end();
      atEnd = [];
    },
    stood: () => stood,
    pass: (ms: number) => (now += ms),
  };
}

describe('reads of answers', () => {
  test('gather while many answers flow', () => {
    const loop = startLoop();
    for (let turn = 0; turn < 200; turn += 1) loop.turn(2, 0.5);
    assert.ok(loop.stood() > 100, `the loop stood ${loop.stood()} times`);
  });

  test('never stand for the pieces of a few', () => {
    const loop = startLoop();
    for (let turn = 0; turn < 1_000; turn += 1) loop.turn(1, 1.5);
    assert.equal(loop.stood(), 0);
  });

  test('do not stand when a turn has found enough: a gateway that is busy is not held up', () => {
    const loop = startLoop();
    for (let turn = 0; turn < 1_000; turn += 1) loop.turn(16, 1);
    assert.equal(loop.stood(), 0);
  });

  test('do not stand for the first piece after the crowd has gone', () => {
    const loop = startLoop();
    for (let turn = 0; turn < 200; turn += 1) loop.turn(2, 0.5);
    const before = loop.stood();
    loop.pass(10_000);
    loop.turn(1, 0.1);
    assert.equal(loop.stood(), before);
  });
});
