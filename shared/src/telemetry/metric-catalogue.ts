/** One metric that a service exposes. */
export interface MetricDefinition {
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets. */
  readonly bounds?: readonly number[];
}

const gauge = (help: string, ...labels: string[]): MetricDefinition => ({ type: 'gauge', help, labels });
const counter = (help: string, ...labels: string[]): MetricDefinition => ({ type: 'counter', help, labels });

/**
 * Every metric of the fleet. Dashboards and alerts may name these and no others, and no metric may have a label that is
 * not written here: there is none for a person, a repository, a session or anything that an agent wrote.
 *
 * What the dispatcher says of the fleet comes out of the record, so every dispatcher says the same: take `max`, not
 * `sum`, over them.
 */
export const metricCatalogue = {
  lemniscate_pool_slots: gauge('Slots that may be used now.', 'pool'),
  lemniscate_pool_held: gauge('Sessions that occupy a slot.', 'pool'),
  lemniscate_pool_waiting: gauge('Sessions that wait for a slot.', 'pool'),
  lemniscate_pool_queue_age_seconds: gauge('Wait of the session that has waited longest.', 'pool'),
  lemniscate_pool_warm_sandboxes: gauge('Sandboxes that wait for a session.', 'pool'),
  lemniscate_pool_warm_misses: gauge('Sandboxes started while their session waited.', 'pool'),
  lemniscate_pool_wanted_slots: gauge('Slots that are wanted.', 'pool'),
  lemniscate_pool_wanted_servers: gauge('Servers that are wanted.', 'pool'),
  lemniscate_pool_checkpoint_age_seconds: gauge(
    'Work that the loss of a server would cost at most: time since the oldest last checkpoint.',
    'pool',
  ),
  lemniscate_sessions: gauge('Sessions that have not ended.', 'state'),
  lemniscate_approvals_waiting: gauge('Decisions that wait for a person.'),
  lemniscate_approvals_oldest_seconds: gauge('Age of the decision that has waited longest.'),
  lemniscate_sessions_ended_total: counter('Sessions that have ended.', 'pool', 'reason'),
  lemniscate_attempts_lost_total: counter('Attempts that were lost or that a server refused.', 'pool', 'how'),
  lemniscate_session_start_seconds: {
    type: 'histogram',
    help: 'From waiting in the queue to running.',
    labels: ['pool'],
    bounds: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
  } as MetricDefinition,
  lemniscate_exchanges_total: counter('Model exchanges of this month.', 'project', 'provider', 'model'),
  lemniscate_unpriced_exchanges_total: counter(
    'Model exchanges of this month for which no price is known.',
    'project',
    'provider',
    'model',
  ),
  lemniscate_tokens_total: counter('Tokens of this month.', 'project', 'provider', 'model', 'kind'),
  lemniscate_cost_usd_total: counter('Cost of this month in US dollars.', 'project', 'provider', 'model'),
  lemniscate_budget_usd: gauge('Budget of the month.', 'scope', 'name'),
  lemniscate_budget_granted_usd: gauge('What sessions hold of it or have spent.', 'scope', 'name'),
  lemniscate_cost_fold_age_seconds: gauge('How long ago the rollups of costs were folded.'),
  lemniscate_http_requests_total: counter('Requests answered.', 'listener', 'status'),
  lemniscate_http_request_seconds: {
    type: 'histogram',
    help: 'Time to the end of an answer; streams and requests that wait for something are left out.',
    labels: ['listener'],
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  } as MetricDefinition,
  lemniscate_server_slots: gauge('Slots of this agent server.'),
  lemniscate_server_sessions: gauge('Sessions on this agent server.'),
  lemniscate_server_warm_sandboxes: gauge('Sandboxes of this agent server that wait for a session.'),
  lemniscate_server_cold_starts_total: counter('Sandboxes started while their session waited.'),
  lemniscate_server_leases_lost_total: counter('Sessions given up since their lease had ended.'),
  lemniscate_server_journal_events: gauge('Events that the dispatcher has not acknowledged.'),
  lemniscate_server_journal_bytes: gauge('Bytes of those events.'),
  lemniscate_server_disk_free_bytes: gauge('Free bytes where sandboxes and working copies lie.'),
  lemniscate_server_disk_bytes: gauge('Bytes there in all.'),
  lemniscate_server_draining: gauge('1 while the server takes no more sessions.'),
  lemniscate_server_unhealthy: gauge('1 while no sandbox can be started.'),
  lemniscate_export_leading: gauge('1 on the exporter that orders and ships the audit log.'),
  lemniscate_export_pending_entries: gauge('Audit entries that have no index yet.'),
  lemniscate_export_entries: gauge('Audit entries that have one.'),
  lemniscate_export_seal_failing: gauge('1 while no checkpoint of the audit log can be signed.'),
  lemniscate_export_behind_entries: gauge('Entries that a sink has not confirmed.', 'sink'),
  lemniscate_export_lag_seconds: gauge('Age of the oldest of them.', 'sink'),
  lemniscate_export_set_aside: gauge('How often a sink refused for good what it was sent.', 'sink'),
  lemniscate_export_sink_failing: gauge('1 while deliveries to a sink fail.', 'sink'),
  lemniscate_certificate_expiry_seconds: gauge('When the certificate of this service expires (epoch).'),
  process_start_time_seconds: gauge('When this process began (epoch).'),
  process_cpu_seconds_total: counter('Processor time of this process.'),
  process_resident_memory_bytes: gauge('Memory of this process.'),
  lemniscate_event_loop_busy_ratio: gauge(
    'Share of time in which the event loop worked since the last look.',
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricName = keyof typeof metricCatalogue;

/** The definition of a metric, read widely. */
export function metricDefinition(name: MetricName): MetricDefinition {
  return metricCatalogue[name];
}
