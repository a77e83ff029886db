import { mayHaveActedOutside } from '@lemniscate/shared/permit/unknown-outcome.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * Approvals whose calls were permitted are used up when their attempt is lost, however far the calls had got: the same
 * call, proposed again under any id, needs a fresh one. Only where running it again may do something twice: with a way
 * out of the sandbox, and for the tools of remote servers. The old row keeps its decision under the name of the attempt
 * that used it. The caller holds the session's lock.
 */
export async function useUpApprovals(
  tx: Transaction,
  session: { readonly id: string } & Parameters<typeof mayHaveActedOutside>[0],
  attempt: number,
): Promise<void> {
  // An approval is as old as its first proposal: an older permit of the same id has used one before it. No call can have
  // the name that the used one gets, for ids are printable without blanks: one that could would find it and run.
  await tx.query(
    `UPDATE approvals a SET call_id = a.call_id || ' @' || c.attempt
     FROM tool_calls c
     WHERE a.session_id = $1 AND c.session_id = $1 AND c.call_id = a.call_id AND c.arguments_digest = a.arguments_digest
       AND (c.attempt = $2 OR (c.attempt < $2 AND c.proposed_at >= a.created_at))
       AND c.answer ->> 'verdict' = 'go' AND a.state NOT IN ('waiting', 'withdrawn') AND ($3 OR a.tool LIKE '%/%')`,
    [session.id, attempt, mayHaveActedOutside(session)],
  );
}
