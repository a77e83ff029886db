import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { publishScaling } from './publish-scaling.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

test('what waits in a pool is what its autoscaling group is told; without a name nothing is', async () => {
  await record.database.query(
    `INSERT INTO queue_book (placement_class, lanes, starts_per_second, looked_at)
     VALUES ('gpu', '[{"name": "p", "waiting": 10, "weight": 1}]', 1, now())`,
  );
  const told: Readonly<Record<string, unknown>>[] = [];
  const publish = (cloudWatchFleet: string | null) =>
    publishScaling({
      database: record.database,
      clock: systemClock,
      cloudWatchFleet,
      publishMetric: (metric) => void told.push(metric),
    });
  await publish(null);
  assert.deepEqual(told, []);
  await publish('acme');
  const gpu = told.find(({ Pool: pool }) => pool === 'gpu');
  assert.equal(gpu?.['Fleet'], 'acme');
  // Ten that wait, and room for the next ones.
  assert.ok(Number(gpu?.['WantedSlotsPerServer']) >= 10, JSON.stringify(gpu));
});
