import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { alerts as known } from './alerts.ts';
import { generatedFiles } from './files.ts';
import { serviceLevels } from './service-levels.ts';

const alerts = join(import.meta.dirname, '../alerts');
const promtool = '/usr/bin/promtool';
const noPromtool = existsSync(promtool) ? false : 'promtool: the package prometheus is not installed';
const run = (...args: string[]): string =>
  execFileSync(promtool, args, { cwd: alerts, encoding: 'utf8', stdio: 'pipe' });

test(
  'Prometheus takes the rules, and the alerts fire and keep silent as their tests say',
  { skip: noPromtool },
  () => {
    assert.match(run('check', 'rules', 'lemniscate.rules.yml'), /SUCCESS: \d+ rules found/);
    assert.match(run('test', 'rules', 'lemniscate.test.yml'), /SUCCESS/);
  },
);

test('every alert, and the fastest burn of each service level, is seen to fire and to keep silent', () => {
  const text = readFileSync(join(alerts, 'lemniscate.test.yml'), 'utf8');
  const cases = text.split(/^ *- eval_time: /m).slice(1);
  const fires = (name: string): boolean =>
    cases.some((one) => new RegExp(`alertname: ${name}\\s+exp_alerts:\\s+- exp_labels`).test(one));
  const keepsSilent = (name: string): boolean =>
    cases.some((one) => new RegExp(`alertname: ${name}\\s+exp_alerts: \\[\\]`).test(one));
  const names = [
    ...known.map(({ name }) => name),
    ...serviceLevels.map(({ name }) => `LemniscateBudgetBurn_${name}_1h`),
  ];
  assert.deepEqual(
    names.filter((name) => !fires(name) || !keepsSilent(name)),
    [],
  );
  assert.ok(!fires('LemniscateNothing') && !keepsSilent('LemniscateNothing'));
});

test(
  'Prometheus takes the configuration, whose jobs are those that alerts and dashboards look for',
  { skip: noPromtool },
  () => {
    const file = join(alerts, '../prometheus.yml');
    assert.match(run('check', 'config', '--syntax-only', file), /SUCCESS/);
    const jobs = [...readFileSync(file, 'utf8').matchAll(/job_name: (\S+)/g)].map(([, name = '']) => name);
    assert.equal(jobs.length, 3);
    const looked = [...generatedFiles().values()].flatMap((text) =>
      [...text.matchAll(/job=~\\?"([^"\\]+)/g)].map(([, pattern = '']) => new RegExp(`^(?:${pattern})$`)),
    );
    assert.ok(looked.length >= 3);
    for (const pattern of looked) for (const job of jobs) assert.match(job, pattern);
  },
);

test('every expression of a dashboard is one that Prometheus can read', { skip: noPromtool }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-rules-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const check = (expressions: readonly string[]): string => {
    const rules = expressions.map((expr, index) => ({ record: `x:${index}`, expr }));
    writeFileSync(join(folder, 'rules.yml'), JSON.stringify({ groups: [{ name: 'x', rules }] }));
    return run('check', 'rules', join(folder, 'rules.yml'));
  };
  const expressions = [...generatedFiles()].flatMap(([path, text]) =>
    path.endsWith('.json')
      ? [...text.matchAll(/"expr": (".*"),/g)].map((match) => JSON.parse(match[1] ?? '') as string)
      : [],
  );
  assert.ok(expressions.length > 30);
  check(expressions);
  assert.throws(() => check(['sum by ((']), 'promtool takes everything');
});
