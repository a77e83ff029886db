import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaosPage } from './chaos-page.ts';
import type { ChaosReport } from './run-chaos.ts';

const machine = { cpu: 'A processor', cores: 2, memoryGiB: 24, node: 'v24.0.0' };
const ran = { day: '2026-11-30', commit: '71ada58', versions: 'pg 8' };
const report: ChaosReport = {
  seed: 20,
  minutes: 10,
  asks: { asked: 2_410, accepted: 2_400, refused: { backlog_full: 10 }, unanswered: 0 },
  sessions: 2_400,
  ends: { 'completed finished': 2_300, 'user_stopped stopped': 100 },
  survivors: 80,
  strikes: { 'Postgres fails over': 3, FLUSHALL: 5 },
  restarts: 250,
  deathsAtPoints: 158,
  crashPoints: {
    dispatcher: { seen: 114, left: [] },
    server: { seen: 16, left: [] },
    real: { seen: 10, left: ['http.askModel:after'] },
    exporter: { seen: 18, left: [] },
  },
  errors: {},
  promises: { 'a stop sticks': 0 },
  violations: [],
  shortfalls: ['nothing died at 1 crash points: http.askModel:after'],
  folder: '/tmp/x',
};

test('the page says what was done, what was kept and what was not reached', () => {
  const page = chaosPage(report, ran, machine);
  assert.match(page, /--seed 20 --minutes 10/);
  assert.match(page, /2026-11-30, commit 71ada58, 2 cores/);
  assert.match(page, /\*\*Every promise was kept\.\*\*/);
  assert.match(page, /2410 sessions were asked for: 2400 were accepted, 10 refused at a limit, 0 not/);
  assert.match(page, /158 died at a named crash point/);
  assert.match(page, /\| a stop sticks \| 0 \|/);
  assert.match(page, /Not reached: nothing died at 1 crash points/);
  assert.match(page, /\| real \| 9 \|/);
  assert.match(page, /\| FLUSHALL \| 5 \|\n\| Postgres fails over \| 3 \|/);
});

test('a broken promise is on the page', () => {
  const violations = [{ invariant: 'no slot is leaked', what: '1 slot of a is taken by nobody' }];
  assert.match(
    chaosPage({ ...report, violations }, ran, machine),
    /1 promises were broken:\*\* no slot is leaked: 1 slot of a/,
  );
});
