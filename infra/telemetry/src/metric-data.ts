import { ValueType } from '@opentelemetry/api';
import type { HrTime } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import { metricDefinition } from '@lemniscate/shared/telemetry/metric-catalogue.ts';
import type { HistogramPoint, MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';

/**
 * One of our metrics as OpenTelemetry has them, cumulative since `start`. Exemplars are left out: the SDK's own types
 * have no place for them (sdk-metrics 3.1), so `/metrics` alone has them.
 */
export function metricData(family: MetricFamily, startTime: HrTime, endTime: HrTime): MetricData {
  const { type, help, bounds = [] } = metricDefinition(family.name);
  const common = {
    descriptor: { name: family.name, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const points = family.points.map(({ labels, value }) => ({
    startTime,
    endTime,
    attributes: { ...labels },
    value,
  }));
  switch (type) {
    case 'gauge':
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: points };
    case 'counter':
      return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: points };
    case 'histogram':
      return {
        ...common,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: (family.histograms ?? []).map((point) => ({
          startTime,
          endTime,
          attributes: { ...point.labels },
          value: histogramValue(point, bounds),
        })),
      };
    default:
      return type satisfies never;
  }
}

function histogramValue({ counts, sum }: HistogramPoint, bounds: readonly number[]) {
  return {
    buckets: { boundaries: [...bounds], counts: [...counts] },
    sum,
    count: counts.reduce((total, count) => total + count, 0),
  };
}
