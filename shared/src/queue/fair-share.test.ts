import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shareSlots } from './fair-share.ts';
import type { Cursor, Lane } from './fair-share.ts';

const start: Cursor = { lane: '', granted: false };
const lane = (name: string, waiting: number, more: Partial<Lane> = {}): Lane => ({
  name,
  weight: 1,
  waiting,
  more: false,
  room: null,
  deficit: 0,
  ...more,
});

/** Serves lanes `step` slots at a time, as freed slots come, until nothing waits or the bound is reached. */
function serve(lanes: readonly Lane[], step: number, bound = Infinity): string[] {
  let cursor = start;
  let rest = [...lanes];
  const served: string[] = [];
  while (served.length < bound && rest.some(({ waiting }) => waiting > 0)) {
    const given = shareSlots(rest, cursor, step);
    cursor = given.cursor;
    served.push(...given.picks);
    rest = rest
      .map((each) => ({
        ...each,
        waiting: each.waiting - given.picks.filter((name) => name === each.name).length,
        deficit: given.deficits.get(each.name) ?? 0,
      }))
      .filter(({ waiting }) => waiting > 0);
    if (given.picks.length === 0) break;
  }
  return served;
}

describe('deficit round robin', () => {
  test('equal projects take turns, and one slot at a time gives the same order as many at once', () => {
    const lanes = [lane('a', 3), lane('b', 2), lane('c', 4)];
    assert.equal(serve(lanes, 9).join(''), 'abcabcacc');
    for (const step of [1, 2, 5]) assert.equal(serve(lanes, step).join(''), 'abcabcacc');
  });

  test('a project with 10,000 waiting delays the next one of another by one round at most', () => {
    const crowd = Array.from({ length: 7 }, (_, index) => lane(`p${index}`, 10_000));
    for (const newcomer of ['a', 'p3x', 'z']) {
      const lanes = [...crowd, lane(newcomer, 1)].sort((left, right) => (left.name < right.name ? -1 : 1));
      for (const cursor of [start, { lane: 'p4', granted: true }, { lane: 'z', granted: false }]) {
        const { picks } = shareSlots(lanes, cursor, 20);
        assert.ok(picks.indexOf(newcomer) >= 0 && picks.indexOf(newcomer) <= 7, picks.join(' '));
      }
    }
  });

  test('weights are shares, and the heavy one leaves gaps for the light one', () => {
    const served = serve([lane('a', 1_000, { weight: 3 }), lane('b', 1_000)], 1, 400);
    assert.equal(served.filter((name) => name === 'a').length, 300);
    assert.doesNotMatch(served.join(''), /aaaa/);
    const fine = serve(
      [lane('a', 1_000, { weight: 10 }), lane('b', 1_000, { weight: 10 }), lane('c', 9)],
      1,
      105,
    );
    assert.doesNotMatch(fine.join(''), /aa|bb/);
    assert.equal(fine.filter((name) => name === 'c').length, 5);
  });

  test('a capped project steps aside and saves no credit', () => {
    const given = shareSlots(
      [lane('a', 50, { room: 2 }), lane('b', 50, { room: 0, deficit: 0.9 }), lane('c', 50)],
      start,
      8,
    );
    assert.equal(given.picks.join(''), 'acaccccc');
    assert.equal(given.deficits.get('b'), 0);
  });

  test('nobody is served in the place of a lane that was not looked at to its end', () => {
    const given = shareSlots([lane('a', 1, { more: true }), lane('b', 5)], start, 6);
    assert.equal(given.picks.join(''), 'ab');
    assert.deepEqual(given.cursor, { lane: 'a', granted: true });
  });

  test('random calls: every slot is used, order does not depend on the size of the bites', () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    for (let round = 0; round < 200; round += 1) {
      const lanes = Array.from({ length: 1 + random(6) }, (_, index) =>
        lane(`l${index}`, 1 + random(9), { weight: 1 + random(5) }),
      );
      const whole = serve(lanes, 1_000);
      assert.equal(
        whole.length,
        lanes.reduce((sum, each) => sum + each.waiting, 0),
      );
      for (const step of [1, 2, 5])
        assert.deepEqual(serve(lanes, step), whole, `${step} at a time: ${JSON.stringify(lanes)}`);
    }
  });
});
