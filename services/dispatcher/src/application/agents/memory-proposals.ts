import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import type { MemoryProposal } from '@lemniscate/shared/api/memory.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import { merge, recordRejected } from './memory.ts';
import type { MemoryDeps, MemoryOwner, PushNotices } from './memory.ts';

interface ProposalRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly base_version: number;
  readonly files: FolderFile[];
  readonly created_at: string;
}

/** What waits for a person's look, the oldest first. */
export async function listProposals(
  tx: Transaction,
  { agent, project }: MemoryOwner,
): Promise<MemoryProposal[]> {
  const rows = await tx.query<ProposalRow>(
    `SELECT session_id, base_version, files, created_at FROM memory_proposals
     WHERE agent_id = $1 AND project_id = $2 AND state = 'waiting' ORDER BY created_at LIMIT 200`,
    [agent, project],
  );
  return rows.map((row) => ({
    session: row.session_id,
    baseVersion: row.base_version,
    files: row.files,
    createdAt: row.created_at,
  }));
}

/**
 * A person's word on what a session wants remembered.
 * @returns notices of the merge
 * @throws CodedError `forbidden` for a program, `not_found` when nothing waits; `payload_too_large` where the memory would be
 *   beyond its bounds: the proposal waits on
 */
export async function decideProposal(
  deps: MemoryDeps,
  person: Person,
  owner: MemoryOwner,
  decision: { readonly session: string; readonly accept: boolean; readonly at: string },
): Promise<PushNotices> {
  if (person.kind !== 'human')
    throw new CodedError(
      'forbidden',
      `${person.name} is a program. What is remembered is decided by a person.`,
    );
  return deps.database.transaction(async (tx) => {
    const [row] = await tx.query<ProposalRow>(
      `UPDATE memory_proposals SET state = $4, decided_by = $5, decided_at = now()
       WHERE session_id = $1 AND agent_id = $2 AND project_id = $3 AND state = 'waiting'
       RETURNING session_id, base_version, files, created_at`,
      [
        decision.session,
        owner.agent,
        owner.project,
        decision.accept ? 'accepted' : 'rejected',
        person.subject,
      ],
    );
    if (row === undefined)
      throw new CodedError('not_found', `Nothing of session ${decision.session} waits to be remembered.`);
    if (!decision.accept) {
      await recordRejected(deps, tx, person, owner, { session: row.session_id, files: row.files.length });
      return [];
    }
    const { base_version: base, files } = row;
    const push = { session: decision.session, base, files, at: decision.at, by: person.subject };
    const { fault, notices } = await merge(deps, tx, owner, push);
    if (fault === null) return notices;
    throw new CodedError(
      'payload_too_large',
      `With these files the memory has ${fault}. Take something out of it, then accept; until then they wait.`,
    );
  });
}
