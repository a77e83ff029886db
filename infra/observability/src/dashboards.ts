/** A panel: curves of expressions; the legend is a template over labels. */
interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly queries: readonly (readonly [expression: string, legend: string])[];
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

const byPool = (metric: string): readonly [string, string] => [`max by (pool) (${metric})`, '{{pool}}'];
const quantile = (rank: number, metric: string, by: string): string =>
  `histogram_quantile(${rank}, sum by (le${by === '' ? '' : `, ${by}`}) (max by (le, pool) (rate(${metric}_bucket[5m]))))`;

const sre: Dashboard = {
  uid: 'lemniscate-sre',
  title: 'Lemniscate: fleet',
  panels: [
    {
      title: 'Sessions by state',
      unit: 'short',
      queries: [['max by (state) (lemniscate_sessions)', '{{state}}']],
    },
    {
      title: 'Slots: in use, usable, wanted',
      unit: 'short',
      queries: [
        ['max by (pool) (lemniscate_pool_held)', '{{pool}} in use'],
        ['max by (pool) (lemniscate_pool_slots)', '{{pool}} usable'],
        ['max by (pool) (lemniscate_pool_wanted_slots)', '{{pool}} wanted'],
      ],
    },
    { title: 'Longest wait for a slot', unit: 's', queries: [byPool('lemniscate_pool_queue_age_seconds')] },
    { title: 'Waiting sessions', unit: 'short', queries: [byPool('lemniscate_pool_waiting')] },
    {
      title: 'From queued to running',
      unit: 's',
      queries: [
        [quantile(0.5, 'lemniscate_session_start_seconds', 'pool'), '{{pool}} p50'],
        [quantile(0.99, 'lemniscate_session_start_seconds', 'pool'), '{{pool}} p99'],
      ],
    },
    {
      title: 'Warm sandboxes, and starts while a session waits (a minute)',
      unit: 'short',
      queries: [
        ['max by (pool) (lemniscate_pool_warm_sandboxes)', '{{pool}} warm'],
        ['sum(rate(lemniscate_server_cold_starts_total[5m])) * 60', 'misses a minute'],
        ['max by (pool) (lemniscate_pool_warm_misses)', '{{pool}} misses in all'],
      ],
    },
    {
      title: 'Attempts lost and refused (an hour)',
      unit: 'short',
      queries: [
        ['max by (pool, how) (increase(lemniscate_attempts_lost_total[1h]))', '{{pool}} {{how}}'],
        ['sum(increase(lemniscate_server_leases_lost_total[1h]))', 'given up by servers'],
      ],
    },
    {
      title: 'Placement: sessions a server',
      unit: 'short',
      queries: [
        ['lemniscate_server_sessions', '{{instance}}'],
        ['max(lemniscate_server_sessions) - min(lemniscate_server_sessions)', 'widest difference'],
        ['sum(lemniscate_server_slots)', 'slots of servers that answer'],
      ],
    },
    {
      title: 'Ends by reason (an hour)',
      unit: 'short',
      queries: [
        [
          'max by (reason) (sum by (instance, reason) (increase(lemniscate_sessions_ended_total[1h])))',
          '{{reason}}',
        ],
      ],
    },
    {
      title: 'Age of the oldest last checkpoint',
      unit: 's',
      queries: [byPool('lemniscate_pool_checkpoint_age_seconds')],
    },
    {
      title: 'Journals that are not acknowledged',
      unit: 'bytes',
      queries: [
        ['lemniscate_server_journal_bytes', '{{instance}}'],
        ['sum(lemniscate_server_journal_events)', 'events'],
      ],
    },
    {
      title: 'Audit log: lag of sinks',
      unit: 's',
      queries: [['max by (sink) (lemniscate_export_lag_seconds)', '{{sink}}']],
    },
    {
      title: 'Audit log: entries behind, unordered, in all',
      unit: 'short',
      queries: [
        ['max by (sink) (lemniscate_export_behind_entries)', '{{sink}} behind'],
        ['max(lemniscate_export_pending_entries)', 'unordered'],
        ['max(rate(lemniscate_export_entries[5m]))', 'a second'],
      ],
    },
    {
      title: 'Requests a second',
      unit: 'reqps',
      queries: [
        ['sum by (listener, status) (rate(lemniscate_http_requests_total[5m]))', '{{listener}} {{status}}'],
      ],
    },
    {
      title: 'Answers of the API',
      unit: 's',
      queries: [
        [
          'histogram_quantile(0.99, sum by (le, listener) (rate(lemniscate_http_request_seconds_bucket[5m])))',
          '{{listener}} p99',
        ],
      ],
    },
    {
      title: 'Decisions that wait for people',
      unit: 'short',
      queries: [
        ['max(lemniscate_approvals_waiting)', 'waiting'],
        ['max(lemniscate_approvals_oldest_seconds) / 60', 'oldest, minutes'],
      ],
    },
    {
      title: 'Days until certificates expire',
      unit: 'd',
      queries: [
        ['(min by (instance) (lemniscate_certificate_expiry_seconds) - time()) / 86400', '{{instance}}'],
      ],
    },
    {
      title: 'Processes',
      unit: 'short',
      queries: [
        ['rate(process_cpu_seconds_total{job=~"lemniscate.*"}[5m])', '{{instance}} processors'],
        ['lemniscate_event_loop_busy_ratio', '{{instance}} event loop'],
      ],
    },
    {
      title: 'Memory',
      unit: 'bytes',
      queries: [['process_resident_memory_bytes{job=~"lemniscate.*"}', '{{instance}}']],
    },
    {
      title: 'Free disk of servers',
      unit: 'percentunit',
      queries: [['lemniscate_server_disk_free_bytes / lemniscate_server_disk_bytes', '{{instance}}']],
    },
  ],
};

const monthly = (metric: string, by: string): string =>
  `sum by (${by}) (max by (project, provider, model) (${metric}))`;

const finops: Dashboard = {
  uid: 'lemniscate-finops',
  title: 'Lemniscate: costs',
  panels: [
    {
      title: 'Cost of the month by project',
      unit: 'currencyUSD',
      queries: [[`topk(20, ${monthly('lemniscate_cost_usd_total', 'project')})`, '{{project}}']],
    },
    {
      title: 'Cost of the month by model',
      unit: 'currencyUSD',
      queries: [[monthly('lemniscate_cost_usd_total', 'model'), '{{model}}']],
    },
    {
      title: 'Dollars an hour by project',
      unit: 'currencyUSD',
      queries: [
        [
          'topk(20, sum by (project) (max by (project, provider, model) (rate(lemniscate_cost_usd_total[1h])))) * 3600',
          '{{project}}',
        ],
      ],
    },
    {
      title: 'Tokens a second by kind',
      unit: 'short',
      queries: [
        [
          'sum by (kind) (max by (project, provider, model, kind) (rate(lemniscate_tokens_total[15m])))',
          '{{kind}}',
        ],
      ],
    },
    {
      title: 'Share of input that caches served',
      unit: 'percentunit',
      queries: [
        [
          'sum(max by (project, provider, model) (rate(lemniscate_tokens_total{kind="cache_read"}[1h]))) / sum(max by (project, provider, model, kind) (rate(lemniscate_tokens_total{kind!="output"}[1h])))',
          'cached',
        ],
      ],
    },
    {
      title: 'Exchanges (an hour)',
      unit: 'short',
      queries: [
        [
          'sum by (model) (max by (project, provider, model) (increase(lemniscate_exchanges_total[1h])))',
          '{{model}}',
        ],
      ],
    },
    {
      title: 'Exchanges without a price in this month',
      unit: 'short',
      queries: [[monthly('lemniscate_unpriced_exchanges_total', 'model'), '{{model}}']],
    },
    {
      title: 'Budgets: share given out',
      unit: 'percentunit',
      queries: [
        [
          'max by (scope, name) (lemniscate_budget_granted_usd) / max by (scope, name) (lemniscate_budget_usd)',
          '{{scope}} {{name}}',
        ],
      ],
    },
    {
      title: 'Slots in use and empty',
      unit: 'short',
      queries: [
        ['max by (pool) (lemniscate_pool_held)', '{{pool}} in use'],
        ['max by (pool) (lemniscate_pool_slots) - max by (pool) (lemniscate_pool_held)', '{{pool}} empty'],
        ['max by (pool) (lemniscate_pool_wanted_servers)', '{{pool}} servers wanted'],
      ],
    },
    {
      title: 'Age of these numbers',
      unit: 's',
      queries: [['min(lemniscate_cost_fold_age_seconds)', 'rollups']],
    },
  ],
};

export const dashboards: readonly Dashboard[] = [sre, finops];

const source = { type: 'prometheus', uid: '${datasource}' };

/** As Grafana imports it (schema version 39), two panels in a row. */
export function dashboardFile({ uid, title, panels }: Dashboard): string {
  const board = {
    uid,
    title,
    tags: ['lemniscate'],
    schemaVersion: 39,
    version: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'utc',
    templating: {
      list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' }],
    },
    panels: panels.map((panel, index) => ({
      id: index + 1,
      type: 'timeseries',
      title: panel.title,
      datasource: source,
      gridPos: { h: 8, w: 12, x: (index % 2) * 12, y: Math.floor(index / 2) * 8 },
      fieldConfig: { defaults: { unit: panel.unit, min: 0 }, overrides: [] },
      options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
      targets: panel.queries.map(([expr, legendFormat], place) => ({
        refId: String.fromCharCode(65 + place),
        datasource: source,
        expr,
        legendFormat,
        exemplar: true,
      })),
    })),
  };
  return `${JSON.stringify(board, null, 2)}\n`;
}
