import { budgetWarningShare } from '@lemniscate/shared/costs/budget-warning.ts';

/** An alert. Its runbook is `docs/operations/runbooks/<runbook>.md`. */
export interface Alert {
  readonly name: string;
  readonly runbook: string;
  readonly expression: string;
  readonly for: string;
  readonly severity: 'page' | 'ticket';
  readonly summary: string;
}

export const alerts: readonly Alert[] = [
  {
    name: 'LemniscateQueueAge',
    runbook: 'queue-age',
    expression: 'max by (pool) (lemniscate_pool_queue_age_seconds) > 300',
    for: '5m',
    severity: 'page',
    summary: 'A session has waited {{ $value | humanizeDuration }} for a slot of pool {{ $labels.pool }}.',
  },
  {
    name: 'LemniscateWantedSlots',
    runbook: 'queue-age',
    expression:
      'max by (pool) (lemniscate_pool_wanted_slots) > 1.2 * max by (pool) (lemniscate_pool_slots) and max by (pool) (lemniscate_pool_waiting) > 0',
    for: '15m',
    severity: 'ticket',
    summary: 'Pool {{ $labels.pool }} wants {{ $value }} slots and has fewer; its scaler does not follow.',
  },
  {
    name: 'LemniscateWarmMisses',
    runbook: 'warm-misses',
    expression:
      'sum by (instance) (rate(lemniscate_server_cold_starts_total[15m])) * 60 > 2 and on (instance) lemniscate_server_warm_sandboxes < 1',
    for: '15m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} starts sandboxes while their sessions wait.',
  },
  {
    name: 'LemniscateLeaseLosses',
    runbook: 'lease-losses',
    expression: 'max by (pool) (increase(lemniscate_attempts_lost_total{how="lost"}[15m])) > 3',
    for: '0m',
    severity: 'page',
    summary: '{{ $value | humanize }} attempts of pool {{ $labels.pool }} were lost within 15 minutes.',
  },
  {
    name: 'LemniscateServerLeasesLost',
    runbook: 'lease-losses',
    expression: 'increase(lemniscate_server_leases_lost_total[15m]) > 0',
    for: '0m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} could not reach a dispatcher in time and gave sessions up.',
  },
  {
    name: 'LemniscateCheckpointAge',
    runbook: 'checkpoint-age',
    expression: 'max by (pool) (lemniscate_pool_checkpoint_age_seconds) > 1800',
    for: '10m',
    severity: 'ticket',
    summary:
      'The loss of a server of pool {{ $labels.pool }} would cost {{ $value | humanizeDuration }} of work.',
  },
  {
    name: 'LemniscateServerUnhealthy',
    runbook: 'server-unhealthy',
    expression: 'lemniscate_server_unhealthy == 1',
    for: '5m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} can start no sandbox.',
  },
  {
    name: 'LemniscateDown',
    runbook: 'service-down',
    expression: 'up{job=~"lemniscate.*"} == 0',
    for: '3m',
    severity: 'page',
    summary: '{{ $labels.job }} at {{ $labels.instance }} does not answer.',
  },
  {
    name: 'LemniscateDiskFull',
    runbook: 'disk-full',
    expression: 'lemniscate_server_disk_free_bytes / lemniscate_server_disk_bytes < 0.1',
    for: '10m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} has {{ $value | humanizePercentage }} of its disk left.',
  },
  {
    name: 'LemniscateJournalBacklog',
    runbook: 'journal-backlog',
    expression: 'lemniscate_server_journal_bytes > 33554432',
    for: '5m',
    severity: 'page',
    summary: 'The dispatcher has not taken {{ $value | humanize1024 }}B of events of {{ $labels.instance }}.',
  },
  {
    name: 'LemniscateExportLag',
    runbook: 'export-lag',
    expression: 'max by (sink) (lemniscate_export_lag_seconds) > 300',
    for: '5m',
    severity: 'page',
    summary: 'The sink {{ $labels.sink }} is {{ $value | humanizeDuration }} behind the audit log.',
  },
  {
    name: 'LemniscateExportSinkFailing',
    runbook: 'export-lag',
    expression: 'max by (sink) (lemniscate_export_sink_failing) == 1',
    for: '10m',
    severity: 'ticket',
    summary: 'Deliveries of the audit log to {{ $labels.sink }} fail.',
  },
  {
    name: 'LemniscateExportRefused',
    runbook: 'export-lag',
    expression:
      '(max by (sink) (lemniscate_export_set_aside) - (max by (sink) (lemniscate_export_set_aside offset 1h) or 0 * max by (sink) (lemniscate_export_set_aside))) > 0',
    for: '1m',
    severity: 'ticket',
    summary: 'The sink {{ $labels.sink }} refused for good what it was sent: {{ $value }} in the last hour.',
  },
  {
    name: 'LemniscateSealFailing',
    runbook: 'export-lag',
    expression: 'max(lemniscate_export_seal_failing) == 1',
    for: '1m',
    severity: 'page',
    summary:
      'The audit log gets no signed checkpoints: the key is away, or the log was rewritten or set back.',
  },
  {
    name: 'LemniscateNobodyExports',
    runbook: 'export-lag',
    expression: 'sum(lemniscate_export_leading) < 1 or max(lemniscate_export_pending_entries) > 100000',
    for: '5m',
    severity: 'page',
    summary: 'No exporter orders the audit log, or it does not keep up.',
  },
  {
    name: 'LemniscateUnpricedUsage',
    runbook: 'unpriced-usage',
    // a model's series begins with its first exchange, so what a new one has counts whole
    expression:
      'sum by (model) (max by (project, provider, model) ((lemniscate_unpriced_exchanges_total unless lemniscate_unpriced_exchanges_total offset 1h) or increase(lemniscate_unpriced_exchanges_total[1h]))) > 0',
    for: '5m',
    severity: 'ticket',
    summary:
      'Exchanges with {{ $labels.model }} have no price; sessions with a budget of money stop at them.',
  },
  {
    name: 'LemniscateCostFoldStale',
    runbook: 'unpriced-usage',
    expression: 'min(lemniscate_cost_fold_age_seconds) > 600',
    for: '10m',
    severity: 'ticket',
    summary: 'Reports of costs are {{ $value | humanizeDuration }} old.',
  },
  {
    name: 'LemniscateBudgetNearlySpent',
    runbook: 'budget',
    expression: `max by (scope, name) (lemniscate_budget_granted_usd) / max by (scope, name) (lemniscate_budget_usd) >= ${budgetWarningShare}`,
    for: '5m',
    severity: 'ticket',
    summary:
      '{{ $value | humanizePercentage }} of the month’s budget of {{ $labels.scope }} {{ $labels.name }} is given out.',
  },
  {
    name: 'LemniscateCertificateExpiry',
    runbook: 'certificate-expiry',
    expression: 'min by (instance) (lemniscate_certificate_expiry_seconds) - time() < 7 * 86400',
    for: '10m',
    severity: 'page',
    summary: 'The certificate of {{ $labels.instance }} expires in {{ $value | humanizeDuration }}.',
  },
];
