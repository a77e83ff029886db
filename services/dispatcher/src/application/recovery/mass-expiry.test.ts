import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createMassExpiryGuard } from './mass-expiry.ts';

describe('the guard against mass expiry', () => {
  const at = (): { now: number; monotonicMs: () => number } => {
    const clock = { now: 0, monotonicMs: () => clock.now };
    return clock;
  };

  test('one or two servers may go, also of a fleet of two', () => {
    const guard = createMassExpiryGuard(at(), 60_000);
    assert.ok(guard.allows(0, 0));
    assert.ok(guard.allows(1, 1));
    assert.ok(guard.allows(2, 2));
    assert.ok(!guard.allows(3, 3));
  });

  test('a tenth of a large fleet may go, more is held, but not for ever', () => {
    const clock = at();
    const guard = createMassExpiryGuard(clock, 60_000);
    assert.ok(guard.allows(10, 100));
    assert.ok(!guard.allows(11, 100));
    clock.now = 59_999;
    assert.ok(!guard.allows(50, 100));
    clock.now = 60_000;
    assert.ok(guard.allows(50, 100));
  });

  test('a fleet that speaks again starts the time anew', () => {
    const clock = at();
    const guard = createMassExpiryGuard(clock, 60_000);
    assert.ok(!guard.allows(11, 100));
    clock.now = 50_000;
    assert.ok(guard.allows(1, 100));
    clock.now = 70_000;
    assert.ok(!guard.allows(11, 100));
  });
});
