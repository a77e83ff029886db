/** A column with a moment at which something runs out, and the rows for which it has not. */
export interface Deadline {
  readonly table: string;
  readonly column: string;
  readonly open: string;
}

/**
 * Moments at which something of a session runs out. They move by an absence, and are compared with `fleetNow`. Leases are not
 * here: they begin anew.
 */
export const deadlines: readonly Deadline[] = [
  { table: 'attempts', column: 'start_deadline', open: `state = 'live'` },
  { table: 'approvals', column: 'expires_at', open: `state = 'waiting'` },
  { table: 'budget_extensions', column: 'expires_at', open: `state = 'waiting'` },
  { table: 'session_messages', column: 'expires_at', open: `state = 'awaited'` },
  { table: 'remote_calls', column: 'deadline', open: `state = 'calling'` },
  { table: 'agent_servers', column: 'drain_deadline', open: 'drain_deadline IS NOT NULL' },
];

/** Moments since which something lasts that may last only so long: looks ask `fleetAgo` whether it has. */
export const lasting: readonly string[] = [
  'sessions.queued_at',
  'session_pauses.since',
  'approvals.created_at',
  'budget_extensions.asked_at',
  'session_messages.asked_at',
  'sessions.created_at',
  'gateways.seen_at',
  'usage.begun_at',
  'attempts.ended_at',
];

/** Moments from which a session's minutes count, without `fleet_unwatched`. */
export const minutes: readonly string[] = ['sessions.running_at', 'sessions.budget_from'];

/** Columns that a timer compares with the clock and that an absence does not move, each with the reason. */
export const unmoved: Readonly<Record<string, string>> = {
  'attempts.lease_expires_at': 'begins anew after an absence',
  'agent_servers.cleared_at': 'which failures count, and not how long',
  'agent_servers.excluded_until': 'a server that is looked at sooner is only probed sooner',
  'agent_server_lists.named_at': 'after an absence the list is what is named now',
  'agent_servers.probed_at': 'when somebody looks again',
  'agent_servers.seen_at': 'a server that nobody heard gets nothing new until it is heard',
  'approval_votes.voted_at': 'the access of who voted is judged at the moment of the vote',
  'attempts.created_at': 'the pace of starts, and how long a reservation may stand: looks of seconds',
  'checkpoints.created_at': 'one that is superseded is kept for as long as a look at it takes',
  'cost_fold.folded_at': 'a figure for operators',
  'deliveries.created_at': 'bounds what comes from outside in a minute',
  'deliveries.due_at': 'when something is tried again, not when it is given up',
  'receipts.received_at': 'a promise about words that are kept',
  'environments.ended_at': 'how old an environment may be is about the outside, which goes on',
  'environments.started_at': 'which of two builds is the newer',
  'environments.used_at': 'how long an unused environment is kept: days',
  'fleet_stops.stopped_at': 'how long a transaction that had begun before may take',
  'login_flows.expires_at': 'a secret serves no longer than was said',
  'logins.expires_at': 'a secret serves no longer than was said',
  'notices.created_at': 'how long messages are kept: days',
  'notices.due_at': 'when something is tried again, not when it is given up',
  'object_history.at': 'a promise about words that are kept',
  'outbox.created_at': 'a figure for operators',
  'outbox.ready_at': 'when something is tried again, not when it is given up',
  'queue_book.looked_at': 'when somebody looks again',
  'retained_content.expires_at': 'a promise about words that are kept',
  'server_invitations.expires_at': 'a secret serves no longer than was said',
  'service_tokens.expires_at': 'a secret serves no longer than was said',
  'service_tokens.used_at': 'how often a use is noted',
  'session_origins.created_at': 'bounds what comes from outside in an hour',
  'sessions.ended_at': 'what has ended',
  'schedule_slots.fired_at': 'how long receipts are kept: days',
  'start_failures.failed_at': 'how long it tells of its session: a day',
  'triggers.next_slot': 'a time of the calendar',
  'uploads.created_at': 'an upload that nobody finished in a day is begun again',
};
