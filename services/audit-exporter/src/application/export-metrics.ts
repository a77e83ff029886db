import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import type { ExportStatus, SinkStatus } from './export-status.ts';

/** How far the log has got, for a scraper. Only the exporter that leads knows of sinks. */
export function exportMetrics({
  role,
  pending,
  size,
  sealFailure,
  sinks,
}: ExportStatus): readonly MetricFamily[] {
  const one = (name: MetricFamily['name'], value: number): MetricFamily => ({
    name,
    points: [{ labels: {}, value }],
  });
  const each = (name: MetricFamily['name'], of: (sink: SinkStatus) => number): MetricFamily => ({
    name,
    points: sinks.map((sink) => ({ labels: { sink: sink.name }, value: of(sink) })),
  });
  return [
    one('lemniscate_export_leading', role === 'leading' ? 1 : 0),
    one('lemniscate_export_pending_entries', pending),
    one('lemniscate_export_entries', size),
    one('lemniscate_export_seal_failing', sealFailure === null ? 0 : 1),
    each('lemniscate_export_behind_entries', ({ behind }) => behind),
    each('lemniscate_export_lag_seconds', ({ lagSeconds }) => lagSeconds),
    each('lemniscate_export_set_aside', ({ setAside }) => setAside),
    each('lemniscate_export_sink_failing', ({ failure }) => (failure === null ? 0 : 1)),
  ];
}
