import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const valueSchema = z.looseObject({
  stringValue: z.string().optional(),
  intValue: z.union([z.number(), z.string()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
});
const attributesSchema = z.array(z.object({ key: z.string(), value: valueSchema })).default([]);
const resourceSchema = z.looseObject({ attributes: attributesSchema });
const spanSchema = z.looseObject({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  attributes: attributesSchema,
  links: z.array(z.looseObject({ traceId: z.string(), spanId: z.string() })).default([]),
  status: z.looseObject({ code: z.number().optional() }).default({}),
});
const tracesSchema = z.object({
  resourceSpans: z.array(
    z.looseObject({
      resource: resourceSchema,
      scopeSpans: z.array(z.looseObject({ spans: z.array(spanSchema) })),
    }),
  ),
});
const metricsSchema = z.object({
  resourceMetrics: z.array(
    z.looseObject({
      resource: resourceSchema,
      scopeMetrics: z.array(z.looseObject({ metrics: z.array(z.looseObject({ name: z.string() })) })),
    }),
  ),
});

/** A span as it arrived. */
export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly failed: boolean;
}

/** A collector that keeps what it is sent, over OTLP's JSON. */
export interface OtlpReceiver {
  /** Variables of a service that sends here. */
  readonly environment: Readonly<Record<string, string>>;
  readonly spans: ReceivedSpan[];
  /** Names of metrics by service. */
  readonly metrics: Map<string, Set<string>>;
  /** Bodies as they came. */
  readonly bodies: string[];
  close(): void;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const metrics = new Map<string, Set<string>>();
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.once('end', () => {
      bodies.push(text);
      if (request.url === '/v1/traces') spans.push(...readSpans(text));
      if (request.url === '/v1/metrics') readMetrics(text, metrics);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '500',
    },
    spans,
    metrics,
    bodies,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

type Attributes = z.infer<typeof attributesSchema>;

const valueOf = ({ stringValue, intValue, doubleValue, boolValue }: Attributes[number]['value']) =>
  stringValue ?? (intValue === undefined ? undefined : Number(intValue)) ?? doubleValue ?? boolValue;

const plain = (attributes: Attributes): ReceivedSpan['attributes'] =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));

function readSpans(text: string): ReceivedSpan[] {
  return tracesSchema.parse(JSON.parse(text)).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        service: String(plain(resource.attributes)['service.name']),
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? null,
        name: span.name,
        attributes: plain(span.attributes),
        links: span.links,
        failed: span.status.code === 2,
      })),
    ),
  );
}

function readMetrics(text: string, metrics: Map<string, Set<string>>): void {
  for (const { resource, scopeMetrics } of metricsSchema.parse(JSON.parse(text)).resourceMetrics) {
    const service = String(plain(resource.attributes)['service.name']);
    const names = metrics.get(service) ?? new Set<string>();
    for (const scope of scopeMetrics) for (const { name } of scope.metrics) names.add(name);
    metrics.set(service, names);
  }
}
