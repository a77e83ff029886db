import type { NewId } from '@lemniscate/shared/id.ts';
import type { Database } from '../ports/transaction.ts';
import { tellTargets } from '../notify/tell-targets.ts';
import { putIntoInbox } from './inbox.ts';

export interface FillInboxDeps {
  readonly database: Database;
  readonly newId: NewId;
}

/** Most of one pass. */
const atOnce = 200;

/**
 * Keeps the inboxes of the people whose sessions ask for an approval: an item while it waits, done when it does not any
 * more. Looks at the record alone, so that nothing is missed whoever asked or decided.
 */
export async function fillInbox({ database, newId }: FillInboxDeps): Promise<void> {
  await database.query(
    `UPDATE inbox_items i SET done_at = now() FROM approvals a
     WHERE i.approval_id = a.id AND i.done_at IS NULL AND a.state <> 'waiting'`,
  );
  const waiting = await database.query<{
    id: string;
    session_id: string;
    project_id: string;
    opened_by: string;
    tool: string;
  }>(
    `SELECT a.id, a.session_id, s.project_id, s.opened_by, a.tool FROM approvals a JOIN sessions s ON s.id = a.session_id
     WHERE a.state = 'waiting' AND NOT EXISTS (
       SELECT FROM inbox_items i WHERE i.subject = s.opened_by AND i.about = 'approval:' || a.id)
     ORDER BY a.id LIMIT ${atOnce}`,
  );
  for (const { id, session_id: session, project_id: project, opened_by: person, tool } of waiting)
    await database.transaction(async (tx) => {
      await putIntoInbox({ newId }, tx, [person], {
        kind: 'approval',
        project,
        title: `${tool} waits for your approval in session ${session}`,
        about: `approval:${id}`,
        session,
      });
      await tellTargets(tx, {
        project,
        type: 'approval.wanted',
        about: `approval:${id}`,
        data: { approval: id, session, project, tool, openedBy: person },
      });
      await tx.query('UPDATE inbox_items SET approval_id = $2 WHERE subject = $3 AND about = $1', [
        `approval:${id}`,
        id,
        person,
      ]);
    });
}
