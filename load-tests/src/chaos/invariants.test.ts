import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Evidence, SeenSession } from './evidence.ts';
import { checkInvariants, invariants } from './invariants.ts';
import { answerOf, diffOf, instructionOf } from './work.ts';

const work = { seed: 7, steps: 2 };
const session: SeenSession = {
  id: 's_1',
  key: 'k1',
  project: 'p',
  instruction: instructionOf(work),
  state: 'completed',
  reason: 'finished',
  attempts: 1,
  losses: 0,
  failures: 0,
  stopReason: null,
  patch: diffOf(answerOf(work)).patch.toString('utf8'),
  states: ['pending', 'starting', 'running', 'completed'],
  eventAttempts: [0, 1, 1, 1],
  positionsAreDense: true,
  liveAttempts: 0,
  chainIsClosed: true,
};
const usage = {
  session: 's_1',
  seed: 7,
  state: 'settled',
  responseId: 'm1',
  complete: true,
  inputTokens: 17,
  outputTokens: 5,
};
const whole: Evidence = {
  history: [
    { what: 'asked', key: 'k1', seed: 7, project: 'p' },
    { what: 'accepted', key: 'k1', id: 's_1' },
  ],
  sessions: [session],
  usage: [usage],
  provided: [{ responseId: 'm1', seed: 7, inputTokens: 17, outputTokens: 5 }],
  servers: [{ server: 'a', taken: 0, held: 0, fault: null }],
  queuedJobs: 0,
  audit: { fault: null, behind: [] },
};
const withSession = (change: Partial<SeenSession>): Evidence => ({
  ...whole,
  sessions: [{ ...session, ...change }],
});

test('nothing is found where nothing is wrong', () => {
  assert.deepEqual(checkInvariants(whole), []);
});

const broken: readonly [invariant: keyof typeof invariants, evidence: Evidence][] = [
  ['no accepted session is lost', { ...whole, sessions: [], usage: [], provided: [] }],
  ['one session for one idempotency key', { ...whole, sessions: [session, { ...session, id: 's_2' }] }],
  ['one session for one idempotency key', withSession({ key: 'other' })],
  ['every session comes to an end', withSession({ state: 'running' })],
  ['states change along the table', withSession({ states: ['pending', 'running'] })],
  ['events have no hole', withSession({ positionsAreDense: false })],
  ['one attempt at most is listened to', withSession({ eventAttempts: [0, 2, 1] })],
  ['one attempt at most is listened to', withSession({ liveAttempts: 1 })],
  ['a stop sticks', { ...whole, history: [...whole.history, { what: 'stopped', id: 's_1' }] }],
  ['what is completed is right', withSession({ patch: diffOf('other').patch.toString('utf8') })],
  ['what is completed is right', withSession({ patch: null })],
  [
    'what is completed is right',
    withSession({ instruction: instructionOf({ seed: 1, steps: 2, isRefused: true }) }),
  ],
  ['what fails has a cause', withSession({ state: 'failed', reason: 'server_lost', losses: 1, attempts: 2 })],
  ['what fails has a cause', withSession({ state: 'failed', reason: 'runtime_failed' })],
  ['every ask is answered', { ...whole, history: whole.history.filter(({ what }) => what !== 'accepted') }],
  [
    'every ask is answered',
    { ...whole, history: [...whole.history, { what: 'unanswered', key: 'k1', asked: 'stop' }] },
  ],
  [
    'every ask is answered',
    { ...whole, history: [...whole.history, { what: 'unanswered', key: 'k1', asked: 'resume' }] },
  ],
  [
    'a refusal names a limit',
    { ...whole, history: [...whole.history, { what: 'refused', key: 'k1', code: 'session_ended' }] },
  ],
  [
    'every server comes back',
    { ...whole, servers: [{ server: 'a', taken: 0, held: 0, fault: 'its disk is full (400 MiB free)' }] },
  ],
  ['no slot is leaked', { ...whole, servers: [{ server: 'a', taken: 1, held: 0, fault: null }] }],
  ['no slot is leaked', { ...whole, servers: [{ server: 'a', taken: null, held: 0, fault: null }] }],
  ['no slot is leaked', { ...whole, servers: [{ server: 'a', taken: 0, held: 1, fault: null }] }],
  ['no slot is leaked', { ...whole, queuedJobs: 1 }],
  ['the audit log is whole', { ...whole, audit: { fault: 'gap', behind: [] } }],
  ['the audit log is whole', { ...whole, audit: { fault: null, behind: ['session:s_1'] } }],
  ['the audit log is whole', withSession({ chainIsClosed: false })],
  ['usage is exact', { ...whole, usage: [{ ...usage, outputTokens: 6 }] }],
  ['usage is exact', { ...whole, usage: [] }],
  ['usage is exact', { ...whole, usage: [{ ...usage, state: 'begun' }] }],
];

for (const [index, [invariant, evidence]] of broken.entries())
  test(`${invariant} is found broken (${index})`, () => {
    assert.ok(checkInvariants(evidence).some((violation) => violation.invariant === invariant));
  });

test('every invariant has evidence that breaks it', () => {
  const covered = new Set(broken.map(([invariant]) => invariant));
  assert.deepEqual(
    Object.keys(invariants).filter((name) => !covered.has(name)),
    [],
  );
});
