import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { DispatchStage, StageDispatcher } from './dispatch-stage.ts';

/** One session as its caller saw it; `performance.now`. */
interface Opened {
  readonly id: string;
  readonly askedAt: number;
  readonly acceptedAt: number;
}

/** What a load gave. Milliseconds. */
export interface LoadOutcome {
  readonly perSecond: number;
  /** From the request to its answer. */
  readonly accepting: readonly number[];
  /** From the answer to the order's arrival at a server; 0 where the order was there first. */
  readonly starting: readonly number[];
  readonly ids: readonly string[];
}

// Idle connections end before the dispatcher ends them after five seconds, in the middle of the next request.
const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 3_000 });
const body = JSON.stringify({
  instruction: 'do nothing',
  repository: { kind: 'git', url: 'https://example.invalid/r.git' },
});

/** As a client does it: a connection that broke is asked again under the same key, and the time counts. */
async function open(stage: DispatchStage, dispatcher: StageDispatcher): Promise<Opened> {
  const askedAt = performance.now();
  const key = randomUUID();
  const again = (): Promise<{ id: string }> => post(stage, dispatcher, key);
  const { id } = await again().catch(again);
  return { id, askedAt, acceptedAt: performance.now() };
}

function post(stage: DispatchStage, dispatcher: StageDispatcher, key: string): Promise<{ id: string }> {
  return new Promise<{ id: string }>((settle, fail) => {
    const call = request(`${dispatcher.publicUrl}/v1/sessions`, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${stage.token}`,
        'content-type': 'application/json',
        'idempotency-key': key,
        'content-length': Buffer.byteLength(body),
      },
    });
    call.on('error', fail);
    call.on('response', (answer) => {
      json(answer).then((given) => {
        if (answer.statusCode === 202) settle(given as { id: string });
        else fail(new Error(`POST /v1/sessions answered ${answer.statusCode}: ${JSON.stringify(given)}`));
      }, fail);
    });
    call.end(body);
  });
}

/** As fast as so many callers can. */
export async function closedLoad(
  stage: DispatchStage,
  dispatchers: readonly StageDispatcher[],
  load: { readonly sessions: number; readonly callers: number },
): Promise<LoadOutcome> {
  const opened: Opened[] = [];
  let begun = 0;
  const from = performance.now();
  await Promise.all(
    Array.from({ length: load.callers }, async (_, caller) => {
      const dispatcher = dispatchers[caller % dispatchers.length];
      if (dispatcher === undefined) throw new Error('no dispatcher');
      while (begun < load.sessions) {
        begun += 1;
        opened.push(await open(stage, dispatcher));
      }
    }),
  );
  return settle(stage, opened, from);
}

/** At a pace that does not wait for answers. */
export async function openLoad(
  stage: DispatchStage,
  dispatchers: readonly StageDispatcher[],
  load: { readonly sessions: number; readonly perSecond: number },
): Promise<LoadOutcome> {
  const opening: Promise<Opened>[] = [];
  const from = performance.now();
  for (let index = 0; index < load.sessions; index += 1) {
    const due = from + (index * 1_000) / load.perSecond;
    if (due > performance.now()) await delay(due - performance.now());
    const dispatcher = dispatchers[index % dispatchers.length];
    if (dispatcher === undefined) throw new Error('no dispatcher');
    const one = open(stage, dispatcher);
    // Awaited below with the others; until then a failure is not unheard.
    one.catch(() => undefined);
    opening.push(one);
  }
  return settle(stage, await Promise.all(opening), from);
}

const arriveWithinMs = 120_000;

async function settle(stage: DispatchStage, opened: readonly Opened[], from: number): Promise<LoadOutcome> {
  const until = performance.now() + arriveWithinMs;
  for (let missing = opened.length; missing > 0; await delay(5)) {
    missing = opened.filter(({ id }) => !stage.arrivals.has(id)).length;
    if (performance.now() > until)
      throw new Error(`${missing} of ${opened.length} sessions reached no server`);
  }
  const arrived = opened.map(({ id }) => stage.arrivals.get(id) ?? Number.NaN);
  return {
    perSecond: (opened.length * 1_000) / (arrived.reduce((last, at) => Math.max(last, at), from) - from),
    accepting: opened.map(({ askedAt, acceptedAt }) => acceptedAt - askedAt),
    starting: opened.map(({ acceptedAt }, index) => Math.max(0, (arrived[index] ?? Number.NaN) - acceptedAt)),
    ids: opened.map(({ id }) => id),
  };
}
