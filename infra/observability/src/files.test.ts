import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { metricCatalogue } from '@lemniscate/shared/telemetry/metric-catalogue.ts';
import { generatedFiles } from './files.ts';
import { namedMetrics } from './named-metrics.ts';

const folder = join(import.meta.dirname, '..');
const runbooks = join(folder, '../../docs/operations/runbooks');

test('the files are those that the tables make; write-files.ts makes them anew', () => {
  for (const [path, text] of generatedFiles())
    assert.equal(readFileSync(join(folder, path), 'utf8'), text, path);
});

test('every metric of a dashboard or an alert is in the catalogue', () => {
  let named = 0;
  for (const [path, text] of generatedFiles())
    for (const name of namedMetrics(text)) {
      named += 1;
      assert.ok(name in metricCatalogue, `${path} names ${name}`);
    }
  assert.ok(named > 60, `only ${named} names were read`);
  assert.deepEqual([...namedMetrics('rate(lemniscate_nothing_total[5m])')], ['lemniscate_nothing_total']);
});

/** Labels that Prometheus itself gives, and a histogram's own. */
const given = ['job', 'instance', 'le', 'alertname'];

/** Labels that an expression selects or groups by and that none of its metrics has. */
function foreignLabels(expression: string): string[] {
  const labelsOf = (name: string): readonly string[] => [
    ...given,
    ...[...namedMetrics(name)].flatMap((metric) =>
      metric in metricCatalogue ? metricCatalogue[metric as keyof typeof metricCatalogue].labels : [],
    ),
  ];
  const selected = [...expression.matchAll(/\b((?:lemniscate|process)_[a-z0-9_]+)\{([^}]*)\}/g)].flatMap(
    ([, metric = '', selector = '']) =>
      [...selector.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)]
        .map(([, label = '']) => label)
        .filter((label) => !labelsOf(metric).includes(label)),
  );
  const grouped = [...expression.matchAll(/\b(?:by|on|without|ignoring) \(([^)]*)\)/g)].flatMap(
    ([, labels = '']) =>
      labels
        .split(',')
        .map((label) => label.trim())
        .filter((label) => label !== '' && !labelsOf(expression).includes(label)),
  );
  return [...selected, ...grouped];
}

test('every label that a dashboard or an alert selects or groups by is one of its metric', () => {
  let read = 0;
  for (const [path, text] of generatedFiles()) {
    const expressions = path.endsWith('.json')
      ? [...text.matchAll(/"expr": (".*"),/g)].map((match) => JSON.parse(match[1] ?? '""') as string)
      : [...text.matchAll(/^ *(?:- )?expr: (.*)$/gm)].map((match) => match[1] ?? '');
    for (const expression of expressions) {
      read += 1;
      assert.deepEqual(foreignLabels(expression), [], `${path}: ${expression}`);
    }
  }
  assert.ok(read > 60, `only ${read} expressions were read`);
  assert.deepEqual(foreignLabels('max by (state, pol) (lemniscate_sessions{stat="x",job="y"})'), [
    'stat',
    'pol',
  ]);
});

test('every alert has a runbook, and every runbook an alert', () => {
  const rules = generatedFiles().get('alerts/lemniscate.rules.yml') ?? '';
  const linked = new Set([...rules.matchAll(/runbooks\/([a-z-]+)\.md/g)].map((match) => match[1]));
  for (const name of linked) assert.ok(existsSync(join(runbooks, `${name}.md`)), `no runbook ${name}.md`);
  const there = globSync('*.md', { cwd: runbooks }).map((file) => file.replace(/\.md$/, ''));
  assert.deepEqual(
    there.filter((name) => !linked.has(name) && name !== 'README'),
    [],
  );
});
