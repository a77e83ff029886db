import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { wantedSlotsMetric } from '@lemniscate/shared/telemetry/embedded-metric.ts';
import { z } from 'zod';
import { declaredIn, readConfiguration } from './configuration.ts';

// A pool's autoscaling group, its instances' first script and the fleet speak to each other by names alone.

const root = join(import.meta.dirname, '..');
const declared = declaredIn(await readConfiguration());
const start = readFileSync(join(root, 'modules/agents/start.sh.tftpl'), 'utf8');
const only = <Shape extends z.ZodType>(type: string, shape: Shape): z.infer<Shape> => {
  const found = declared.filter((each) => each.type === type);
  assert.equal(found.length, 1, type);
  return shape.parse(found[0]?.body);
};

test('an instance drains before it is terminated, and has the time for it', () => {
  const {
    initial_lifecycle_hook: [hook],
  } = only(
    'aws_autoscaling_group',
    z.looseObject({
      initial_lifecycle_hook: z.tuple([
        z.looseObject({ name: z.string(), lifecycle_transition: z.string(), heartbeat_timeout: z.number() }),
      ]),
    }),
  );
  assert.equal(hook.lifecycle_transition, 'autoscaling:EC2_INSTANCE_TERMINATING');
  const watch = /<<'WATCH'\n([^]*?)\nWATCH/.exec(start)?.[1] ?? assert.fail();
  assert.match(
    watch,
    new RegExp(
      `systemctl stop lemniscate-agent-server\\n.*complete-lifecycle-action[^]*--lifecycle-hook-name ${hook.name} `,
    ),
  );
  const stopSeconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(start)?.[1]);
  assert.ok(stopSeconds > 45 * 60, 'a session has its 45 minutes');
  assert.ok(hook.heartbeat_timeout >= stopSeconds);
});

test('the group follows the figure that a dispatcher prints', () => {
  const {
    target_tracking_configuration: [
      {
        customized_metric_specification: [followed],
      },
    ],
  } = only(
    'aws_autoscaling_policy',
    z.looseObject({
      target_tracking_configuration: z.tuple([
        z.looseObject({
          customized_metric_specification: z.tuple([
            z.looseObject({
              namespace: z.string(),
              metric_name: z.string(),
              metric_dimension: z.array(z.looseObject({ name: z.string() })),
            }),
          ]),
        }),
      ]),
    }),
  );
  const pool = { pool: 'default', wantedSlots: 3, servers: 1 } as Parameters<typeof wantedSlotsMetric>[1];
  const {
    _aws: {
      CloudWatchMetrics: [printed],
    },
  } = z
    .looseObject({
      _aws: z.looseObject({
        CloudWatchMetrics: z.tuple([
          z.looseObject({
            Namespace: z.string(),
            Dimensions: z.array(z.array(z.string())),
            Metrics: z.array(z.looseObject({ Name: z.string() })),
          }),
        ]),
      }),
    })
    .parse(wantedSlotsMetric('fleet', pool, 0));
  assert.equal(followed.namespace, printed.Namespace);
  assert.deepEqual(
    [followed.metric_name],
    printed.Metrics.map(({ Name }) => Name),
  );
  assert.deepEqual([followed.metric_dimension.map(({ name }) => name)], printed.Dimensions);
});

test('the first script of an instance is one that a shell reads', () => {
  const rendered = start.replaceAll(/(?<!\$)\$\{\w+\}/g, 'x').replaceAll('$${', '${');
  const read = (script: string) => spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' });
  assert.equal(read(rendered).stderr, '');
  assert.equal(read(/<<'WATCH'\n([^]*?)\nWATCH/.exec(rendered)?.[1] ?? assert.fail()).stderr, '');
  assert.notEqual(read(`${rendered}\nif true`).stderr, '', 'the check can fail');
});

test('the page of costs has the pools of the examples, and its sums are right', () => {
  const page = readFileSync(join(root, '../../docs/operations/aws-costs.md'), 'utf8');
  const rows = [...page.matchAll(/^\|[^|]+\| (\S+) +\| ([\d.]+) +\| (\d+) +\| ([\d.]+) +\| ([\d.]+) +\|$/gm)];
  assert.equal(rows.length, 3);
  const examples = ['small-team', 'five-thousand'].map((name) =>
    readFileSync(join(root, 'examples', name, 'main.tf'), 'utf8'),
  );
  const pools = examples.flatMap((text) =>
    [...text.matchAll(/instance_type = "([^"]+)".*slots = (\d+)/g)].map(([, type, slots]) => [type, slots]),
  );
  assert.deepEqual(
    rows.map(([, type, , slots]) => [type, slots]),
    pools,
  );
  for (const [, type, price, slots, full, mostly] of rows) {
    const cost = (Number(price) / Number(slots)) * 1_000;
    assert.equal(full, cost.toFixed(2), type);
    assert.equal(mostly, (cost / 0.7).toFixed(2), type);
  }
});
