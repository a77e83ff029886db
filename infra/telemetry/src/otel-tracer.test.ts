import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { createOtelTracer } from './otel-tracer.ts';

const parent = `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`;
const linked = `00-${'2'.repeat(32)}-${'2'.repeat(16)}-01`;

test('a parent gives the trace, a link does not, and what is no context is left out', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const tracer = createOtelTracer(provider.getTracer('test'));
  const child = tracer.start({ name: 'child', kind: 'internal', parent, links: [linked, 'rubbish', 7] });
  child.fail('timeout');
  child.end();
  child.end();
  tracer.start({ name: 'root', kind: 'server', parent: null, links: [parent] }).end();
  const [first, second, third] = exporter.getFinishedSpans();
  assert.equal(third, undefined);
  assert.equal(first?.spanContext().traceId, '1'.repeat(32));
  assert.deepEqual(
    first?.links.map(({ context }) => context.traceId),
    ['2'.repeat(32)],
  );
  assert.equal(first?.attributes['error.type'], 'timeout');
  assert.equal(child.context.slice(3, 35), '1'.repeat(32));
  assert.notEqual(second?.spanContext().traceId, '1'.repeat(32));
});

test('a secret in an attribute is replaced by its kind, from the start and later, and again when it comes again', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const tracer = createOtelTracer(provider.getTracer('test'));
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  for (let round = 0; round < 2; round += 1) {
    const attributes = { branch: `fix/${secret}`, tool: 'run_command', count: 3 };
    const span = tracer.start({ name: 'one', kind: 'internal', parent: null, attributes });
    span.set({ server: secret, runtime: 'claude-code' });
    span.end();
  }
  for (const { attributes } of exporter.getFinishedSpans()) {
    assert.doesNotMatch(JSON.stringify(attributes), /ghp_/);
    assert.match(String(attributes['branch']), /^fix\/\[secret:/);
    const { tool, count, runtime } = attributes;
    assert.deepEqual({ tool, count, runtime }, { tool: 'run_command', count: 3, runtime: 'claude-code' });
  }
});

test('no service loads OpenTelemetry before it is asked for', () => {
  const root = join(import.meta.dirname, '../../..');
  const files = globSync(['services/*/src/**/*.ts', 'shared/src/**/*.ts'], { cwd: root });
  assert.ok(files.length > 500);
  const loads = (text: string): boolean =>
    /from '@opentelemetry\//.test(text) ||
    /^import (?!type ).*start-telemetry\.ts';$/m.test(
      text.replaceAll(/\s+/g, (space) => (space.includes('\n') ? '\n' : ' ')),
    );
  assert.ok(loads("import { startTelemetry } from '@lemniscate/telemetry/start-telemetry.ts';"));
  assert.deepEqual(
    files.filter((file) => loads(readFileSync(join(root, file), 'utf8'))),
    [],
  );
});
