import { trace } from '@opentelemetry/api';
import type { HrTime } from '@opentelemetry/api';
import { OTLPMetricExporter as JsonMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtoMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import type { Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import { metricData } from './metric-data.ts';
import { createOtelTracer } from './otel-tracer.ts';

/** Telemetry that is on. */
export interface Telemetry {
  readonly tracer: Tracer;
  /** Sends what is left, within its bound. */
  stop(): Promise<void>;
}

export interface TelemetryOptions {
  readonly service: 'dispatcher' | 'agent-server' | 'audit-exporter';
  /** Name in the service's certificate, or another that tells instances apart. */
  readonly instance: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The service's metrics at this moment: the same that `/metrics` shows. */
  readonly collect: () => Promise<readonly MetricFamily[]>;
  /** Told when the last spans and metrics could not be sent at the end. */
  readonly onLost: (error: unknown) => void;
}

const exportTimeoutMs = 10_000;
const stopMs = 3_000;

/**
 * Starts OpenTelemetry's SDK. Where to, how often and how much are its own variables (`OTEL_EXPORTER_OTLP_ENDPOINT`,
 * `…_PROTOCOL` http/protobuf or http/json, `…_HEADERS`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_…`,
 * `OTEL_METRIC_EXPORT_INTERVAL`). Nothing is instrumented by itself: its libraries write addresses, statements and
 * command lines on spans, and all of those can hold what must not leave.
 */
export function startTelemetry({
  service,
  instance,
  environment,
  collect,
  onLost,
}: TelemetryOptions): Telemetry {
  const json = environment['OTEL_EXPORTER_OTLP_PROTOCOL'] === 'http/json';
  const start = hrTime(Date.now());
  const resource = resourceFromAttributes({
    'service.name': `lemniscate-${service}`,
    'service.namespace': 'lemniscate',
    'service.instance.id': instance,
  });
  const sdk = new NodeSDK({
    autoDetectResources: false,
    resource,
    instrumentations: [],
    logRecordProcessors: [],
    metricReaders: [
      new PeriodicExportingMetricReader({
        exporter: json ? new JsonMetricExporter() : new ProtoMetricExporter(),
        exportIntervalMillis: intervalOf(environment),
        exportTimeoutMillis: Math.min(exportTimeoutMs, intervalOf(environment)),
        metricProducers: [
          {
            collect: async () => {
              const now = hrTime(Date.now());
              const metrics = (await collect()).map((family) => metricData(family, start, now));
              return {
                resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'lemniscate' }, metrics }] },
                errors: [],
              };
            },
          },
        ],
      }),
    ],
  });
  sdk.start();
  return {
    tracer: createOtelTracer(trace.getTracer('lemniscate')),
    stop: async () => {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, stopMs);
      // A collector that is away must not hold a service's end.
      await Promise.race([sdk.shutdown().catch(onLost), late]);
      clearTimeout(timer);
    },
  };
}

function intervalOf(environment: TelemetryOptions['environment']): number {
  const given = Number(environment['OTEL_METRIC_EXPORT_INTERVAL']);
  return Number.isInteger(given) && given >= 100 ? given : 60_000;
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}
