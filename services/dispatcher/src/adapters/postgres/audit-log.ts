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
import type { AuditLog, ChainAppend } from '../../application/ports/audit-log.ts';
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
      const guessed = grow(seen);
      if (await insertBehind(tx, seen, guessed.entries)) return guessed.head;
    }
    const head = await headToExtend(tx, chain, drafts);
    const grown = grow(head);
    if (await insertBehind(tx, head, grown.entries)) return grown.head;
    throw new CodedError('internal', `The audit chain ${chain} has moved although it was locked.`, { chain });
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
    appendEach: async (tx, appends) => {
      const written = await eachInPseudonyms(people, tx, appends);
      const ends = await headsToExtend(tx, written);
      const at = clock.now().toISOString();
      const grown = written.map(({ chain, drafts }) =>
        extendChain(ends.get(chain) ?? unopened(chain), drafts, at),
      );
      // Not awaited: it travels with what the caller sends next, and where it fails the commit fails with its error.
      insertEach(
        tx,
        grown.flatMap(({ entries }) => entries),
      ).catch(() => undefined);
      for (const { head } of grown)
        if (head.closed) heads.delete(head.chain);
        else heads.set(head.chain, head);
      if (grown.length > 0) appended?.();
    },
    lookAhead: async (tx, chain) => {
      if (heads.get(chain) !== undefined) return;
      const head = await readHead(tx, chain, 'FOR UPDATE');
      // One that was closed meanwhile is never the end of an append.
      if (head !== null && !head.closed) heads.set(chain, head);
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

async function eachInPseudonyms(
  people: PeopleMap,
  tx: Transaction,
  appends: readonly ChainAppend[],
): Promise<ChainAppend[]> {
  const written = await inPseudonyms(
    people,
    tx,
    appends.flatMap(({ drafts }) => drafts),
  );
  let next = 0;
  return appends.map(({ chain, drafts }) => {
    const from = next;
    next += drafts.length;
    return { chain, drafts: written.slice(from, next) };
  });
}

/** Locks the chains that are there, in the order of their names; who opens a chain does not look. */
async function headsToExtend(
  tx: Transaction,
  appends: readonly ChainAppend[],
): Promise<ReadonlyMap<string, ChainHead>> {
  const there = appends
    .filter(({ chain, drafts }) => drafts[0]?.type !== openingType(chain))
    .map(({ chain }) => chain);
  if (there.length === 0) return new Map();
  const rows = await tx.query<HeadRow & { chain: string }>(
    `SELECT chain, head_seq, head_digest, closed FROM audit_chains WHERE chain = ANY ($1) ORDER BY chain FOR UPDATE`,
    [there],
  );
  return new Map(rows.map((row) => [row.chain, headOf(row.chain, row)]));
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

/**
 * Inserts entries behind a head, in one statement that locks the chain and makes their links itself. Bodies and digests
 * travel as one value each: an array of bytes is written in hex, which took longer than the hashing.
 * @returns whether the chain ended there; if not, nothing has been written
 */
async function insertBehind(
  tx: Transaction,
  head: ChainHead,
  entries: readonly ChainedEntry[],
): Promise<boolean> {
  const { starts, lengths, bodies } = joined(entries);
  try {
    const [row] = await tx.query<{ appended: boolean }>(
      'SELECT audit_append($1, $2, $3, $4, $5, $6, $7, $8, $9) AS appended',
      [
        head.chain,
        head.seq,
        head.digest,
        Buffer.concat(entries.map(({ digest }) => digest)),
        bodies,
        starts,
        lengths,
        entries.map(({ type }) => type),
        entries[0]?.at,
      ],
    );
    return row?.appended === true;
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const sentence = `The audit chain ${head.chain} is open already.`;
    throw new CodedError('audit_chain_broken', sentence, { chain: head.chain }, error);
  }
}

/** Entries of several chains at once; each is held to the end of its chain. One a chain go by a function of their own. */
async function insertEach(tx: Transaction, entries: readonly ChainedEntry[]): Promise<void> {
  if (new Set(entries.map(({ chain }) => chain)).size < entries.length) return insertEntries(tx, entries);
  if (entries.length === 0) return;
  const { starts, lengths, bodies } = joined(entries);
  await tx.query('SELECT audit_append_each($1, $2, $3, $4, $5, $6, $7, $8, $9)', [
    entries.map(({ chain }) => chain),
    entries.map(({ seq }) => seq - 1),
    Buffer.concat(entries.map(({ prev }) => (prev.length === 0 ? noDigest : prev))),
    Buffer.concat(entries.map(({ digest }) => digest)),
    bodies,
    starts,
    lengths,
    entries.map(({ type }) => type),
    entries[0]?.at,
  ]);
}

const noDigest = Buffer.alloc(32);

/** Bodies one behind the other, with the start (from 1) and the length of each. */
function joined(entries: readonly ChainedEntry[]) {
  const bodies = entries.map(({ body }) => body);
  const lengths = bodies.map((body) => body.length);
  let end = 1;
  const starts = lengths.map((length) => (end += length) - length);
  return { starts, lengths, bodies: Buffer.concat(bodies) };
}

/** Inserted plainly: the trigger holds each to the end of its chain. */
async function insertEntries(tx: Transaction, entries: readonly ChainedEntry[]): Promise<void> {
  await tx.query(
    `INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], $7::timestamptz[])`,
    [
      entries.map(({ chain }) => chain),
      entries.map(({ seq }) => seq),
      entries.map(({ prev }) => prev),
      entries.map(({ digest }) => digest),
      entries.map(({ body }) => body),
      entries.map(({ type }) => type),
      entries.map(({ at }) => at),
    ],
  );
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23505';
}
