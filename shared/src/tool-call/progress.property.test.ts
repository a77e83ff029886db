import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../policy/command/fuzz/random.ts';
import { canTransition, isEnd } from '../transition-table.ts';
import { advanceToolCall } from './progress.ts';
import { toolCallStates, toolCallTransitions } from './state.ts';
import type { ToolCallState } from './state.ts';

/** Whether the table leads from one state to another by any number of steps. */
function leadsTo(from: ToolCallState, to: ToolCallState): boolean {
  return toolCallTransitions[from].some((next) => next === to || leadsTo(next, to));
}

test('no sequence of reports leaves the table: ends stay, nothing goes back, nothing runs out of generating', () => {
  const random = createRandom(1);
  for (let round = 0; round < 5_000; round += 1) {
    let at: ToolCallState = 'generating';
    for (let step = 0; step < 12; step += 1) {
      const reported = random.pick(toolCallStates);
      const next: ToolCallState = advanceToolCall(at, reported);
      if (next !== at) assert.ok(leadsTo(at, next), `${at} became ${next}`);
      if (isEnd(toolCallTransitions, at)) assert.equal(next, at);
      at = next;
    }
  }
  assert.equal(canTransition(toolCallTransitions, 'generating', 'calling'), false);
});
