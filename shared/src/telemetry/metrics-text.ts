import { metricDefinition } from './metric-catalogue.ts';
import type { Exemplar, HistogramPoint, MetricFamily, MetricLabels } from './metrics.ts';

/** What a scraper can read: `text/plain; version=0.0.4`, or OpenMetrics, which has exemplars. */
export const metricsFormats = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openMetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
} as const;
export type MetricsFormat = keyof typeof metricsFormats;

/** The format that an `accept` header asks for. */
export function metricsFormatOf(accept: string | undefined): MetricsFormat {
  return accept?.includes('application/openmetrics-text') === true ? 'openMetrics' : 'text';
}

/** Writes metrics for a scraper; those that have no value yet are announced all the same. */
export function metricsText(families: readonly MetricFamily[], format: MetricsFormat = 'text'): string {
  const lines = families.flatMap((family) => linesOf(family, format));
  if (format === 'openMetrics') lines.push('# EOF');
  return `${lines.join('\n')}\n`;
}

function linesOf({ name, points, histograms = [] }: MetricFamily, format: MetricsFormat): string[] {
  const { type, help, bounds = [] } = metricDefinition(name);
  // OpenMetrics names a counter's family without the suffix that its samples have.
  const family = format === 'openMetrics' && type === 'counter' ? name.replace(/_total$/, '') : name;
  return [
    `# HELP ${family} ${help}`,
    `# TYPE ${family} ${type}`,
    ...points.map(({ labels, value }) => `${name}${labelText(labels)} ${value}`),
    ...histograms.flatMap((point) => histogramLines(name, bounds, point, format)),
  ];
}

function histogramLines(
  name: string,
  bounds: readonly number[],
  { labels, counts, sum, exemplars }: HistogramPoint,
  format: MetricsFormat,
): string[] {
  let total = 0;
  const buckets = counts.map((count, place) => {
    total += count;
    const le = bounds[place] === undefined ? '+Inf' : String(bounds[place]);
    const exemplar = format === 'openMetrics' ? exemplarText(exemplars[place]) : '';
    return `${name}_bucket${labelText({ ...labels, le })} ${total}${exemplar}`;
  });
  return [...buckets, `${name}_sum${labelText(labels)} ${sum}`, `${name}_count${labelText(labels)} ${total}`];
}

function exemplarText(exemplar: Exemplar | null | undefined): string {
  return exemplar === null || exemplar === undefined
    ? ''
    : ` # {trace_id="${exemplar.traceId}"} ${exemplar.value}`;
}

function labelText(labels: MetricLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
