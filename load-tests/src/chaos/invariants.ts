import { sessionHasEnded, sessionTransitions } from '@lemniscate/shared/session/state.ts';
import { canTransition } from '@lemniscate/shared/transition-table.ts';
import type { Evidence, SeenSession } from './evidence.ts';
import type { HistoryEvent } from './history.ts';
import { answerOf, readWork } from './work.ts';

/** A promise that was broken, by whom and how. */
export interface Violation {
  readonly invariant: string;
  readonly what: string;
}

type Invariant = (evidence: Evidence) => readonly string[];

/** Codes of limits that a load may meet. */
const limits: ReadonlySet<string> = new Set(['backlog_full', 'rate_limited']);

/** Lost servers that a session survives. */
const maxLosses = 2;

const of = <What extends HistoryEvent['what']>(evidence: Evidence, what: What) =>
  evidence.history.filter((event): event is Extract<HistoryEvent, { what: What }> => event.what === what);

/** Ends that a session may have which nobody stopped, and what must then be so. */
const honestFailures: Readonly<Record<string, (session: SeenSession) => boolean>> = {
  server_lost: ({ losses, attempts }) => losses >= maxLosses && attempts > maxLosses,
  start_failed: ({ losses, attempts }) => losses >= maxLosses && attempts > maxLosses,
  no_capacity: ({ failures }) => failures >= 3,
};

/** Every promise of the fleet, by its name; each says what breaks it. */
export const invariants: Readonly<Record<string, Invariant>> = {
  'no accepted session is lost': (evidence) => {
    const there = new Set(evidence.sessions.map(({ id }) => id));
    return of(evidence, 'accepted')
      .filter(({ id }) => !there.has(id))
      .map(({ id, key }) => `${id} was accepted under ${key} and is not on record`);
  },
  'every ask is answered': (evidence) => {
    const said = new Set([...of(evidence, 'accepted'), ...of(evidence, 'refused')].map(({ key }) => key));
    return [
      ...of(evidence, 'asked')
        .filter(({ key }) => !said.has(key))
        .map(({ key }) => `${key} was neither accepted nor refused`),
      ...of(evidence, 'unanswered')
        .filter(({ asked }) => asked !== 'session')
        .map(({ key, asked }) => `nobody answered the ${asked} of ${key}`),
    ];
  },
  'a refusal names a limit': (evidence) =>
    of(evidence, 'refused')
      .filter(({ code }) => !limits.has(code))
      .map(({ key, code }) => `${key} was refused as ${code}`),
  'one session for one idempotency key': (evidence) => {
    const asked = new Set(of(evidence, 'asked').map(({ key }) => key));
    const answers = Map.groupBy(of(evidence, 'accepted'), ({ key }) => key);
    const twice = [...answers].filter(([, given]) => new Set(given.map(({ id }) => id)).size > 1);
    const unasked = evidence.sessions.filter(({ key }) => key === null || !asked.has(key));
    const keys = Map.groupBy(evidence.sessions, ({ instruction }) => instruction);
    return [
      ...twice.map(([key]) => `${key} was answered with several sessions`),
      ...unasked.map(({ id }) => `nobody asked for ${id}`),
      ...[...keys]
        .filter(([, same]) => same.length > 1)
        .map(([, same]) => `the same order is on record as ${same.map(({ id }) => id).join(', ')}`),
    ];
  },
  'every session comes to an end': (evidence) =>
    evidence.sessions
      .filter(({ state }) => !sessionHasEnded(state))
      .map(({ id, state, attempts }) => `${id} is still ${state} (attempt ${attempts})`),
  'states change along the table': (evidence) =>
    evidence.sessions.flatMap(({ id, states }) =>
      states.flatMap((to, at) => {
        const from = states[at - 1];
        const isWrong = from === undefined ? to !== 'pending' : !canTransition(sessionTransitions, from, to);
        return isWrong ? [`${id} went from ${from ?? 'nothing'} to ${to}`] : [];
      }),
    ),
  'events have no hole': (evidence) =>
    evidence.sessions
      .filter(({ positionsAreDense }) => !positionsAreDense)
      .map(({ id }) => `${id} has a hole in its events`),
  'one attempt at most is listened to': (evidence) =>
    evidence.sessions.flatMap(({ id, state, eventAttempts, liveAttempts }) => [
      ...(eventAttempts.some((attempt, at) => attempt < (eventAttempts[at - 1] ?? 0))
        ? [`${id} took writes of an earlier attempt`]
        : []),
      ...(liveAttempts > (sessionHasEnded(state) ? 0 : 1)
        ? [`${id} is ${state} and ${liveAttempts} of its attempts live`]
        : []),
    ]),
  'a stop sticks': (evidence) => {
    const stopped = new Set(of(evidence, 'stopped').map(({ id }) => id));
    return evidence.sessions
      .filter(({ id, state }) => stopped.has(id) && state !== 'user_stopped')
      .map(({ id, state }) => `${id} was stopped and is ${state}`);
  },
  'what is completed is right': (evidence) =>
    evidence.sessions
      .filter(({ state }) => state === 'completed')
      .flatMap(({ id, instruction, patch }) => {
        const work = readWork(instruction);
        const right = work === null ? '' : `+${answerOf(work)}`;
        if (work?.isRefused === true) return [`${id} was completed, and every server refuses its work`];
        return patch?.split('\n').includes(right) === true
          ? []
          : [`${id} offers another diff than its work has`];
      }),
  'what fails has a cause': (evidence) =>
    evidence.sessions
      .filter(({ state }) => state === 'failed' || state === 'timeout')
      .filter((session) => honestFailures[session.reason ?? '']?.(session) !== true)
      .map(
        ({ id, reason, attempts, losses, failures }) =>
          `${id} failed for ${reason} with ${attempts} attempts, ${losses} losses, ${failures} failures`,
      ),
  'every server comes back': (evidence) =>
    evidence.servers
      // Who failed starts again and again rests for up to a quarter of an hour, which is as promised.
      .filter(({ fault }) => fault !== null && !fault.includes('did not start there'))
      .map(({ server, fault }) => `${server} is out of the rotation: ${fault}`),
  'no slot is leaked': (evidence) => [
    ...evidence.servers.flatMap(({ server, taken, held }) => [
      ...(taken === null ? [`the ledger does not know ${server}`] : []),
      ...((taken ?? 0) === 0 ? [] : [`${taken} slots of ${server} are taken by nobody`]),
      ...(held === 0 ? [] : [`${server} has ${held} sessions that have ended`]),
    ]),
    ...(evidence.queuedJobs > 0 ? [`${evidence.queuedJobs} jobs are left in the queue`] : []),
  ],
  'the audit log is whole': ({ audit, sessions }) => [
    ...(audit.fault === null ? [] : [audit.fault]),
    ...audit.behind.map((chain) => `the sink's end of ${chain} is not the record's`),
    ...sessions
      .filter(({ state, chainIsClosed }) => sessionHasEnded(state) && !chainIsClosed)
      .map(({ id }) => `${id} has ended and its chain is open`),
  ],
  'usage is exact': checkUsage,
};

/** Each answer of the provider is on record once, with the tokens that it had; what was cut says so. */
function checkUsage({ usage, provided }: Evidence): string[] {
  const truth = new Map(provided.map((answer) => [answer.responseId, answer]));
  const rows = Map.groupBy(usage, ({ seed }) => seed);
  const asked = Map.groupBy(provided, ({ seed }) => seed);
  return [
    ...usage
      .filter(({ state }) => state === 'begun')
      .map(({ session }) => `an exchange of ${session} was never settled`),
    ...usage.flatMap((row) => {
      if (row.responseId === null || row.complete !== true) return [];
      const answer = truth.get(row.responseId);
      const isRight =
        answer !== undefined &&
        answer.seed === row.seed &&
        answer.inputTokens === row.inputTokens &&
        answer.outputTokens === row.outputTokens;
      return isRight ? [] : [`the usage of ${row.responseId} is not what the provider gave`];
    }),
    ...[...asked]
      .filter(([seed, answers]) => (rows.get(seed)?.length ?? 0) < answers.length)
      .map(
        ([seed, answers]) =>
          `the provider answered the session of seed ${seed} ${answers.length} times, and ${rows.get(seed)?.length ?? 0} are on record`,
      ),
  ];
}

/** All that is wrong. */
export function checkInvariants(evidence: Evidence): Violation[] {
  return Object.entries(invariants).flatMap(([invariant, check]) =>
    check(evidence).map((what) => ({ invariant, what })),
  );
}
