import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { logChain } from '@lemniscate/shared/audit/log-chain.ts';
import type { Query } from './log-store.ts';

/** The entry in its place behind the chain's head, as columns. A head that has moved meanwhile makes the insert fail. */
export async function placeInLogChain(
  query: Query,
  draft: AuditDraft,
  now: Date,
): Promise<{ columns: unknown[]; lastSeq: number }> {
  const [row] = await query<{ head_seq: string; head_digest: Uint8Array; closed: boolean }>(
    'SELECT head_seq, head_digest, closed FROM audit_chains WHERE chain = $1',
    [logChain],
  );
  const head =
    row === undefined
      ? unopened(logChain)
      : { chain: logChain, seq: Number(row.head_seq), digest: row.head_digest, closed: row.closed };
  const { entries, head: after } = extendChain(head, [draft], now.toISOString());
  const columns = [
    entries.map(({ seq }) => seq),
    entries.map(({ prev }) => prev),
    entries.map(({ digest }) => digest),
    entries.map(({ body }) => body),
    entries.map(({ type }) => type),
    entries.map(({ at }) => at),
  ];
  return { columns, lastSeq: after.seq };
}
