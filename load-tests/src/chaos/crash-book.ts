import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashPlan } from '@lemniscate/shared/crash-points.ts';

/** Parts of one kind share their crash points. */
export type PartKind = 'dispatcher' | 'server' | 'real' | 'exporter';

/** Crash points of one kind of parts. */
export interface CrashCount {
  readonly seen: readonly string[];
  /** Nobody has died at these. */
  readonly left: readonly string[];
  /** Deaths, also several at one point. */
  readonly deaths: number;
}

/** Which crash points there are, and at which of them something has died. */
export interface CrashBook {
  /** Where a part finds its plan. */
  planOf(part: string): string;
  /** Nobody dies before this. */
  begin(): void;
  /** A part's life ends at this point: for points that are passed once in a fleet's life, before the storm. */
  plan(part: string, point: string): void;
  /** Whether somebody of the kind has died at the point. */
  hasDied(kind: PartKind, point: string): boolean;
  /** Writes the plans anew: victims die at the first point that nobody has died at yet. */
  write(): void;
  /** Who dies at the first point that nobody has died at. */
  victims(): readonly string[];
  /** From now on nobody dies by himself. */
  end(): void;
  report(): Readonly<Record<PartKind, CrashCount>>;
}

export interface CrashBookOptions {
  readonly folder: string;
  readonly parts: readonly { readonly name: string; readonly kind: PartKind }[];
  readonly seed: number;
  /** Share of hits that are the end, for all but the victims. */
  readonly chance: number;
}

/** Writes of the plans, two a second, until another dispatcher is spared. */
const roundsOfTurn = 60;

/** So few points are shared out no more. */
const rareLeft = 8;

const kinds = ['dispatcher', 'server', 'real', 'exporter'] as const satisfies readonly PartKind[];

export function openCrashBook({ folder, parts, seed, chance }: CrashBookOptions): CrashBook {
  const logOf = (part: string): string => join(folder, `${part}.points`);
  const planOf = (part: string): string => join(folder, `${part}.plan`);
  // In one piece: who lives reads it again and again.
  const writePlan = (part: string, plan: CrashPlan): void => {
    writeFileSync(`${planOf(part)}.new`, JSON.stringify(plan));
    renameSync(`${planOf(part)}.new`, planOf(part));
  };
  /** A part's own, and the same in each run: when it is read must not change it. */
  const seedOf = (part: string): number =>
    seed + 1_000_003 * (1 + parts.findIndex(({ name }) => name === part));
  let ended = true;
  let round = 0;

  const read = (kind: PartKind): CrashCount => {
    const seen = new Set<string>();
    const crashed = new Set<string>();
    let deaths = 0;
    for (const { name } of parts.filter((part) => part.kind === kind)) {
      if (!existsSync(logOf(name))) continue;
      for (const line of readFileSync(logOf(name), 'utf8').split('\n')) {
        const [word, ...point] = line.split(' ');
        if (word === 'seen') seen.add(point.join(' '));
        if (word !== 'crashed') continue;
        crashed.add(point.join(' '));
        deaths += 1;
      }
    }
    const left = [...seen].filter((point) => !crashed.has(point));
    return { seen: [...seen].sort(), left: left.sort(), deaths };
  };
  const turn = (): number => Math.floor(round / roundsOfTurn);
  /** A fleet in which all die at once serves nobody: of the dispatchers one is spared, another one each turn. */
  const victimsOf = (kind: PartKind): readonly string[] => {
    const names = parts.filter((part) => part.kind === kind).map(({ name }) => name);
    return kind === 'dispatcher' && names.length > 1
      ? names.filter((_, index) => index !== turn() % names.length)
      : names.slice(0, 1);
  };
  const write = (): void => {
    round += 1;
    for (const kind of kinds) {
      const { left } = read(kind);
      const victims = victimsOf(kind);
      for (const { name } of parts.filter((part) => part.kind === kind)) {
        const place = victims.indexOf(name);
        // They share what is left, and each gets the others' share in turn: some points only the leader comes by.
        // The last few are rare, and whoever comes by them first dies.
        const share = left.filter(
          (_, at) => place !== -1 && (left.length <= rareLeft || (at + turn()) % victims.length === place),
        );
        const plan: CrashPlan = {
          todo: ended ? [] : share,
          chance: ended ? 0 : chance,
          seed: seedOf(name),
          log: logOf(name),
        };
        writePlan(name, plan);
      }
    }
  };
  return {
    planOf,
    plan: (part, point) => {
      const plan: CrashPlan = { todo: [point], chance: 0, seed: seedOf(part), log: logOf(part) };
      writePlan(part, plan);
    },
    hasDied: (kind, point) => {
      const { seen, left } = read(kind);
      return seen.includes(point) && !left.includes(point);
    },
    write,
    victims: () => kinds.flatMap((kind) => (read(kind).left.length === 0 ? [] : victimsOf(kind))),
    begin: () => {
      ended = false;
      write();
    },
    end: () => {
      ended = true;
      write();
    },
    report: () => ({
      dispatcher: read('dispatcher'),
      server: read('server'),
      real: read('real'),
      exporter: read('exporter'),
    }),
  };
}
