import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canTransition, checkTransition, isEnd } from '../transition-table.ts';
import { endReasons, sessionEnds } from './end.ts';
import { sessionPhases, sessionStates, sessionTransitions } from './state.ts';
import type { SessionState } from './state.ts';

/** The mulberry32 generator: a walk is named by its seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

test('no sequence of wishes leaves the table, and nothing follows an end', () => {
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const below = createRandom(seed);
    let state: SessionState = 'pending';
    for (let step = 0; step < 30; step += 1) {
      const wish: SessionState = sessionStates[below(sessionStates.length)] ?? 'pending';
      const from: SessionState = state;
      try {
        state = checkTransition(sessionTransitions, from, wish, `walk ${seed}`);
        assert.ok(sessionTransitions[from].includes(state), `${from} to ${state}`);
        assert.ok(!isEnd(sessionTransitions, from), `${from} is an end`);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        assert.equal((error as { code?: string }).code, 'transition_refused');
        assert.equal(state, from);
      }
      assert.ok(sessionPhases[state].length > 0);
    }
  }
});

test('a person can stop whatever has not ended, and every reason of an end leads to one', () => {
  for (const state of sessionStates) {
    if (isEnd(sessionTransitions, state)) continue;
    assert.ok(canTransition(sessionTransitions, state, 'user_stopped'), state);
  }
  for (const reason of endReasons) assert.ok(isEnd(sessionTransitions, sessionEnds[reason].state), reason);
});
