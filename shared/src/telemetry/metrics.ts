import { metricCatalogue } from './metric-catalogue.ts';
import type { MetricName } from './metric-catalogue.ts';

/** Labels are names out of our own tables and configuration; `metric-catalogue.ts` says which ones a metric has. */
export type MetricLabels = Readonly<Record<string, string>>;

/** A measurement that stands for its bucket, and the trace in which it was made. */
export interface Exemplar {
  readonly traceId: string;
  readonly value: number;
}

export interface MetricPoint {
  readonly labels: MetricLabels;
  readonly value: number;
}

export interface HistogramPoint {
  readonly labels: MetricLabels;
  /** How many fell into each bucket alone; the last one is beyond the highest bound. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly exemplars: readonly (Exemplar | null)[];
}

/** One metric with all its points, at one moment. */
export interface MetricFamily {
  readonly name: MetricName;
  readonly points: readonly MetricPoint[];
  readonly histograms?: readonly HistogramPoint[];
}

/** A number that only grows, by label; bounded, so that a label cannot eat the memory. */
export interface Counter {
  add(labels: MetricLabels, amount: number): void;
  family(): MetricFamily;
}

export interface Histogram {
  /** Has the series there before its first value, so that what reads growth sees that one. */
  begin(labels: MetricLabels): void;
  observe(labels: MetricLabels, value: number, traceId?: string | null): void;
  family(): MetricFamily;
}

/** Series of one metric of one process; what comes after is counted under `other`. */
const mostSeries = 1_000;

const keyOf = (labels: MetricLabels): string =>
  JSON.stringify(Object.entries(labels).toSorted(([left], [right]) => left.localeCompare(right)));
const otherLabels = (labels: MetricLabels): MetricLabels =>
  Object.fromEntries(Object.keys(labels).map((name) => [name, 'other']));

export function createCounter(name: MetricName): Counter {
  const series = new Map<string, { labels: MetricLabels; value: number }>();
  return {
    add: (labels, amount) => {
      const point = seriesOf(series, labels, (own) => ({ labels: own, value: 0 }));
      point.value += amount;
    },
    family: () => ({ name, points: [...series.values()].map((point) => ({ ...point })) }),
  };
}

/** Its bounds stand in the catalogue. */
export function createHistogram(name: MetricName): Histogram {
  const { bounds = [] } = metricCatalogue[name] as { readonly bounds?: readonly number[] };
  const series = new Map<
    string,
    { labels: MetricLabels; counts: number[]; sum: number; exemplars: (Exemplar | null)[] }
  >();
  const pointOf = (labels: MetricLabels) =>
    seriesOf(series, labels, (own) => ({
      labels: own,
      counts: Array.from({ length: bounds.length + 1 }, () => 0),
      sum: 0,
      exemplars: Array.from({ length: bounds.length + 1 }, () => null),
    }));
  return {
    begin: (labels) => void pointOf(labels),
    observe: (labels, value, traceId) => {
      const point = pointOf(labels);
      const found = bounds.findIndex((bound) => value <= bound);
      const place = found === -1 ? bounds.length : found;
      point.counts[place] = (point.counts[place] ?? 0) + 1;
      point.sum += value;
      if (traceId !== undefined && traceId !== null) point.exemplars[place] = { traceId, value };
    },
    family: () => ({
      name,
      points: [],
      histograms: [...series.values()].map((point) => ({
        ...point,
        counts: [...point.counts],
        exemplars: [...point.exemplars],
      })),
    }),
  };
}

function seriesOf<Point>(
  series: Map<string, Point>,
  labels: MetricLabels,
  create: (labels: MetricLabels) => Point,
): Point {
  const own = series.has(keyOf(labels)) || series.size < mostSeries ? labels : otherLabels(labels);
  const key = keyOf(own);
  const known = series.get(key);
  if (known !== undefined) return known;
  const made = create(own);
  series.set(key, made);
  return made;
}
