import { commitment } from '@lemniscate/shared/audit/commitment.ts';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import type { ChainHead } from '@lemniscate/shared/audit/chain.ts';
import { toHex } from '@lemniscate/shared/audit/digest.ts';
import { identitiesIn, withPseudonyms } from '@lemniscate/shared/audit/person.ts';
import { normaliseText } from '@lemniscate/shared/audit/canonical.ts';
import { redactValue } from '@lemniscate/shared/secrets/redact.ts';
import { openingType } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft, ChainedEntry } from '@lemniscate/shared/audit/entry.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AuditLog } from '../../application/ports/audit-log.ts';
import type { PeopleMap } from '../../application/ports/people-map.ts';
import type { Transaction } from '../../application/ports/transaction.ts';
import { createHeadsSeen } from './heads-seen.ts';
import { createPeopleMap } from './people-map.ts';

export interface AuditLogDeps {
  readonly clock: Clock;
  /** From `readCommitmentKey`. */
  readonly commitmentKey: Uint8Array;
  /** Who the people are that act; absent: a map of its own. */
  readonly people?: PeopleMap;
  /** Called after each append, before its commit: `createAppendSignal`. */
  readonly appended?: () => void;
}

const signalEveryMs = 200;

/** The channel on which the exporter listens. */
const channel = 'lemniscate_audit';

/**
 * The audit log in Postgres. Works at READ COMMITTED, which is Postgres' default: whoever waited for a chain's lock has
 * to see what its holder wrote. One statement an append where this process wrote the chain's last entry or opens the
 * chain, else two.
 */
export function createAuditLog({
  clock,
  commitmentKey,
  appended,
  people = createPeopleMap(clock),
}: AuditLogDeps): AuditLog {
  const heads = createHeadsSeen();
  const extend = async (
    tx: Transaction,
    chain: string,
    drafts: readonly AuditDraft[],
  ): Promise<ChainHead> => {
    const seen = heads.get(chain);
    const grow = (head: ChainHead) => extendChain(head, drafts, clock.now().toISOString());
    if (seen !== undefined && drafts[0]?.type !== openingType(chain)) {
      const grown = grow(seen);
      const found = await insertBehind(tx, seen, grown.entries);
      if (found === 'inserted') return grown.head;
      if (found !== null) return insertAll(tx, chain, grow(found));
    }
    return insertAll(tx, chain, grow(await headToExtend(tx, chain, drafts)));
  };
  return {
    append: async (tx, chain, drafts) => {
      if (drafts.length === 0) return;
      // before the chain is locked: whoever waits for a row of the map must hold no chain
      const written = await inPseudonyms(people, tx, drafts);
      const head = await extend(tx, chain, written);
      if (head.closed) heads.delete(chain);
      else heads.set(chain, head);
      appended?.();
    },
    head: async (tx, chain) => {
      const head = await readHead(tx, chain, '');
      return head === null ? null : { seq: head.seq, digest: toHex(head.digest), closed: head.closed };
    },
    commit: (kind, text) => commitment(commitmentKey, kind, text),
  };
}

/**
 * Wakes the exporter at most once in `signalEveryMs`: it then orders, seals and ships in one go what came meanwhile, and
 * its work does not fall into the first moments of the session that woke it. A NOTIFY in the appending transaction itself would hold a lock that all
 * committing transactions of the cluster share: with 200 writers it cost a fifth of the appends. A signal that comes
 * before its commit, or never, costs the exporter's timer (one second), nothing else.
 */
export function createAppendSignal(database: Transaction, onError: (error: unknown) => void): () => void {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      database.query(`SELECT pg_notify($1, '')`, [channel]).catch(onError);
    }, signalEveryMs).unref();
  };
}

/** Members of a body that hold ids and words of ours. Searching each for secrets would cost as much as the append. */
const idMembers: ReadonlySet<string> = new Set(
  [
    'call',
    'tool',
    'approval',
    'session',
    'usage',
    'model',
    'provider',
    'state',
    'verdict',
    'answer',
    'decidedBy',
  ].concat([
    'policyDigest',
    'argumentsDigest',
    'instructionCommitment',
    'sha256',
    'runtime',
    'surface',
    'project',
    'driver',
  ]),
);

async function inPseudonyms(
  people: PeopleMap,
  tx: Transaction,
  drafts: readonly AuditDraft[],
): Promise<readonly AuditDraft[]> {
  // a detected secret is not logged in clear text, wherever a path or a reason has brought it from
  const harmless = drafts.map((draft) => ({
    ...draft,
    subject: normaliseText(draft.subject),
    body: redactValue(draft.body, idMembers),
  }));
  const identities = harmless.flatMap(identitiesIn);
  if (identities.length === 0) return harmless;
  const pseudonyms = await people.pseudonyms(tx, identities);
  return harmless.map((draft) => withPseudonyms(draft, pseudonyms));
}

/** The fleet's commitment key, which the migration made. Read once at start. */
export async function readCommitmentKey(tx: Transaction): Promise<Uint8Array> {
  const [row] = await tx.query<{ key: Uint8Array }>(`SELECT key FROM audit_keys WHERE name = 'commitment'`);
  if (row !== undefined) return row.key;
  throw new CodedError(
    'configuration_invalid',
    'The table audit_keys has no key "commitment". Restore its row.',
  );
}

async function headToExtend(
  tx: Transaction,
  chain: string,
  drafts: readonly AuditDraft[],
): Promise<ChainHead> {
  // who opens does not look first: if the chain is there, the insert says so
  if (drafts[0]?.type === openingType(chain)) return unopened(chain);
  const head = await readHead(tx, chain, 'FOR UPDATE');
  if (head !== null) return head;
  if (openingType(chain) !== 'chain.opened') return unopened(chain);
  // two first writers of a chain that opens by itself take turns: there is no row yet that they could lock
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [chain]);
  return (await readHead(tx, chain, 'FOR UPDATE')) ?? unopened(chain);
}

interface HeadRow extends Record<string, unknown> {
  readonly head_seq: string;
  readonly head_digest: Uint8Array;
  readonly closed: boolean;
}

async function readHead(tx: Transaction, chain: string, lock: '' | 'FOR UPDATE'): Promise<ChainHead | null> {
  const [row] = await tx.query<HeadRow>(
    `SELECT head_seq, head_digest, closed FROM audit_chains WHERE chain = $1 ${lock}`,
    [chain],
  );
  return row === undefined ? null : headOf(chain, row);
}

const headOf = (chain: string, row: HeadRow): ChainHead => ({
  chain,
  seq: Number(row.head_seq),
  digest: row.head_digest,
  closed: row.closed,
});

const columnsOf = (entries: readonly ChainedEntry[]): unknown[] => [
  entries.map(({ seq }) => seq),
  entries.map(({ prev }) => prev),
  entries.map(({ digest }) => digest),
  entries.map(({ body }) => body),
  entries.map(({ type }) => type),
  entries.map(({ at }) => at),
];

/**
 * Locks the chain and inserts entries behind the head that was seen last, in one statement.
 * @returns the head as it is, locked, where it is another one; null where there is no such chain
 */
async function insertBehind(
  tx: Transaction,
  seen: ChainHead,
  entries: readonly ChainedEntry[],
): Promise<'inserted' | ChainHead | null> {
  const [row] = await tx.query<HeadRow & { inserted: boolean }>(
    `WITH head AS MATERIALIZED (
       SELECT head_seq, head_digest, closed FROM audit_chains WHERE chain = $1 FOR UPDATE
     ), added AS (
       INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
       SELECT $1, entry.*
       FROM head, unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], $7::timestamptz[]) AS entry
       WHERE head.head_seq = $8 AND head.head_digest = $9 AND NOT head.closed
       RETURNING 1
     )
     SELECT head_seq, head_digest, closed, EXISTS (SELECT FROM added) AS inserted FROM head`,
    [seen.chain, ...columnsOf(entries), seen.seq, seen.digest],
  );
  if (row === undefined) return null;
  return row.inserted ? 'inserted' : headOf(seen.chain, row);
}

async function insertAll(
  tx: Transaction,
  chain: string,
  { entries, head }: { readonly entries: readonly ChainedEntry[]; readonly head: ChainHead },
): Promise<ChainHead> {
  try {
    await tx.query(
      `INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
       SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], $7::timestamptz[])`,
      [chain, ...columnsOf(entries)],
    );
    return head;
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new CodedError('audit_chain_broken', `The audit chain ${chain} is open already.`, { chain }, error);
  }
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23505';
}
