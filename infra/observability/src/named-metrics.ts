import { metricCatalogue } from '@lemniscate/shared/telemetry/metric-catalogue.ts';

/** The metrics that a text names, histograms without their suffixes. */
export function namedMetrics(text: string): ReadonlySet<string> {
  const names = text.match(/\b(lemniscate_[a-z0-9_]+|process_[a-z0-9_]+)\b/g) ?? [];
  return new Set(
    names.map((name) => {
      const family = name.replace(/_(bucket|sum|count)$/, '');
      return !(name in metricCatalogue) && family in metricCatalogue ? family : name;
    }),
  );
}
