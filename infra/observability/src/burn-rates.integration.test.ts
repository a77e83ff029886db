import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { burnRates, serviceLevels } from './service-levels.ts';

// Every burn rate of every service level over synthetic days: Prometheus itself evaluates the rules.

const promtool = '/usr/bin/promtool';
const noPromtool = existsSync(promtool) ? false : 'promtool: the package prometheus is not installed';
const rules = join(import.meta.dirname, '../alerts/lemniscate.rules.yml');

/** So many minutes in which this share of all events goes wrong. */
type Stretch = readonly [minutes: number, badShare: number];

/** Series of a service level's metrics by how much of an event counts into them: a good one, a bad one. */
const seriesOf: Readonly<Record<string, Readonly<Record<string, readonly [good: number, bad: number]>>>> = {
  api: {
    'lemniscate_http_requests_total{listener="public",status="2xx",instance="a"}': [1, 0],
    'lemniscate_http_requests_total{listener="public",status="5xx",instance="a"}': [0, 1],
  },
  start: {
    'lemniscate_session_start_seconds_count{pool="default",instance="a"}': [1, 1],
    'lemniscate_session_start_seconds_bucket{pool="default",le="60",instance="a"}': [1, 0],
  },
  sessions: {
    'lemniscate_sessions_ended_total{pool="default",reason="finished",instance="a"}': [1, 0],
    'lemniscate_sessions_ended_total{pool="default",reason="server_lost",instance="a"}': [0, 1],
  },
};
const eventsPerMinute = 1000;

/** How close samples and evaluations lie, in minutes: days at the pace of hours would take Prometheus minutes. */
const paceOf = (window: string) =>
  window.endsWith('d') ? { sample: 5, evaluation: 30 } : { sample: 1, evaluation: 5 };

/** A counter's samples in promtool's notation. */
function samples(
  stretches: readonly Stretch[],
  every: number,
  [good, bad]: readonly [number, number],
): string {
  let value = 0;
  return stretches
    .map(([minutes, share]) => {
      const step = every * eventsPerMinute * ((1 - share) * good + share * bad);
      const count = minutes / every;
      const text = `${value + step}+${step}x${count - 1}`;
      value += step * count;
      return text;
    })
    .join(' ');
}

const minutesIn = (window: string): number =>
  Number.parseInt(window, 10) * { m: 1, h: 60, d: 1440 }[window.at(-1) as 'm' | 'h' | 'd'];

/** What happens to one burn rate, and whether its alert is up at the end. */
function courses(
  threshold: number,
  rate: (typeof burnRates)[number],
): readonly [readonly Stretch[], boolean][] {
  const [long, short, lasting] = [rate.long, rate.short, rate.for].map(minutesIn) as [number, number, number];
  const settled = lasting + 2 * paceOf(rate.long).evaluation + 5 - (lasting % 5);
  return [
    // goes on just above the threshold, or just below it
    [[[long + settled, threshold * 1.1]], true],
    [[[long + settled, threshold * 0.9]], false],
    // was bad, and is over since the short window
    [
      [
        [long, threshold * 3],
        [short + settled, 0],
      ],
      false,
    ],
    // has begun within the short window alone
    [
      [
        [long, 0],
        [short + settled, threshold * 1.1],
      ],
      false,
    ],
  ];
}

const cases = serviceLevels.flatMap(({ name, objective }) =>
  burnRates.flatMap((rate) =>
    courses(rate.factor * (1 - objective), rate).map(([stretches, fires]) => ({
      alert: `LemniscateBudgetBurn_${name}_${rate.long}`,
      severity: rate.severity,
      pace: paceOf(rate.long),
      slo: name,
      fires,
      minutes: stretches.reduce((sum, [minutes]) => sum + minutes, 0),
      series: Object.entries(seriesOf[name] ?? assert.fail(name)).map(([series, shares]) => ({
        series,
        values: samples(stretches, paceOf(rate.long).sample, shares),
      })),
    })),
  ),
);

/** A rule test for promtool. One that fires is asked for by what is up, as text has the measured share in it. */
const ruleTest = ({
  alert,
  severity,
  slo,
  fires,
  minutes,
  pace,
  series,
}: (typeof cases)[number]): unknown => ({
  interval: `${pace.sample}m`,
  input_series: series,
  promql_expr_test: [
    {
      expr: `count by (alertname, severity, slo) (ALERTS{alertname="${alert}",alertstate="firing"})`,
      eval_time: `${minutes - pace.sample}m`,
      exp_samples: fires
        ? [{ labels: `{alertname="${alert}", severity="${severity}", slo="${slo}"}`, value: 1 }]
        : [],
    },
  ],
});

test(
  'every burn rate alerts while it goes on, and neither below its threshold nor after it nor at once',
  { skip: noPromtool },
  (t) => {
    assert.equal(cases.length, serviceLevels.length * burnRates.length * 4);
    const folder = mkdtempSync(join(tmpdir(), 'lemniscate-burn-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'test.yml');
    const check = (tests: readonly (typeof cases)[number][], evaluation: number) => {
      const content = {
        rule_files: [rules],
        evaluation_interval: `${evaluation}m`,
        // what burn rates are made of comes before them
        group_eval_order: ['lemniscate', 'lemniscate-service-levels', 'lemniscate-burn-rates'],
        tests: tests.map(ruleTest),
      };
      writeFileSync(file, JSON.stringify(content));
      return spawnSync(promtool, ['test', 'rules', file], { encoding: 'utf8', timeout: 300_000 });
    };
    for (const [evaluation, some] of Map.groupBy(cases, ({ pace }) => pace.evaluation)) {
      const { status, stdout, stderr } = check(some, evaluation);
      assert.equal(status, 0, `${stdout}${stderr}`.slice(0, 3_000));
      // the check can fail either way
      for (const fires of [true, false]) {
        const one = some.find((each) => each.fires === fires) ?? assert.fail();
        assert.notEqual(check([{ ...one, fires: !fires }], evaluation).status, 0, one.alert);
      }
    }
  },
);
