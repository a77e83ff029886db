import assert from 'node:assert/strict';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { SessionResult } from '@lemniscate/shared/protocol/session-result.ts';
import type { Bench } from './agent-server-bench.ts';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';

/** Plays turns in order, whichever session asks; asking for more is the script's end in an error. */
export function play(bench: Bench, turns: readonly ScriptedTurn[]): void {
  let next = 0;
  bench.dispatcher.onModel = () => {
    const turn = turns[next];
    next += 1;
    return (
      turn ?? { blocks: [], refuse: { status: 400, body: { error: { message: 'the script is over' } } } }
    );
  };
}

/** Waits for the session's result. */
export function resultOf(
  bench: Bench,
  sessionId: string,
  attempt = 1,
  withinMs = 30_000,
): Promise<SessionResult> {
  const { dispatcher } = bench;
  return dispatcher.until(
    () =>
      dispatcher.results.find((entry) => entry.sessionId === sessionId && entry.attempt === attempt)?.result,
    withinMs,
  );
}

export function eventsOf(bench: Bench, sessionId: string, attempt = 1): ServerEvent[] {
  return bench.dispatcher.events
    .filter((entry) => entry.sessionId === sessionId && entry.attempt === attempt)
    .map((entry) => entry.event);
}

/** Waits for an event of the session. */
export function eventOf<Type extends ServerEvent['type']>(
  bench: Bench,
  sessionId: string,
  type: Type,
  where: (event: Extract<ServerEvent, { type: Type }>) => boolean = () => true,
): Promise<Extract<ServerEvent, { type: Type }>> {
  return bench.dispatcher.until(() =>
    eventsOf(bench, sessionId).find(
      (event): event is Extract<ServerEvent, { type: Type }> =>
        event.type === type && where(event as Extract<ServerEvent, { type: Type }>),
    ),
  );
}

/** The states that a call went through. */
export function callStates(events: readonly ServerEvent[], callId: string): string[] {
  return events.flatMap((event) =>
    event.type === 'tool_call' && event.callId === callId ? [event.state] : [],
  );
}

/** All text of one stream, in order. */
export function outputOf(events: readonly ServerEvent[], stream: 'stdout' | 'stderr'): string {
  return events
    .flatMap((event) => (event.type === 'output' && event.stream === stream ? [event.text] : []))
    .join('');
}

export function patchOf(result: SessionResult): string {
  return result.patch?.kind === 'inline' ? Buffer.from(result.patch.base64, 'base64').toString('utf8') : '';
}

/** The tool results of a request to the model: what the loop told it. */
export function toldResults(
  bench: Bench,
  request: number,
): { id: unknown; isError: boolean; text: string }[] {
  const content = bench.dispatcher.modelRequests[request]?.messages.at(-1)?.content ?? [];
  return content.map((block) => ({
    id: block['tool_use_id'],
    isError: block['is_error'] === true,
    text: (block['content'] as { text: string }[] | undefined)?.[0]?.text ?? '',
  }));
}

/** Waits until every session is gone and the pool is full again. */
export async function settled(bench: Bench): Promise<void> {
  await bench.dispatcher.until(() => {
    const { held, warm } = bench.server.status();
    return held.length === 0 && warm === bench.config.warm;
  });
}

/** The order of the next attempt, from the session's last checkpoint. */
export function resumed(bench: Bench, order: SessionOrder, attempt = order.attempt + 1): SessionOrder {
  const { checkpoints, store } = bench.dispatcher;
  const given = checkpoints.findLast(({ sessionId }) => sessionId === order.sessionId)?.given;
  assert.ok(given);
  const readable = ({ uploadId, sha256, bytes }: typeof given.archive) => ({
    url: store.address(uploadId),
    sha256,
    bytes,
  });
  const resume = {
    number: 1,
    baseCommit: given.baseCommit,
    archive: readable(given.archive),
    transcript: readable(given.transcript),
  };
  return { ...order, attempt, resume };
}
