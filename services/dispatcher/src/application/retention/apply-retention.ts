import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { retentionRulesSchema } from '@lemniscate/shared/api/retention.ts';
import type { Removed, RetentionRules } from '@lemniscate/shared/api/retention.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { eraseWithin } from './erase-session.ts';
import { forgetOldMemory } from './forget-memory.ts';
import { forgetOldObjects } from './forget-objects.ts';
import { isHeld, takeHoldTurn } from './holds.ts';
import { addRemoved, hasDiff, stores } from './stores.ts';
import type { RemovableSession } from './stores.ts';

export interface RetentionDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly signals: Signals;
  readonly self: string;
}

/** Sessions of one rule and pass; the next takes the rest. */
const atOnce = 100;

/** Sessions of a project that still have what a rule removes. */
const due: Readonly<Record<'sessions' | 'logs' | 'diffs' | 'snapshots' | 'content', string>> = {
  sessions: 's.erased_at IS NULL',
  logs: 'EXISTS (SELECT FROM session_events e WHERE e.session_id = s.id)',
  diffs: `EXISTS (SELECT FROM diffs d WHERE d.session_id = s.id
    AND (d.patch IS NOT NULL OR d.object_sha256 IS NOT NULL OR d.summary -> 'files' <> '[]'))
    OR EXISTS (SELECT FROM checkpoints c WHERE c.session_id = s.id AND ${hasDiff})`,
  snapshots: 'EXISTS (SELECT FROM checkpoints p WHERE p.session_id = s.id)',
  content: 'EXISTS (SELECT FROM retained_content c WHERE c.session_id = s.id AND c.expires_at <= now())',
};
type Rule = keyof typeof due;

/** Rules over what is the project's and no session's. */
const projectRules = { objects: forgetOldObjects, memory: forgetOldMemory } as const;

/**
 * Removes what the rules of every project no longer keep, except under a legal hold. Each rule of a project that has
 * removed something leaves an entry that counts.
 * @returns how many sessions were touched, and how many projects for what is no session's
 */
export async function applyRetention(deps: RetentionDeps): Promise<number> {
  const projects = await deps.database.query<{ project_id: string; rules: unknown }>(
    'SELECT project_id, rules FROM project_retention ORDER BY project_id',
  );
  let touched = 0;
  for (const { project_id: project, rules: stored } of projects) {
    const rules = retentionRulesSchema.parse(stored);
    for (const rule of Object.keys(due) as Rule[]) touched += await applyRule(deps, project, rule, rules);
    for (const rule of ['objects', 'memory'] as const)
      touched += await applyProjectRule(deps, project, rule, rules[rule]);
  }
  if (touched > 0) deps.signals.send('erased', undefined);
  return touched;
}

async function applyRule(
  deps: RetentionDeps,
  project: string,
  rule: Rule,
  rules: RetentionRules,
): Promise<number> {
  // retained content has its own end, written when it was retained: a rule that is gone does not keep it for ever
  const days = rule === 'content' ? 0 : rules[rule];
  if (days === null) return 0;
  return deps.database.transaction(async (tx) => {
    await takeHoldTurn(tx, 'removing');
    const sessions = await tx.query<RemovableSession & Record<string, unknown>>(
      `SELECT s.id, s.project_id FROM sessions s
       WHERE s.project_id = $1 AND s.ended_at <= now() - make_interval(days => $2) AND (${due[rule]}) AND NOT ${isHeld}
       ORDER BY s.id LIMIT ${atOnce} FOR UPDATE SKIP LOCKED`,
      [project, days],
    );
    if (sessions.length === 0) return 0;
    let removed: Removed = {};
    for (const session of sessions)
      removed = addRemoved(
        removed,
        rule === 'sessions'
          ? await eraseWithin(deps, tx, deps.self, session.id, 'sessions')
          : await stores[rule](tx, session),
      );
    await deps.audit.append(tx, reviewChain(project), [
      {
        type: 'retention.applied',
        subject: deps.self,
        body: { rule, days, sessions: sessions.length, removed },
      },
    ]);
    return sessions.length;
  });
}

async function applyProjectRule(
  deps: RetentionDeps,
  project: string,
  rule: keyof typeof projectRules,
  days: number | null,
): Promise<number> {
  if (days === null) return 0;
  return deps.database.transaction(async (tx) => {
    await takeHoldTurn(tx, 'removing');
    const [held] = await tx.query(
      `SELECT FROM legal_holds WHERE released_at IS NULL AND scope = 'project' AND of_id = $1`,
      [project],
    );
    if (held !== undefined) return 0;
    const removed = await projectRules[rule](tx, project, days);
    if (Object.keys(removed).length === 0) return 0;
    await deps.audit.append(tx, reviewChain(project), [
      { type: 'retention.applied', subject: deps.self, body: { rule, days, sessions: 0, removed } },
    ]);
    return 1;
  });
}
