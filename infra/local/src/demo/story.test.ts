import assert from 'node:assert/strict';
import { test } from 'node:test';
import { monthDays, tellMonth } from './story.ts';

const now = new Date('2026-11-29T18:00:00Z');
const month = tellMonth(now, 600);

test('a month is told the same way each time, in order and within its days', () => {
  assert.deepEqual(
    tellMonth(now, 600).map(({ id }) => id),
    month.map(({ id }) => id),
  );
  assert.deepEqual(
    month.map(({ createdAt }) => createdAt),
    month.map(({ createdAt }) => createdAt).sort((left, right) => left - right),
  );
  for (const session of month) {
    assert.ok(session.createdAt > now.getTime() - (monthDays + 1) * 86_400_000);
    assert.ok(session.endedAt < now.getTime());
    assert.ok((session.startedAt ?? session.createdAt) >= session.createdAt);
  }
});

test('sessions differ: in people, projects, ends, cost and length', () => {
  const different = (of: (one: (typeof month)[number]) => unknown) => new Set(month.map(of)).size;
  assert.ok(different(({ subject }) => subject) > 8);
  assert.ok(different(({ project }) => project.id) === 6);
  assert.ok(different(({ reason }) => reason) > 6);
  assert.ok(different(({ turns }) => turns) > 20);
  assert.equal(new Set(month.map(({ id }) => id)).size, month.length);
});
