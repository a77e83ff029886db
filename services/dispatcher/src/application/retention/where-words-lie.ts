/** A store that holds words of people, agents or repositories: where, and what ends them. */
interface WordStore {
  /** As `docs/operations/audit-log.md` has it in the first column of its table for people. */
  readonly store: string;
  /** Columns of PostgreSQL, `table.column`. */
  readonly columns: readonly string[];
  /** Beginnings of keys in S3. */
  readonly prefixes?: readonly string[];
  readonly ends: string;
}

/** Objects of a project by digest: which store one belongs to is said by the rows that mean it. */
const objects = 'projects/';

/**
 * Every store with words in it. A test walks the schema and every key that is written, and fails for a column or a key that
 * has no line here; another holds the page for people against this table.
 */
export const wordStores: readonly WordStore[] = [
  {
    store: 'instruction, messages, approvals',
    columns: [
      'sessions.instruction',
      'sessions.message',
      'sessions.repository',
      'session_messages.text',
      'approvals.title',
      'approvals.arguments',
      'approvals.reasons',
      'approvals.message',
      'approvals.pattern',
      'session_grants.pattern',
      'tool_calls.answer',
      'tool_calls.path',
    ],
    ends: 'rule `sessions`, erasure',
  },
  {
    store: 'session log: events and output',
    columns: ['session_events.event'],
    prefixes: [objects],
    ends: 'rule `logs`, erasure',
  },
  {
    store: 'diff',
    columns: [
      'diffs.patch',
      'diffs.summary',
      'diffs.accepted_files',
      'diff_votes.files',
      'checkpoints.diff_summary',
      'checkpoints.diff_patch',
    ],
    prefixes: [objects],
    ends: 'rule `diffs`, erasure',
  },
  {
    store: 'snapshots of a workspace',
    columns: [],
    prefixes: [objects],
    ends: 'rule `snapshots`, erasure',
  },
  {
    store: 'repository sent as a bundle',
    columns: [],
    prefixes: [objects],
    ends: 'rule `sessions`, erasure',
  },
  {
    store: 'uploads under way',
    columns: [],
    prefixes: ['incoming/'],
    ends: 'a day; erasure',
  },
  {
    store: 'files that an agent wrote',
    columns: ['session_files.path', 'object_files.path'],
    prefixes: [objects],
    ends: 'rule `sessions`, erasure',
  },
  {
    store: 'objects: title, text, labels',
    columns: [
      'objects.title',
      'objects.body',
      'objects.labels',
      'object_history.detail',
      'objects.repository',
    ],
    ends: 'rule `objects`',
  },
  {
    store: 'comments on objects',
    columns: ['object_comments.body'],
    ends: 'rules `objects` and `sessions`, erasure',
  },
  {
    store: 'inboxes',
    columns: ['inbox_items.title'],
    ends: '365 days after they are done, the rules of what they are about, erasure',
  },
  {
    store: 'messages to targets (webhooks, …)',
    columns: ['notices.payload', 'notice_attempts.fault'],
    ends: '90 days, erasure',
  },
  {
    store: 'terms of a session to be started',
    columns: ['deliveries.terms', 'deliveries.message'],
    ends: 'the start or the refusal; why it was refused: 365 days',
  },
  {
    store: 'memory of an agent',
    columns: ['memories.files', 'memory_proposals.files', 'memory_carries.files'],
    prefixes: [objects],
    ends: 'rule `memory`, erasure of the session that wrote it',
  },
  {
    store: 'skills',
    columns: ['skills.name', 'skills.description', 'skills.files', 'sessions.skills'],
    prefixes: [objects],
    ends: 'with the project: every version says what a session was given',
  },
  {
    store: 'settings: agents, policies, triggers, hooks, targets',
    columns: [
      'agents.definition',
      'agent_versions.definition',
      'sessions.agent_definition',
      'sessions.policy',
      'projects.policy',
      'projects.labels',
      'project_policies.policy',
      'project_policies.written',
      'project_workspaces.repository',
      'triggers.definition',
      'hooks.definition',
      'notify_targets.definition',
      'remote_tools.description',
      'remote_tools.input_schema',
      'remote_tools.url',
    ],
    ends: 'with the project, or when they are removed; nothing of a session is in them',
  },
  {
    store: 'archives of environments',
    columns: [
      'environments.definition',
      'environments.installed',
      'environments.message',
      'environments.repository',
    ],
    prefixes: [objects],
    ends: '30 days without use; why a build failed: erasure of its session',
  },
  {
    store: 'what a server said of a session that did not start',
    columns: ['agent_servers.last_failure'],
    ends: 'the next session that starts there',
  },
  {
    store: 'why an address of a server did not answer',
    columns: ['agent_servers.probe_failure'],
    ends: 'its next answer',
  },
  {
    store: 'why administrators acted',
    columns: [
      'cost_entries.reason',
      'fleet_stops.note',
      'intake_pauses.note',
      'revoked_users.note',
      'service_tokens.name',
      'cost_centres.cost_centre',
      'cost_days.cost_centre',
      'cost_entries.cost_centre',
      'cost_sessions.cost_centre',
    ],
    ends: 'with the act that they explain: costs and stops are kept',
  },
  {
    store: 'who people are',
    columns: ['people.name', 'people.email', 'people.groups', 'audit_people.identity'],
    ends: 'erasure of the person',
  },
  {
    store: 'secrets of agents and servers',
    columns: ['credentials.sealed'],
    ends: 'encrypted by us; when they are removed',
  },
  {
    store: 'retained content (off by default)',
    columns: [],
    prefixes: ['content/'],
    ends: 'its own days, shredding',
  },
];
