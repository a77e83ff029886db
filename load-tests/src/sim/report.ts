import { drawPlot } from './plot.ts';
import type { DayPlan, Tenant } from './day.ts';
import type { SeenDay } from './simulate.ts';
import { coresOf, most, parts, sessionProfile, sumOf, unitCosts } from './unit-costs.ts';
import type { Load, Part } from './unit-costs.ts';

/** Files of the page, by their names below `docs/operations`. */
export type ReportFiles = Readonly<Record<string, string>>;

const sizeClasses = ['largest', 'large', 'middle', 'small'] as const satisfies readonly Tenant['sizeClass'][];

/** The page and its plots, made of one simulated day. */
export function writeReport(plan: DayPlan, day: SeenDay): ReportFiles {
  return {
    'capacity.md': page(plan, day),
    'capacity/tenants.md': tenantsPage(plan, day),
    'capacity/day.svg': dayPlot(day),
    'capacity/waiting.svg': waitingPlot(day),
    'capacity/at-hand.svg': atHandPlot(day),
    'capacity/cores.svg': coresPlot(plan),
  };
}

function page(plan: DayPlan, day: SeenDay): string {
  const peak = day.minutes.reduce((one, other) => (other.started > one.started ? other : one));
  const busiest = day.minutes.reduce((one, other) => (other.waiting > one.waiting ? other : one));
  const mean = day.minutes.reduce((sum, { utilisation }) => sum + utilisation, 0) / day.minutes.length;
  const warmHits = day.minutes.reduce((sum, minute) => sum + minute.warmHits, 0) / day.started;
  const mirrorHits = day.minutes.reduce((sum, minute) => sum + minute.mirrorHits, 0) / day.started;
  const perSecond = peak.started / 60;
  const load: Load = { sessionsPerSecond: perSecond, servers: plan.servers, heartbeatSeconds: 2 };
  return `# Capacity

Written by \`npm run sim\` (seed ${plan.seed}); do not edit. A day in virtual time: the dispatcher's own admission
(\`shareTurns\`, bites of the same size, the same number of lanes a look) and the ledger's rule of placement
(\`shared/src/queue/slot-ledger.ts\`, held against the Lua script by a test), under a load that is made up.

${table(
  ['of the day', ''],
  [
    ['servers, slots', `${number(plan.servers)}, ${number(plan.servers * plan.capacity)}`],
    ['sessions opened, started, completed', [day.opened, day.started, day.completed].map(number).join(', ')],
    ['tenants', `${plan.tenants.length}; the largest has ${percent(plan.tenants[0]?.share ?? 0)} of all`],
    ['most sessions started in a minute', `${number(peak.started)} (${perSecond.toFixed(0)} a second)`],
    ['most that waited', `${number(busiest.waiting)}, at ${clock(busiest.minute)}`],
    ['slots in use, mean', percent(mean)],
    [
      'starts in a warm sandbox, on a server that had the repository',
      `${percent(warmHits)}, ${percent(mirrorHits)}`,
    ],
    [
      'sessions that lost their server',
      `${number(day.lost)} (one zone of ${plan.zones} for ${plan.zoneLoss.forSeconds / 60} minutes, given up after ${number(Math.round(day.noticedAfter ?? 0))} s)`,
    ],
    ['admissions', `${number(day.bites)}, ${(day.started / day.bites).toFixed(1)} sessions each`],
  ],
)}

![Use of the slots and what waits over the day](capacity/day.svg)

The zone is lost at ${clock(plan.zoneLoss.at / 60)}; at ${clock(plan.resume.at / 60)} ${number(plan.resume.sessions)} sessions that
waited for people go on at the same moment. Tenants with schedules open theirs at each full hour.

## Who waits how long

Seconds from the opening to the start. Turns are taken between tenants, so that the largest waits for itself; one with a
cap waits for its own sessions to end, however many slots are free. Each tenant by itself: [waiting by
tenant](capacity/tenants.md).

${table(['tenants', ...waitColumns], waitRows(plan, day))}

![Waiting over the day](capacity/waiting.svg)

![What starts found at hand](capacity/at-hand.svg)

## What saturates first

Processor time a thing costs, in milliseconds of one core. Orders, the rest of a session and chunks are measured; tool
calls, exchanges and heartbeats are reckoned by their statements (\`load-tests/src/sim/unit-costs.ts\`). An
ordinary session here has ${sessionProfile.toolCalls} tool calls and ${sessionProfile.exchanges} model exchanges of ${sessionProfile.chunksPerExchange} chunks.

${table(
  ['thing', ...parts],
  Object.entries(unitCosts).map(([thing, costs]) => [thing, ...parts.map((part) => String(costs[part]))]),
)}

At this day's peak (${perSecond.toFixed(0)} sessions a second, ${number(plan.servers)} servers, a heartbeat each two seconds) the parts are busy
with so many cores:

${table(
  ['part', 'orders', 'tool calls', 'model streams', 'heartbeats', 'together', 'so many are needed'],
  parts.map((part) => coreRow(part, load)),
)}

A dispatcher is one core and is planned to ${percent(most.dispatcher)}; Redis runs its scripts on one thread, to ${percent(most.redis)}; Postgres is one
machine of 32 cores, to 60 %.

![Cores that the parts need by sessions a day](capacity/cores.svg)

${table(
  ['part', 'one of it carries', 'beyond that'],
  parts.map((part) => [part, `${number(carried(part, plan))} sessions a day`, remedies[part]]),
)}

The plot and the last table take a peak of ${usualPeak} times the mean, with servers in proportion; this day's, with its herd, is
${(perSecond / (plan.sessions / plan.seconds)).toFixed(1)} times its mean. The gateway's part is the
dispatchers' largest: run it as processes of its own (see the roles in the [architecture](../ARCHITECTURE.md)) before adding
others. Heartbeats are the largest cost that grows with servers and not with sessions: at 10,000 servers, larger servers
cost less than more of them.
`;
}

const remedies: Readonly<Record<Part, string>> = {
  dispatcher: 'add dispatchers: they are active together and share nothing but the stores',
  postgres:
    'a larger machine; then output and events of sessions to a database of their own, which nothing joins with the queue',
  redis:
    'live streams to a Redis of their own first; then one Redis for each pool, whose ledgers know nothing of each other',
};

const waitColumns = ['sessions', 'p50', 'p95', 'p99', 'longest'];

function waitRows(plan: DayPlan, day: SeenDay): string[][] {
  const those = (of: (tenant: Tenant) => boolean): string[] =>
    waitsOf(plan.tenants.flatMap((tenant, index) => (of(tenant) ? [day.waits[index] ?? none] : [])));
  return [
    ...sizeClasses.map((size) => [
      size,
      ...those(({ sizeClass, maxConcurrent }) => sizeClass === size && maxConcurrent === null),
    ]),
    ...sizeClasses
      .filter((size) =>
        plan.tenants.some(({ sizeClass, maxConcurrent }) => sizeClass === size && maxConcurrent !== null),
      )
      .map((size) => [
        `${size}, with a cap`,
        ...those(({ sizeClass, maxConcurrent }) => sizeClass === size && maxConcurrent !== null),
      ]),
  ];
}

function tenantsPage(plan: DayPlan, day: SeenDay): string {
  return `# Waiting by tenant

Written by \`npm run sim\` (seed ${plan.seed}) beside the [page on capacity](../capacity.md); do not edit. Seconds from the opening to
the start; a cap is of sessions at the same time.

${table(
  ['tenant', 'size', 'weight', 'cap', ...waitColumns],
  plan.tenants.map(({ name, sizeClass, weight, maxConcurrent }, index) => [
    name,
    sizeClass,
    String(weight),
    maxConcurrent === null ? '–' : number(maxConcurrent),
    ...waitsOf([day.waits[index] ?? none]),
  ]),
)}
`;
}

const none = new Float32Array();

function waitsOf(waits: readonly Float32Array[]): string[] {
  const all = new Float32Array(waits.reduce((sum, list) => sum + list.length, 0));
  let at = 0;
  for (const list of waits) {
    all.set(list, at);
    at += list.length;
  }
  all.sort();
  const rank = (share: number): string =>
    seconds(all[Math.min(all.length - 1, Math.floor(share * all.length))] ?? 0);
  return [number(all.length), rank(0.5), rank(0.95), rank(0.99), rank(1)];
}

function coreRow(part: Part, load: Load): string[] {
  const cores = coresOf(part, load);
  const sum = sumOf(cores);
  return [
    part,
    ...['orders', 'tool calls', 'model streams', 'heartbeats'].map((what) =>
      cores[what as keyof typeof cores].toFixed(1),
    ),
    sum.toFixed(1),
    String(Math.ceil(sum / most[part])),
  ];
}

/** Of the quiet curve of a day over its mean, with some room. */
const usualPeak = 1.8;

/** Peak over mean, and servers for each session of a day, as in the plan. */
function loadOf(plan: DayPlan, sessionsPerDay: number): Load {
  return {
    sessionsPerSecond: (sessionsPerDay / plan.seconds) * usualPeak,
    servers: (plan.servers / plan.sessions) * sessionsPerDay,
    heartbeatSeconds: 2,
  };
}

/** Sessions a day that one of a part carries: costs are linear in them. */
function carried(part: Part, plan: DayPlan): number {
  return Math.floor((most[part] / sumOf(coresOf(part, loadOf(plan, 1_000_000)))) * 1_000_000);
}

function coresPlot(plan: DayPlan): string {
  const x = Array.from({ length: 41 }, (_, index) => 10 ** (4 + index / 10));
  return drawPlot({
    title: 'Cores that the parts are busy with at the peak',
    xLabel: 'sessions a day',
    yLabel: 'cores',
    logX: true,
    logY: true,
    curves: parts.map((part) => ({
      name: part,
      x,
      y: x.map((sessions) => sumOf(coresOf(part, loadOf(plan, sessions)))),
    })),
  });
}

const hours = Array.from({ length: 9 }, (_, index) => index * 3);

function dayPlot(day: SeenDay): string {
  const x = day.minutes.map(({ minute }) => minute / 60);
  const peak = Math.max(1, ...day.minutes.map(({ waiting }) => waiting));
  return drawPlot({
    title: `Slots in use, and what waits (of at most ${number(peak)})`,
    xLabel: 'hour',
    yLabel: 'share',
    xTicks: hours,
    curves: [
      { name: 'slots in use', x, y: day.minutes.map(({ utilisation }) => utilisation) },
      { name: 'waiting', x, y: day.minutes.map(({ waiting }) => waiting / peak) },
    ],
  });
}

function waitingPlot(day: SeenDay): string {
  const x = day.minutes.map(({ minute }) => minute / 60);
  return drawPlot({
    title: 'Sessions opened, started and waiting, each minute',
    xLabel: 'hour',
    yLabel: 'sessions',
    logY: true,
    xTicks: hours,
    curves: [
      { name: 'opened', x, y: day.minutes.map(({ opened }) => Math.max(1, opened)) },
      { name: 'started', x, y: day.minutes.map(({ started }) => Math.max(1, started)) },
      { name: 'waiting', x, y: day.minutes.map(({ waiting }) => Math.max(1, waiting)) },
    ],
  });
}

function atHandPlot(day: SeenDay): string {
  const some = day.minutes.filter(({ started }) => started > 0);
  const x = some.map(({ minute }) => minute / 60);
  return drawPlot({
    title: 'Share of the starts that found it at hand',
    xLabel: 'hour',
    yLabel: 'share',
    xTicks: hours,
    curves: [
      { name: 'warm sandbox', x, y: some.map(({ warmHits, started }) => warmHits / started) },
      { name: 'repository', x, y: some.map(({ mirrorHits, started }) => mirrorHits / started) },
    ],
  });
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((word, column) =>
    Math.max(3, word.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 3)).join(' | ')} |`;
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join(
    '\n',
  );
}

const number = (value: number): string => Math.round(value).toLocaleString('en-US');
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
const seconds = (value: number): string => (value < 10 ? value.toFixed(1) : value.toFixed(0));
const clock = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(Math.floor(minute % 60)).padStart(2, '0')}`;
