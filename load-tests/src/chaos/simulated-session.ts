import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createLease, staleAttempt } from '@lemniscate/agent-server/application/lease.ts';
import type { Dispatcher } from '@lemniscate/agent-server/application/ports/dispatcher.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { CheckpointCause, TakeCheckpointAnswer } from '@lemniscate/shared/protocol/checkpoint.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { beginning, diffOf, nextStep, progressSchema, readWork } from './work.ts';
import type { ChaosWork, Progress } from './work.ts';

export interface SimulatedDeps {
  readonly dispatcher: Dispatcher;
  readonly bootTimeMs: () => number;
  /** Told of what ends a session and should not. */
  readonly onFault: (error: unknown, held: Held) => void;
}

/** One attempt on a simulated server: the real protocol, and no sandbox. */
export interface SimulatedSession extends Held {
  readonly leaseMs: number;
  heard(sentAtMs: number): void;
  renew(sentAtMs: number, leaseMs: number): void;
  isLost(): boolean;
  abandon(): void;
  /** It is put away behind its next step. */
  pause(): void;
  /** Never rejects. */
  readonly done: Promise<void>;
}

export function runSimulated(deps: SimulatedDeps, order: SessionOrder): SimulatedSession {
  const held = { sessionId: order.sessionId, attempt: order.attempt };
  const over = new AbortController();
  const lease = createLease(deps.bootTimeMs, deps.bootTimeMs(), order.leaseMs);
  const context: Context = {
    deps,
    order,
    held,
    signal: over.signal,
    hold: () => lease.hold(over.signal),
    seq: 0,
    pauseAsked: false,
  };
  const done = work(context).catch((error: unknown) => {
    // A stale attempt, a stop and an abandonment end here; the record knows what became of the session.
    if (!over.signal.aborted && !isCodedError(error, 'attempt_stale')) deps.onFault(error, held);
  });
  return {
    ...held,
    leaseMs: order.leaseMs,
    heard: lease.heard,
    renew: lease.renew,
    isLost: () => lease.cutOff() || lease.lost(),
    abandon: () => over.abort(),
    pause: () => {
      context.pauseAsked = true;
    },
    done,
  };
}

interface Context {
  readonly deps: SimulatedDeps;
  readonly order: SessionOrder;
  readonly held: Held;
  readonly signal: AbortSignal;
  readonly hold: () => Promise<void>;
  seq: number;
  pauseAsked: boolean;
}

async function work(context: Context): Promise<void> {
  const { order, signal } = context;
  const task = readWork(order.instruction) ?? { seed: 0, steps: 1 };
  const random = seededRandom(task.seed);
  let at = await resumeFrom(context, task);
  await tell(context, [{ type: 'running', driver: 'simulated', warm: true, timingsMs: {} }]);
  // Drawn anew from the start, so that an attempt that goes on draws what the first one would have.
  for (let step = 1; step <= task.steps; step += 1) {
    const [pauseMs, asksModel, stores] = [50 + random() * 250, random() < 0.3, random() < 0.3];
    if (step <= at.step) continue;
    if (context.pauseAsked && (await putAway(context, at))) return;
    await delay(pauseMs, undefined, { signal });
    if (asksModel) await askModel(context, task);
    at = await takeStep(context, at);
    if (stores && step < task.steps) await store(context, at);
  }
  const { patch, summary } = diffOf(at.value);
  await insist(context, async () =>
    context.deps.dispatcher.sendResult(
      context.held,
      {
        reason: 'finished',
        message: 'Done.',
        diff: summary,
        patch: { kind: 'inline', base64: patch.toString('base64') },
        timingsMs: { kill: 1 },
      },
      signal,
    ),
  );
}

/** One step: permitted, run, told. */
async function takeStep(context: Context, at: Progress): Promise<Progress> {
  const next = nextStep(at);
  const callId = `step-${next.step}`;
  const args = { path: 'answer.txt', content: next.value };
  const call = { callId, turn: next.step, tool: 'write_file' } as const;
  const answer = await insist(context, async () =>
    context.deps.dispatcher.askPermit(
      context.held,
      { ...call, arguments: args, argumentsDigest: argumentsDigest(args), waitMs: 0 },
      context.signal,
    ),
  );
  if (answer.verdict !== 'go') throw new Error(`no permit: ${answer.verdict}`);
  await tell(context, [
    { type: 'turn', turn: next.step },
    { type: 'tool_call', ...call, state: 'calling', title: 'answer.txt' },
    { type: 'text', turn: next.step, text: `step ${next.step}` },
    { type: 'tool_call', ...call, state: 'done', exitCode: null, durationMs: 1 },
  ]);
  return next;
}

async function resumeFrom(context: Context, task: ChaosWork): Promise<Progress> {
  const { resume } = context.order;
  if (resume === undefined) return beginning(task);
  return insist(context, async () => {
    const answer = await fetch(resume.transcript.url, { signal: context.signal });
    if (!answer.ok) throw new Error(`the transcript answered ${answer.status}`);
    return progressSchema.parse(await answer.json());
  });
}

async function askModel(context: Context, { seed, steps }: ChaosWork): Promise<void> {
  const body = JSON.stringify({
    model: context.order.model,
    max_tokens: 100,
    stream: true,
    messages: [{ role: 'user', content: `simulated chaos seed=${seed} steps=${steps}` }],
  });
  await insist(context, async () => {
    const answer = await context.deps.dispatcher.askModel(context.order.relayToken, body, context.signal);
    let told = '';
    for await (const piece of answer.body) told += Buffer.from(piece).toString('utf8');
    if (answer.status === 409) throw staleAttempt(context.held.sessionId, context.held.attempt);
    if (answer.status !== 200) throw new Again(`the model answered ${answer.status}`);
    if (!told.includes('message_stop')) throw new Again('the answer was cut');
  });
}

/** @returns whether the attempt is over: what it waited for may have come, or the wish was taken back */
async function putAway(context: Context, at: Progress): Promise<boolean> {
  context.pauseAsked = false;
  return (await store(context, at, 'pause')) === 'paused';
}

/** A checkpoint whose transcript is the progress. */
async function store(
  context: Context,
  at: Progress,
  cause: CheckpointCause = 'interval',
): Promise<TakeCheckpointAnswer['outcome']> {
  const transcript = await upload(context, Buffer.from(JSON.stringify(at)));
  const archive = await upload(context, Buffer.from(`${context.held.sessionId} ${at.value}`));
  const { outcome } = await insist(context, async () =>
    context.deps.dispatcher.takeCheckpoint(
      context.held,
      {
        cause,
        baseCommit: '0'.repeat(40),
        transcript,
        archive,
        workspaceDigest: archive.sha256,
        homeDigest: archive.sha256,
      },
      context.signal,
    ),
  );
  return outcome;
}

async function upload(context: Context, content: Buffer) {
  const { dispatcher } = context.deps;
  const object = { sha256: createHash('sha256').update(content).digest('hex'), bytes: content.length };
  return insist(context, async () => {
    const { uploadId, put } = await dispatcher.requestUpload(context.held, object, context.signal);
    if (put !== null) {
      const init = { method: 'PUT', headers: put.headers, body: content, signal: context.signal };
      const answer = await fetch(put.url, init);
      if (!answer.ok) throw new Again(`the upload answered ${answer.status}`);
      await dispatcher.completeUpload(context.held, uploadId, context.signal);
    }
    return { ...object, uploadId };
  });
}

/** Events in their order, repeated until they are acknowledged. */
async function tell(context: Context, events: readonly ServerEvent[]): Promise<void> {
  const firstSeq = context.seq + 1;
  const lines = events.map((event) => Buffer.from(JSON.stringify({ at: new Date().toISOString(), event })));
  await insist(context, async () =>
    context.deps.dispatcher.sendEvents(context.held, { firstSeq, lines }, context.signal),
  );
  context.seq += events.length;
}

/** A failure that a repeat may mend. */
class Again extends Error {}

const passing: ReadonlySet<string> = new Set([
  'service_unreachable',
  'unavailable',
  'internal',
  'storage_failed',
  'rate_limited',
  'provider_failed',
  'provider_timeout',
  'not_found',
]);

/** Every act waits for a valid lease, and is repeated until it is answered or the attempt is over. */
async function insist<Value>(context: Context, act: () => Promise<Value>): Promise<Value> {
  for (let waitMs = 50; ; waitMs = Math.min(1_000, waitMs * 2)) {
    await context.hold();
    try {
      return await act();
    } catch (error) {
      context.signal.throwIfAborted();
      const again = error instanceof Again || error instanceof TypeError;
      if (!again && !(isCodedError(error) && passing.has(error.code))) throw error;
      await delay(waitMs, undefined, { signal: context.signal });
    }
  }
}
