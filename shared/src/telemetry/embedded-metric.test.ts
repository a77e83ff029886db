import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PoolView } from '../api/pool.ts';
import { wantedSlotsMetric } from './embedded-metric.ts';

const pool: PoolView = {
  pool: 'gpu',
  servers: 4,
  slots: 16,
  held: 10,
  version: 0,
  warm: 2,
  warmMisses: 0,
  waiting: 8,
  queueAgeSeconds: 3,
  startsPerSecond: 0.5,
  packing: false,
  wantedSlots: 22,
  wantedServers: 6,
  action: 'out',
  drain: [],
};

test('the line says the metric, its dimensions and its value as the format has them', () => {
  assert.deepEqual(wantedSlotsMetric('acme', pool, 1_796_000_000_000), {
    _aws: {
      Timestamp: 1_796_000_000_000,
      CloudWatchMetrics: [
        {
          Namespace: 'Lemniscate',
          Dimensions: [['Fleet', 'Pool']],
          Metrics: [{ Name: 'WantedSlotsPerServer', Unit: 'Count' }],
        },
      ],
    },
    Fleet: 'acme',
    Pool: 'gpu',
    WantedSlotsPerServer: 5.5,
  });
});

test('a pool without servers wants all of it', () => {
  assert.equal(wantedSlotsMetric('acme', { ...pool, servers: 0 }, 0)['WantedSlotsPerServer'], 22);
});
