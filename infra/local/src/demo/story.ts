import { createNewId } from '@lemniscate/shared/id.ts';
import { sessionEnds } from '@lemniscate/shared/session/end.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import { ends, instructions, models, people, projects } from './cast.ts';
import type { CastProject } from './cast.ts';
import { createChance } from './random.ts';
import type { Chance } from './random.ts';

/** One session of the month, with all that the record will say of it. Times are milliseconds since the epoch. */
export interface ToldSession {
  readonly id: string;
  readonly project: CastProject;
  readonly folder: string;
  readonly subject: string;
  readonly instruction: string;
  readonly surface: 'terminal' | 'ide' | 'api' | 'trigger';
  readonly model: (typeof models)[number];
  readonly server: string;
  readonly state: SessionState;
  readonly reason: EndReason;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly runningAt: number | null;
  readonly endedAt: number;
  readonly turns: number;
  /** Input, output, cache read, cache write. */
  readonly tokens: readonly [number, number, number, number];
  readonly diff: {
    readonly state: 'offered' | 'accepted' | 'rejected' | 'discarded';
    readonly files: number;
  } | null;
  readonly chance: Chance;
}

export const monthDays = 30;
const dayMs = 86_400_000;
const neverBegan: readonly EndReason[] = ['queue_deadline', 'repository_failed', 'start_failed'];

/**
 * A month of a company: weekdays busier than weekends, mornings and afternoons busier than nights, one bad day on which
 * a dependency broke, long tails in length and cost. The same every time for a given day.
 */
export function tellMonth(now: Date, count: number): ToldSession[] {
  const chance = createChance(20_261_129);
  const moments = Array.from({ length: count }, () => momentOf(chance, now)).sort(
    (left, right) => left - right,
  );
  return moments.map((createdAt, index) =>
    tellSession(createChance(index * 7919 + 17), createdAt, now.getTime()),
  );
}

const hourWeights = [1, 1, 1, 1, 1, 2, 4, 9, 16, 22, 24, 22, 14, 18, 23, 24, 21, 15, 8, 5, 3, 2, 2, 1].map(
  (weight, hour) => [hour, weight] as const,
);

function momentOf(chance: Chance, now: Date): number {
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  for (;;) {
    const day = midnight - chance.between(0, monthDays - 1) * dayMs;
    const weekday = new Date(day).getUTCDay();
    if ((weekday === 0 || weekday === 6) && chance.next() < 0.8) continue;
    const at = day + chance.pick(hourWeights) * 3_600_000 + chance.between(0, 3_599_999);
    // Everything has ended by now: live sessions are for the fleet itself.
    if (at < now.getTime() - 2 * 3_600_000) return at;
  }
}

function tellSession(chance: Chance, createdAt: number, now: number): ToldSession {
  const project = chance.pick(projects.map((one) => [one, one.weight] as const));
  const folder = chance.one(project.folders);
  const subject = chance.pick(people);
  const reason = chance.pick(ends);
  const model = chance.pick(models.map((one) => [one, one.weight] as const));
  const began = !neverBegan.includes(reason);
  const startedAt = reason === 'queue_deadline' ? null : createdAt + Math.round(chance.around(180, 1.1));
  const runningAt = startedAt !== null && began ? startedAt + Math.round(chance.around(850, 0.5)) : null;
  const turns = runningAt === null ? 0 : Math.max(1, Math.round(chance.around(14, 0.7)));
  const worked = runningAt === null ? 2_000 : Math.round(turns * chance.around(17_000, 0.4));
  const endedAt = Math.min((runningAt ?? startedAt ?? createdAt) + worked, now - 60_000);
  return {
    id: createNewId(
      () => createdAt,
      (size) => Uint8Array.from({ length: size }, () => chance.between(0, 255)),
    )('session'),
    project,
    folder,
    subject,
    instruction: chance.one(instructions).replace('{folder}', folder),
    surface: subject.startsWith('service:')
      ? 'trigger'
      : chance.pick([
          ['terminal', 11],
          ['ide', 5],
          ['api', 2],
        ]),
    model,
    server: chance.pick([
      ['agent-server-1', 1],
      ['agent-server-2', 1],
    ]),
    state: sessionEnds[reason].state,
    reason,
    createdAt,
    startedAt,
    runningAt,
    endedAt,
    turns,
    tokens: tokensOf(chance, turns),
    diff: tellDiff(chance, reason),
    chance,
  };
}

function tokensOf(chance: Chance, turns: number): [number, number, number, number] {
  const context = 3_000 + turns * chance.between(400, 1_100);
  return [
    Math.round(turns * chance.around(320, 0.4)),
    Math.round(turns * chance.around(420, 0.5)),
    Math.round((context * turns) / 2),
    Math.round(context),
  ];
}

function tellDiff(chance: Chance, reason: EndReason): ToldSession['diff'] {
  if (sessionEnds[reason].diff !== 'yes') return null;
  if (reason !== 'finished') return { state: 'rejected', files: chance.between(1, 3) };
  const state = chance.pick([
    ['accepted', 68],
    ['rejected', 17],
    ['offered', 15],
  ] as const);
  return { state, files: Math.max(1, Math.round(chance.around(2.2, 0.7))) };
}
