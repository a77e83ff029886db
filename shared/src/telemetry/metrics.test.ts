import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCounter, createHistogram } from './metrics.ts';
import { metricsFormatOf, metricsText } from './metrics-text.ts';

const traceId = 'a'.repeat(32);

test('a histogram becomes cumulative buckets, with exemplars where the format has them', () => {
  const seconds = createHistogram('lemniscate_session_start_seconds');
  seconds.observe({ pool: 'default' }, 0.2, traceId);
  seconds.observe({ pool: 'default' }, 0.05);
  seconds.observe({ pool: 'default' }, 9_999);
  const text = metricsText([seconds.family()]);
  assert.match(text, /_bucket\{pool="default",le="0\.1"\} 1\n/);
  assert.match(text, /_bucket\{pool="default",le="0\.25"\} 2\n/);
  assert.match(text, /_bucket\{pool="default",le="\+Inf"\} 3\n/);
  assert.match(text, /_count\{pool="default"\} 3\n/);
  assert.doesNotMatch(text, /trace_id/);
  const open = metricsText([seconds.family()], 'openMetrics');
  assert.match(open, new RegExp(`le="0\\.25"\\} 2 # \\{trace_id="${traceId}"\\} 0\\.2\n`));
  assert.match(open, /# EOF\n$/);
});

test('a histogram that has begun is there at zero before its first value', () => {
  const seconds = createHistogram('lemniscate_session_start_seconds');
  seconds.begin({ pool: 'default' });
  const text = metricsText([seconds.family()]);
  assert.match(text, /_bucket\{pool="default",le="60"\} 0\n/);
  assert.match(text, /_count\{pool="default"\} 0\n/);
  seconds.observe({ pool: 'default' }, 90);
  seconds.begin({ pool: 'default' });
  assert.match(metricsText([seconds.family()]), /_count\{pool="default"\} 1\n/);
});

test('a hostile label cannot break out of its line, and a flood of labels is counted as one', () => {
  const counter = createCounter('lemniscate_attempts_lost_total');
  counter.add({ pool: 'a"} 1\nforged 2\\', how: 'lost' }, 1);
  const lines = metricsText([counter.family()]).split('\n');
  assert.equal(lines[2], String.raw`lemniscate_attempts_lost_total{pool="a\"} 1\nforged 2\\",how="lost"} 1`);
  for (let index = 0; index < 5_000; index += 1) counter.add({ pool: `p${index}`, how: 'lost' }, 1);
  const { points } = counter.family();
  assert.ok(points.length <= 1_001);
  assert.ok((points.find(({ labels }) => labels['pool'] === 'other')?.value ?? 0) > 3_900);
});

test('OpenMetrics is for who asks for it', () => {
  assert.equal(metricsFormatOf('application/openmetrics-text;version=1.0.0,text/plain;q=0.5'), 'openMetrics');
  assert.equal(metricsFormatOf('text/plain'), 'text');
  assert.equal(metricsFormatOf(undefined), 'text');
});
