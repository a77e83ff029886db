import type { AuditEntryType } from './entry.ts';

/** OCSF classes that entries fall into, with their category. */
const ocsfClasses = {
  apiActivity: { class_uid: 6003, class_name: 'API Activity', category_uid: 6 },
  applicationLifecycle: { class_uid: 6002, class_name: 'Application Lifecycle', category_uid: 6 },
  processActivity: { class_uid: 1007, class_name: 'Process Activity', category_uid: 1 },
  fileActivity: { class_uid: 1001, class_name: 'File System Activity', category_uid: 1 },
  authentication: { class_uid: 3002, class_name: 'Authentication', category_uid: 3 },
  authorizeSession: { class_uid: 3003, class_name: 'Authorize Session', category_uid: 3 },
  userAccess: { class_uid: 3005, class_name: 'User Access Management', category_uid: 3 },
  networkActivity: { class_uid: 4001, class_name: 'Network Activity', category_uid: 4 },
  datastoreActivity: { class_uid: 6005, class_name: 'Datastore Activity', category_uid: 6 },
  detectionFinding: { class_uid: 2004, class_name: 'Detection Finding', category_uid: 2 },
} as const;

/** How one type of entry is told to receivers. */
export interface EventMapping {
  readonly ocsf: keyof typeof ocsfClasses;
  /** OCSF `activity_id` within its class; 99 is "other", and the type is then its name. */
  readonly activity: number;
  /** CEF severity, 0 to 10; OCSF's severity id follows from it. */
  readonly severity: number;
  /** CEF name: what a person reads in a list. */
  readonly name: string;
}

const map = (ocsf: EventMapping['ocsf'], activity: number, severity: number, name: string): EventMapping => ({
  ocsf,
  activity,
  severity,
  name,
});

/** Every type of event that leaves, by name. */
export const eventMappings: Readonly<Record<AuditEntryType | 'log.checkpoint', EventMapping>> = {
  'session.opened': map('authorizeSession', 1, 3, 'Session opened'),
  'session.queued': map('applicationLifecycle', 99, 1, 'Session queued'),
  'attempt.started': map('applicationLifecycle', 3, 1, 'Session placed on a server'),
  'session.running': map('applicationLifecycle', 3, 1, 'Session running'),
  'attempt.lost': map('applicationLifecycle', 99, 5, 'Attempt lost'),
  'session.checkpointed': map('applicationLifecycle', 99, 1, 'Session checkpointed'),
  'session.interrupted': map('applicationLifecycle', 99, 1, 'Turn interrupted'),
  'session.paused': map('applicationLifecycle', 99, 1, 'Session paused'),
  'session.resumed': map('applicationLifecycle', 99, 1, 'Session resumed'),
  'budget.exhausted': map('authorizeSession', 99, 4, 'Budget used up'),
  'budget.declined': map('authorizeSession', 99, 4, 'Budget not extended'),
  'budget.restarted': map('authorizeSession', 1, 4, 'Budget counters restarted'),
  'budget.extended': map('authorizeSession', 1, 4, 'Budget extended'),
  'tool.proposed': map('apiActivity', 99, 2, 'Tool call proposed'),
  'tool.decided': map('authorizeSession', 1, 3, 'Tool call decided'),
  'tool.executed': map('processActivity', 1, 3, 'Tool call executed'),
  'model.exchanged': map('apiActivity', 2, 1, 'Model exchange'),
  'tool.abandoned': map('processActivity', 99, 5, 'Tool call abandoned'),
  'file.read': map('fileActivity', 2, 2, 'File read'),
  'file.modified': map('fileActivity', 3, 3, 'File modified'),
  'egress.connected': map('networkActivity', 1, 4, 'Connection to the outside'),
  'egress.closed': map('networkActivity', 2, 2, 'Connection to the outside closed'),
  'egress.refused': map('networkActivity', 5, 5, 'Connection refused'),
  'approval.requested': map('authorizeSession', 99, 3, 'Approval requested'),
  'approval.voted': map('authorizeSession', 99, 4, 'Approval given by one of several'),
  'approval.decided': map('authorizeSession', 1, 4, 'Approval decided'),
  'context.compacted': map('applicationLifecycle', 99, 1, 'Conversation cut short'),
  'session.delegated': map('authorizeSession', 1, 3, 'Task delegated to a sub-agent'),
  'session.reported': map('applicationLifecycle', 99, 2, 'Sub-agent reported'),
  'session.messaged': map('apiActivity', 99, 2, 'Message to a session'),
  'session.stopped': map('applicationLifecycle', 4, 4, 'Session stopped'),
  'session.revoked': map('authorizeSession', 2, 7, 'Session revoked'),
  'user.revoked': map('authorizeSession', 2, 8, 'Access revoked'),
  'user.restored': map('authorizeSession', 1, 7, 'Access restored'),
  'session.ended': map('applicationLifecycle', 4, 2, 'Session ended'),
  'sandbox.destroyed': map('applicationLifecycle', 2, 1, 'Sandbox destroyed'),
  'diff.offered': map('fileActivity', 99, 2, 'Diff offered'),
  'diff.voted': map('fileActivity', 99, 3, 'Diff accepted by one of several'),
  'diff.decided': map('fileActivity', 99, 4, 'Diff decided'),
  'agent.changed': map('apiActivity', 3, 5, 'Agent changed'),
  'remote_tool.approved': map('apiActivity', 3, 5, 'Tool of a remote server approved'),
  'remote_tool.changed': map('detectionFinding', 1, 6, 'Remote server changed an approved tool'),
  'remote_tool.called': map('networkActivity', 99, 3, 'Tool of a remote server called'),
  'environment.requested': map('apiActivity', 1, 3, 'Environment build requested'),
  'environment.built': map('apiActivity', 1, 3, 'Environment built'),
  'environment.failed': map('apiActivity', 1, 5, 'Environment build failed'),
  'environment.used': map('apiActivity', 2, 2, 'Environment used'),
  'environment.skipped': map('apiActivity', 2, 4, 'Session without its environment'),
  'environment.awaited': map('apiActivity', 2, 2, 'Session waits for its environment'),
  'credential.changed': map('apiActivity', 3, 6, 'Credential set'),
  'credential.removed': map('apiActivity', 4, 5, 'Credential removed'),
  'skill.pushed': map('apiActivity', 1, 5, 'Skill pushed'),
  'memory.refused': map('detectionFinding', 1, 6, 'Secret kept out of a memory'),
  'memory.changed': map('datastoreActivity', 3, 4, 'Memory of an agent changed'),
  'object.created': map('apiActivity', 1, 2, 'Object created'),
  'object.changed': map('apiActivity', 3, 2, 'Object changed'),
  'object.commented': map('apiActivity', 1, 2, 'Object commented'),
  'object.attached': map('apiActivity', 1, 2, 'Files attached to an object'),
  'delivery.started': map('authorizeSession', 1, 4, 'Session started by a trigger'),
  'delivery.refused': map('authorizeSession', 99, 5, 'Trigger refused'),
  'trigger.changed': map('apiActivity', 3, 5, 'Trigger changed'),
  'trigger.disabled': map('apiActivity', 4, 6, 'Trigger put out of use'),
  'trigger.removed': map('apiActivity', 4, 4, 'Trigger removed'),
  'hook.changed': map('apiActivity', 3, 6, 'Webhook changed'),
  'hook.removed': map('apiActivity', 4, 5, 'Webhook removed'),
  'account.linked': map('userAccess', 1, 6, 'Account linked to a person'),
  'account.unlinked': map('userAccess', 2, 5, 'Account no longer linked'),
  'target.changed': map('apiActivity', 3, 6, 'Receiver of messages changed'),
  'target.disabled': map('apiActivity', 4, 5, 'Receiver of messages put out of use'),
  'target.removed': map('apiActivity', 4, 5, 'Receiver of messages removed'),
  'policy.changed': map('apiActivity', 3, 6, 'Policy changed'),
  'queue.changed': map('apiActivity', 3, 4, 'Queue settings changed'),
  'intake.paused': map('apiActivity', 3, 6, 'Intake paused'),
  'intake.resumed': map('apiActivity', 3, 5, 'Intake resumed'),
  'fleet.stopped': map('apiActivity', 4, 9, 'Fleet stopped by an administrator'),
  'server.invited': map('apiActivity', 1, 5, 'Agent server invited'),
  'server.approved': map('apiActivity', 3, 5, 'Agent server approved'),
  'server.drained': map('applicationLifecycle', 4, 4, 'Agent server drained'),
  'server.undrained': map('applicationLifecycle', 3, 3, 'Agent server back in use'),
  'server.joined': map('applicationLifecycle', 1, 4, 'Agent server joined'),
  'server.left': map('applicationLifecycle', 2, 4, 'Agent server left'),
  'login.accepted': map('authentication', 1, 2, 'Login accepted'),
  'login.refused': map('authentication', 1, 6, 'Login refused'),
  'config.changed': map('applicationLifecycle', 99, 5, 'Configuration changed'),
  'admin.acted': map('apiActivity', 3, 5, 'Administrator act'),
  'budget.set': map('apiActivity', 3, 5, 'Budget set'),
  'price.set': map('apiActivity', 3, 5, 'Price set'),
  'costs.corrected': map('apiActivity', 3, 5, 'Costs corrected'),
  'retention.changed': map('apiActivity', 3, 6, 'Retention rules changed'),
  'retention.applied': map('datastoreActivity', 4, 3, 'Retention rule applied'),
  'hold.placed': map('apiActivity', 1, 6, 'Legal hold placed'),
  'hold.released': map('apiActivity', 4, 6, 'Legal hold released'),
  'content.retained': map('datastoreActivity', 99, 4, 'Content retained'),
  'content.read': map('datastoreActivity', 1, 6, 'Retained content read'),
  'content.shredded': map('datastoreActivity', 4, 6, 'Retained content shredded'),
  'session.erased': map('datastoreActivity', 4, 6, 'Session erased'),
  'person.erased': map('datastoreActivity', 4, 7, 'Person erased'),
  'login.ended': map('authentication', 2, 2, 'Logged out'),
  'role.bound': map('apiActivity', 1, 6, 'Role bound'),
  'role.unbound': map('apiActivity', 4, 5, 'Role unbound'),
  'token.created': map('apiActivity', 1, 6, 'Service token created'),
  'token.revoked': map('apiActivity', 4, 4, 'Service token revoked'),
  'log.key_rotated': map('detectionFinding', 1, 7, 'Audit key handed over'),
  'log.restored': map('detectionFinding', 1, 9, 'Audit database restored'),
  'log.undeliverable': map('detectionFinding', 1, 7, 'Audit entry refused by a receiver'),
  'log.checkpoint': map('apiActivity', 99, 1, 'Audit checkpoint'),
  'chain.opened': map('applicationLifecycle', 99, 1, 'Audit chain opened'),
  'chain.closed': map('applicationLifecycle', 99, 1, 'Audit chain closed'),
};

const unknown = map('apiActivity', 99, 3, 'Audit entry');

/** The mapping of a type; one that a newer writer has made is told as an API activity. */
export function mappingOf(type: string): EventMapping {
  return Object.hasOwn(eventMappings, type) ? eventMappings[type as keyof typeof eventMappings] : unknown;
}

export const ocsfClassOf = (mapping: EventMapping): (typeof ocsfClasses)[EventMapping['ocsf']] =>
  ocsfClasses[mapping.ocsf];
