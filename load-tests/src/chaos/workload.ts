import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { History } from './history.ts';
import { call, insist } from './calls.ts';
import type { ChaosStage } from './stage.ts';
import { instructionOf } from './work.ts';

const acceptedSchema = z.object({ id: z.string() });
const problemSchema = z.object({ code: z.string() });
const stateSchema = z.object({ state: z.string() });
const viewSchema = z.object({ state: z.string(), endedAt: z.string().nullable() });

/** Share of the orders that no server takes: the way to an end without capacity is else passed once in a storm. */
const refusedShare = 0.015;

export interface WorkloadOptions {
  readonly seed: number;
  readonly random: () => number;
  /** Sessions a second. */
  readonly perSecond: number;
  /** Of which in real sandboxes: one in so many. */
  readonly realOneIn: number;
  readonly realRepository: unknown;
  readonly signal: AbortSignal;
}

/** Opens sessions at a pace until the signal; some twice at the same moment, some are stopped again. */
export async function runWorkload(
  stage: ChaosStage,
  history: History,
  options: WorkloadOptions,
): Promise<void> {
  const { random } = options;
  const open = new Set<Promise<void>>();
  const faults: unknown[] = [];
  for (let number = 1; !options.signal.aborted; number += 1) {
    const seed = (options.seed % 1_000) * 1_000_000 + number;
    const steps = 1 + Math.floor(random() * 6);
    const isRefused = random() < refusedShare;
    const isReal = stage.realProject !== null && number % options.realOneIn === 0;
    const project = isReal
      ? (stage.realProject ?? '')
      : (stage.projects[Math.floor(random() * stage.projects.length)] ?? '');
    const order: Order = {
      key: `chaos-${seed}`,
      seed,
      project,
      body: JSON.stringify({
        instruction: instructionOf({ seed, steps, isRefused: isRefused && !isReal }),
        project,
        repository: isReal ? options.realRepository : { kind: 'git', url: 'https://example.invalid/r.git' },
      }),
      isTwin: random() < 0.1,
      stopAfterMs: random() < 0.08 ? random() * 3_000 : null,
      pause: pauseOf(random, isReal),
      turn: Math.floor(random() * stage.apiUrls.length),
    };
    const one = live(stage, history, order)
      .catch((error: unknown) => void faults.push(error))
      .finally(() => open.delete(one));
    open.add(one);
    // Poisson: bursts belong to it.
    const pauseMs = (-Math.log(1 - random()) * 1_000) / options.perSecond;
    await delay(pauseMs, undefined, { signal: options.signal }).catch(() => undefined);
  }
  await Promise.all(open);
  if (faults.length > 0) throw new AggregateError(faults, 'the load met what it does not know');
}

/** Its person pauses a session and lets it go on. */
interface Pause {
  /** Only once it runs: one that waits is paused without a checkpoint. */
  readonly onceItRuns: boolean;
  readonly afterMs: number;
  readonly forMs: number;
}

/**
 * A real server stores and restores a checkpoint for hardly any other reason, and has two slots: with half of its sessions paused
 * at any moment, one storm of a quarter of an hour restored so late that nobody died in it.
 */
function pauseOf(random: () => number, isReal: boolean): Pause | null {
  const [share, first, then] = [random(), random(), random()];
  if (isReal) return share < 0.7 ? { onceItRuns: true, afterMs: 0, forMs: then * 5_000 } : null;
  return share < 0.06 ? { onceItRuns: false, afterMs: first * 2_000, forMs: then * 5_000 } : null;
}

interface Order {
  readonly key: string;
  readonly seed: number;
  readonly project: string;
  readonly body: string;
  /** Asked for at two dispatchers at once under the same key. */
  readonly isTwin: boolean;
  readonly stopAfterMs: number | null;
  readonly pause: Pause | null;
  readonly turn: number;
}

async function live(stage: ChaosStage, history: History, order: Order): Promise<void> {
  history.note({ what: 'asked', key: order.key, seed: order.seed, project: order.project });
  const asked = [openSession(stage, history, order, order.turn)];
  if (order.isTwin) asked.push(openSession(stage, history, order, order.turn + 1));
  const [id] = await Promise.all(asked);
  if (id === undefined || id === null) return;
  await Promise.all([stop(stage, history, order, id), pause(stage, history, order, id)]);
}

async function stop(stage: ChaosStage, history: History, order: Order, id: string): Promise<void> {
  if (order.stopAfterMs === null) return;
  await delay(order.stopAfterMs);
  const stopped = await insist(stage, order.turn, async (url) => {
    const answer = await call(`${url}/v1/sessions/${id}/stop`, { token: stage.token, body: {} });
    if (answer.status >= 500) return null;
    // One that has ended meanwhile cannot be stopped any more: an answer as well.
    return answer.status === 200 ? stateSchema.parse(answer.body) : { state: String(answer.status) };
  });
  if (stopped === null) history.note({ what: 'unanswered', key: order.key, asked: 'stop' });
  if (stopped?.state === 'user_stopped') history.note({ what: 'stopped', id });
}

/** A pause that arrives late, out of a dispatcher that stood still, may outlive its resume: the operator looks at the end. */
async function pause(stage: ChaosStage, history: History, order: Order, id: string): Promise<void> {
  if (order.pause === null) return;
  if (order.pause.onceItRuns && !(await runs(stage, order, id))) return;
  for (const [verb, afterMs] of [
    ['pause', order.pause.afterMs],
    ['resume', order.pause.forMs],
  ] as const) {
    await delay(afterMs);
    const answered = await insist(stage, order.turn, async (url) => {
      const answer = await call(`${url}/v1/sessions/${id}/${verb}`, { token: stage.token, body: {} });
      // One that has ended, or goes on already, says so.
      return answer.status < 500 ? answer.status : null;
    });
    if (answered === null) history.note({ what: 'unanswered', key: order.key, asked: verb });
  }
}

/** A storm may keep a session waiting for as long as it lasts. */
const runsWithinMs = 120_000;

/** @returns false where it ended, or still waits after all that time */
async function runs(stage: ChaosStage, order: Order, id: string): Promise<boolean> {
  const until = performance.now() + runsWithinMs;
  while (performance.now() < until) {
    const seen = await insist(stage, order.turn, async (url) => {
      const answer = await call(`${url}/v1/sessions/${id}`, { token: stage.token, method: 'GET' });
      return answer.status === 200 ? viewSchema.parse(answer.body) : null;
    });
    if (seen === null || seen.endedAt !== null) return false;
    if (seen.state === 'running') return true;
    await delay(100);
  }
  return false;
}

async function openSession(
  stage: ChaosStage,
  history: History,
  order: Order,
  turn: number,
): Promise<string | null> {
  const given = await insist(stage, turn, async (url) => {
    const answer = await call(`${url}/v1/sessions`, {
      token: stage.token,
      body: order.body,
      headers: { 'idempotency-key': order.key },
    });
    if (answer.status === 202) return { id: acceptedSchema.parse(answer.body).id };
    // A limit's clear answer is an answer; a fault is asked again.
    if (answer.status >= 400 && answer.status < 500)
      return { code: problemSchema.safeParse(answer.body).data?.code ?? String(answer.status) };
    return null;
  });
  if (given === null) {
    history.note({ what: 'unanswered', key: order.key, asked: 'session' });
    return null;
  }
  if ('code' in given) {
    history.note({ what: 'refused', key: order.key, code: given.code });
    return null;
  }
  history.note({ what: 'accepted', key: order.key, id: given.id });
  return given.id;
}
