import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestRecord } from '../../testing/traffic/record.ts';
import { costMetrics } from './cost-metrics.ts';

test('a model without a price is told however many others cost something', async () => {
  const record = await createTestRecord();
  try {
    await record.database.query(
      `INSERT INTO cost_days (day, project_id, agent, subject, runtime, provider, model, cost_centre, exchanges, unpriced,
         incomplete, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, slot_seconds, input_usd,
         output_usd, cache_read_usd, cache_write_usd, other_usd, compute_usd)
       SELECT (now() AT TIME ZONE 'UTC')::date, 'project-' || n, 'default', 'p', 'native', 'house', 'model-' || n, '', 3,
         CASE n WHEN 0 THEN 2 ELSE 0 END, 0, 9, 9, 0, 0, 0, n, 0, 0, 0, 0, 0
       FROM generate_series(0, 600) n`,
    );
    const families = await record.database.transaction(costMetrics);
    const { points = [] } = families.find(({ name }) => name === 'lemniscate_unpriced_exchanges_total') ?? {};
    assert.equal(points.length, 500);
    assert.deepEqual(
      points.filter(({ value }) => value > 0),
      [{ labels: { project: 'project-0', provider: 'house', model: 'model-0' }, value: 2 }],
    );
  } finally {
    await record.close();
  }
});
