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
