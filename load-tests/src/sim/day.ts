/** One organisation's part of the day. */
export interface Tenant {
  /** In the order of bytes, as lanes are. */
  readonly name: string;
  /** Share of all sessions that come one by one. */
  readonly share: number;
  readonly weight: number;
  readonly maxConcurrent: number | null;
  /** Opens sessions by schedule, all at the full hour. */
  readonly hourly: number;
  readonly sizeClass: 'largest' | 'large' | 'middle' | 'small';
}

/** What is simulated. Times are seconds of virtual time. */
export interface DayPlan {
  readonly seed: number;
  readonly seconds: number;
  readonly sessions: number;
  readonly servers: number;
  readonly capacity: number;
  readonly tenants: readonly Tenant[];
  readonly zones: number;
  /** One zone goes dark, and comes back. */
  readonly zoneLoss: { readonly at: number; readonly forSeconds: number };
  /** So many sessions that waited for people go on at the same moment. */
  readonly resume: { readonly at: number; readonly sessions: number };
  /** Work: Pareto with this median, cut. */
  readonly medianSeconds: number;
  readonly shape: number;
  readonly mostSeconds: number;
  /** A lost server is noticed after lease and grace. */
  readonly noticeSeconds: number;
  /** So long leases are held when more servers fall silent at once than a fault of theirs explains. */
  readonly holdSeconds: number;
  /** Work since the last checkpoint that is done again, at most. */
  readonly checkpointSeconds: number;
  readonly warmPerServer: number;
  readonly bootSeconds: number;
  readonly mirrorsPerServer: number;
  readonly repositoriesPerTenant: number;
}

/** @param concurrent sessions that run at the same time on the mean, of all tenants; sizes fall as 1/rank: the largest tenant has a fifth of everything, the last ones a few sessions an hour. */
export function tenantsOf(count: number, hourlySessions: number, concurrent: number): Tenant[] {
  const sum = Array.from({ length: count }, (_, rank) => 1 / (rank + 1)).reduce((all, one) => all + one, 0);
  return Array.from({ length: count }, (_, rank) => ({
    name: `t${String(rank).padStart(5, '0')}`,
    share: 1 / (rank + 1) / sum,
    weight: rank % 10 === 1 ? 4 : 1,
    // Caps a little above what the tenant has on the mean: at its own peak it waits for itself.
    maxConcurrent: rank % 25 === 24 ? Math.max(1, Math.ceil((1.4 * concurrent) / (rank + 1) / sum)) : null,
    // One in ten runs by schedule, and the second largest has most of it.
    hourly:
      rank === 1
        ? Math.round(hourlySessions / 2)
        : rank % 10 === 5
          ? Math.round((hourlySessions / 2) * (10 / count))
          : 0,
    sizeClass: sizeClassOf(rank, count),
  }));
}

function sizeClassOf(rank: number, count: number): Tenant['sizeClass'] {
  if (rank === 0) return 'largest';
  if (rank < count / 30) return 'large';
  return rank < count / 3 ? 'middle' : 'small';
}

/** The usual day: 10,000 servers, five million sessions. */
export function usualDay(change: Partial<Pick<DayPlan, 'seed' | 'sessions' | 'servers'>> = {}): DayPlan {
  const sessions = change.sessions ?? 5_000_000;
  const servers = change.servers ?? 10_000;
  return {
    seed: change.seed ?? 1,
    seconds: 86_400,
    sessions,
    servers,
    capacity: 4,
    tenants: tenantsOf(300, sessions / 400, (sessions / 86_400) * 400),
    zones: 3,
    zoneLoss: { at: 14 * 3_600, forSeconds: 20 * 60 },
    resume: { at: 17 * 3_600 + 900, sessions: Math.round(sessions / 50) },
    medianSeconds: 240,
    shape: 1.5,
    mostSeconds: 45 * 60,
    noticeSeconds: 20,
    holdSeconds: 60,
    checkpointSeconds: 300,
    warmPerServer: 1,
    bootSeconds: 2,
    mirrorsPerServer: 64,
    repositoriesPerTenant: 8,
  };
}

/** How much of the day's mean comes at a moment: quiet at night, most in the early afternoon. Its mean over a day is 1. */
export function loadAt(second: number): number {
  const hour = second / 3_600;
  return 1 - 0.55 * Math.cos(((hour - 2) / 24) * 2 * Math.PI);
}
