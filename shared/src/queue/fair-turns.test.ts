import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Lane } from './fair-share.ts';
import { keepTurns, shareTurns } from './fair-turns.ts';
import type { Turn, WaitingClass, WaitingPool } from './fair-turns.ts';

const lane = (name: string, waiting: number, more: Partial<Lane> = {}): Lane => ({
  name,
  weight: 1,
  waiting,
  more: false,
  room: null,
  deficit: 0,
  ...more,
});
const classOf = (name: string, lanes: readonly Lane[], due = 0): WaitingClass => ({
  name,
  lanes,
  cursor: { lane: '', granted: false },
  due,
});
const spell = (turns: readonly Turn[]): string => turns.map((turn) => turn.lane).join('');

/** What is left after some were taken; caps stay taken. */
function after(pool: WaitingPool, taken: readonly Turn[]): WaitingPool {
  const kept = keepTurns(pool, taken);
  return {
    round: kept.round,
    classes: pool.classes.map((each) => {
      const own = kept.classes.find(({ placementClass }) => placementClass === each.name);
      const countOf = (name: string, placementClass?: string): number =>
        taken.filter(
          (turn) =>
            turn.lane === name && (placementClass === undefined || turn.placementClass === placementClass),
        ).length;
      return {
        ...each,
        ...(own === undefined ? {} : { cursor: own.cursor, due: own.due }),
        lanes: each.lanes
          .map((old) => ({
            ...old,
            waiting: old.waiting - countOf(old.name, each.name),
            room: old.room === null ? null : old.room - countOf(old.name),
            deficit: own?.deficits.get(old.name) ?? old.deficit,
          }))
          .filter(({ waiting }) => waiting > 0),
      };
    }),
  };
}

/** Serves `step` slots at a time, as freed slots come. Classes in `full` have no server. */
function serve(
  pool: WaitingPool,
  step: number,
  bound: number,
  full: readonly string[] = [],
): { served: Turn[]; pool: WaitingPool } {
  const served: Turn[] = [];
  let now = pool;
  while (served.length < bound) {
    const classes = now.classes.filter(({ name }) => !full.includes(name));
    const taken = shareTurns({ ...now, classes }, Math.min(step, bound - served.length));
    if (taken.length === 0) break;
    served.push(...taken);
    now = after(now, taken);
  }
  return { served, pool: now };
}

describe('turns among the classes of a pool', () => {
  test('one session of each project is a round, whatever classes they are in', () => {
    const pool = {
      round: 0,
      classes: [classOf('p', [lane('a', 9), lane('b', 9)]), classOf('q', [lane('c', 9)])],
    };
    for (const step of [1, 2, 5]) {
      const { served } = serve(pool, step, 18);
      for (let from = 0; from < 18; from += 3)
        assert.equal(
          spell(served.slice(from, from + 3))
            .split('')
            .toSorted()
            .join(''),
          'abc',
          spell(served),
        );
    }
  });

  test('a newcomer in a class of its own goes after one session of each other project at most', () => {
    const crowd = classOf('p', [lane('a', 500), lane('b', 500), lane('c', 500)]);
    for (let earlier = 0; earlier < 40; earlier += 1) {
      const { pool } = serve({ round: 0, classes: [crowd] }, 3, earlier);
      const { served } = serve({ ...pool, classes: [...pool.classes, classOf('q', [lane('n', 3)])] }, 1, 12);
      const places = served.flatMap((turn, index) => (turn.lane === 'n' ? [index] : []));
      assert.ok((places[0] ?? 99) <= 3, spell(served));
      assert.ok((places[1] ?? 99) - (places[0] ?? 0) <= 4, spell(served));
    }
  });

  test('a project in the crowd’s class is not put behind by one that waits in many classes', () => {
    const many = Array.from({ length: 8 }, (_, index) => classOf(`p${index}`, [lane('x', 900)]));
    const { served } = serve({ round: 0, classes: [...many, classOf('q', [lane('n', 900)])] }, 1, 400);
    const own = served.filter((turn) => turn.lane === 'n').length;
    assert.ok(own >= 190 && own <= 210, `${own} of 400`);
  });

  test('a class whose servers were full for long does not catch up with what it missed', () => {
    const classes = [classOf('p', [lane('a', 900)]), classOf('q', [lane('b', 900)])];
    const { pool } = serve({ round: 0, classes }, 2, 300, ['q']);
    assert.match(spell(serve(pool, 1, 20).served), /^b?(ab){9}a?b?$/);
  });

  test('a class that comes back after an hour is not put behind for what it got then', () => {
    const lone = serve(
      { round: 0, classes: [classOf('p', [lane('a', 400)]), classOf('q', [lane('b', 1)])] },
      1,
      301,
    ).pool;
    const idle = serve(
      { ...lone, classes: [{ ...classOf('q', [lane('b', 400)]), due: 1 }, classOf('r', [lane('c', 400)])] },
      1,
      200,
    ).pool;
    const [p] = lone.classes;
    assert.ok(p);
    const { served } = serve({ ...idle, classes: [...idle.classes, p] }, 1, 7);
    // It is due at once, and then takes turns.
    assert.equal(spell(served).split('').toSorted().join(''), 'aaabbcc');
  });

  test('a cap is the project’s over all classes', () => {
    const classes = ['p', 'q', 'r'].map((name) => classOf(name, [lane('a', 5, { room: 2 }), lane('z', 1)]));
    const turns = shareTurns({ round: 0, classes }, 20);
    assert.equal(turns.filter((turn) => turn.lane === 'a').length, 2, spell(turns));
    assert.equal(turns.filter((turn) => turn.lane === 'z').length, 3, spell(turns));
  });

  test('weights are shares across classes', () => {
    const classes = [
      classOf('p', [lane('a', 900, { weight: 3 })]),
      classOf('q', [lane('b', 900), lane('c', 900)]),
    ];
    const { served } = serve({ round: 0, classes }, 1, 500);
    assert.equal(served.filter((turn) => turn.lane === 'a').length, 300);
    assert.equal(served.filter((turn) => turn.lane === 'b').length, 100);
  });

  test('nobody is served in the place of a session that was not looked at', () => {
    const classes = [classOf('p', [lane('a', 1, { more: true })]), classOf('q', [lane('b', 9)])];
    assert.equal(spell(shareTurns({ round: 0, classes }, 9)), 'ab');
  });
});
