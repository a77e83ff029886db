import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft, ChainedEntry } from '@lemniscate/shared/audit/entry.ts';
import { tilePlace } from '@lemniscate/shared/audit/merkle-proof.ts';
import { createTreeHasher, verifyInclusion } from '@lemniscate/shared/audit/merkle.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { createAppendSignal, createAuditLog } from '../adapters/postgres/audit-log.ts';
import { createAuditProofs } from '../adapters/postgres/audit-proofs.ts';
import { createDatabase } from '../adapters/postgres/database.ts';
import { migrate } from '../adapters/postgres/migrations.ts';
import type { Database } from '../application/ports/transaction.ts';

// Load on the audit log's own code, for the benchmark, which may not import a service:
// `node audit-append-load.ts DATABASE_URL prepare|append|paced|proof COUNT`; writes one JSON object.

const sessions = 200;
/** Rounds before those that are timed. */
const warmUp = 10;
/** Times that the two sides take turns. */
const turns = 10;
/** Entries of a transaction: a proposal and its decision. */
const entriesAtOnce = 2;
/** Proofs that are timed, of each kind; tiles that are written at once. */
const proofs = 200;
const tilesAtOnce = 1_000;
const [given = '', mode = '', count = '0'] = process.argv.slice(2);
/** Proofs are timed in a database of their own: its tiles are no log's. */
const url = new URL(given);

const draft = (call: number): AuditDraft => ({
  type: 'tool.decided',
  subject: 'spiffe://lemniscate/dispatcher/one',
  attempt: 1,
  server: 'one',
  body: {
    call: `toolu_${call}`,
    verdict: 'allowedWithoutPermission',
    decidedBy: 'automation',
    argumentsDigest: 'a'.repeat(64),
    policyDigest: 'b'.repeat(64),
    reasons: ['the project frees this command'],
  },
});
const opening: AuditDraft = {
  type: 'session.opened',
  subject: 'ann',
  body: { policyDigest: 'b'.repeat(64) },
};

/**
 * Runs `work` for every session at once, `rounds` times each, with numbers that go on from `first`.
 * @returns milliseconds
 */
async function forSessions(
  rounds: number,
  first: number,
  work: (session: number, round: number) => Promise<void>,
): Promise<number> {
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: sessions }, async (_, session) => {
      for (let round = first; round < first + rounds; round += 1) await work(session, round);
    }),
  );
  return performance.now() - begin;
}

/** As the owner: the application's role makes no tables and writes no tiles. */
async function asOwner<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url.href });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The table that plain inserts go to: like the log's own, without its triggers. */
async function prepare(client: Client): Promise<object> {
  await client.query('CREATE TABLE plain_entries (LIKE audit_entries INCLUDING ALL)');
  await client.query('CREATE TABLE plain_heads (session int PRIMARY KEY)');
  await client.query(`INSERT INTO plain_heads SELECT generate_series(0, ${sessions - 1})`);
  await client.query('GRANT SELECT, INSERT, UPDATE ON plain_entries, plain_heads TO lemniscate_app');
  return {};
}

async function append(database: Database, total: number) {
  const run = randomBytes(4).toString('hex');
  const appended = createAppendSignal(database, () => undefined);
  const audit = createAuditLog({ clock: systemClock, commitmentKey: Buffer.alloc(32), appended });
  const chain = (session: number) => sessionChain(`bench_${run}_${session}`);
  for (let session = 0; session < sessions; session += 1)
    await database.transaction((tx) => audit.append(tx, chain(session), [opening]));
  const appendOne = (session: number, round: number): Promise<void> =>
    database.transaction((tx) => audit.append(tx, chain(session), [draft(round), draft(round + 1)]));
  const rows = extendChain(
    unopened('session:x'),
    [opening, draft(1), draft(2)],
    new Date().toISOString(),
  ).entries.slice(1);
  const insertOne = (session: number, round: number): Promise<void> =>
    database.transaction((tx) => insertPlain(tx, session, `${run}_${session}`, rows, round));
  // a connection's first statements are planned, and its functions compiled: both sides are timed warm
  await forSessions(warmUp, 0, appendOne);
  await forSessions(warmUp, 0, insertOne);
  // in turns, so that both have the same neighbours: minutes of a shared machine differ by more than the two do
  let [appending, inserting] = [0, 0];
  const rounds = Math.ceil(total / turns / sessions / entriesAtOnce);
  for (let turn = 0; turn < turns; turn += 1) {
    const from = warmUp + turn * rounds;
    appending += await forSessions(rounds, from, appendOne);
    inserting += await forSessions(rounds, from, insertOne);
  }
  const rate = (ms: number): number => Math.round((turns * rounds * sessions * entriesAtOnce) / (ms / 1_000));
  return { appendRate: rate(appending), plainRate: rate(inserting) };
}

/** The same rows, and the same lock of the session that they belong to, in one statement as well. */
async function insertPlain(
  tx: { query: Database['query'] },
  session: number,
  chain: string,
  rows: readonly ChainedEntry[],
  round: number,
): Promise<void> {
  await tx.query(
    `WITH head AS MATERIALIZED (SELECT 1 FROM plain_heads WHERE session = $8 FOR UPDATE)
     INSERT INTO plain_entries (chain, seq, prev, digest, body, type, at)
     SELECT $1, entry.* FROM head,
       unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], $7::timestamptz[]) AS entry`,
    [
      chain,
      rows.map((_, place) => round * 2 + place + 1),
      rows.map(({ prev }) => prev),
      rows.map(({ digest }) => digest),
      rows.map(({ body }) => body),
      rows.map(({ type }) => type),
      rows.map(({ at }) => at),
      session,
    ],
  );
}

/** Appends `perSecond` entries a second for eight seconds. */
async function paced(database: Database, perSecond: number) {
  const run = randomBytes(4).toString('hex');
  const appended = createAppendSignal(database, () => undefined);
  const audit = createAuditLog({ clock: systemClock, commitmentKey: Buffer.alloc(32), appended });
  const begin = performance.now();
  let entries = 0;
  for (let session = 0; performance.now() - begin < 8_000; session += 1) {
    const drafts = [opening, ...Array.from({ length: 19 }, (_, call) => draft(call))];
    await database.transaction((tx) => audit.append(tx, sessionChain(`paced_${run}_${session}`), drafts));
    entries += drafts.length;
    const due = (entries / perSecond) * 1_000 - (performance.now() - begin);
    if (due > 1) await setTimeout(due);
  }
  return { entries, seconds: (performance.now() - begin) / 1_000 };
}

/** The leaf at an index. */
function leafAt(index: number): Buffer {
  const leaf = Buffer.alloc(32, 7);
  leaf.writeUInt32LE(index);
  return leaf;
}

/** Times proofs over a log of so many leaves, each checked; only the tiles are made, for a proof reads nothing else. */
async function proof(database: Database, size: number) {
  const root = await asOwner((client) => writeTiles(client, size));
  const proofsOf = createAuditProofs(database);
  const times: number[] = [];
  const timed = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
    const begin = performance.now();
    const result = await ask();
    times.push(Math.round((performance.now() - begin) * 1_000) / 1_000);
    return result;
  };
  for (let round = 0; round < proofs; round += 1) {
    const index = 1 + ((round * 7_919 * 131) % (size - 1));
    const [chain, seq] = ['session:proof', round + 1];
    await asOwner((client) =>
      client.query('INSERT INTO audit_log (index, chain, seq) VALUES ($1, $2, $3)', [index, chain, seq]),
    );
    const { path } = await timed(() => proofsOf.inclusion(chain, seq, size));
    const hashes = path.map((hash) => Buffer.from(hash, 'hex'));
    if (!verifyInclusion(leafAt(index), index, { size, root }, hashes))
      throw new Error(`The proof of entry ${index} does not hold.`);
    await timed(() => proofsOf.consistency(index, size));
  }
  return { times };
}

/** Every tile of a log of so many leaves. @returns the log's root */
async function writeTiles(client: Client, size: number): Promise<Uint8Array> {
  const tiles = new Map<string, { level: number; number: number; hashes: Uint8Array[] }>();
  const write = async (): Promise<void> => {
    const rows = [...tiles.values()];
    tiles.clear();
    await client.query(
      `INSERT INTO audit_tiles SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[])
       ON CONFLICT (level, number) DO UPDATE SET hashes = audit_tiles.hashes || excluded.hashes`,
      [
        rows.map(({ level }) => level),
        rows.map(({ number }) => number),
        rows.map(({ hashes }) => Buffer.concat(hashes)),
      ],
    );
  };
  const hasher = createTreeHasher(undefined, (node, hash) => {
    if (node.level % 8 !== 0) return;
    const { level, number } = tilePlace(node);
    const key = `${level}/${number}`;
    const tile = tiles.get(key) ?? { level, number, hashes: [] };
    tile.hashes.push(hash);
    tiles.set(key, tile);
  });
  for (let leaf = 0; leaf < size; leaf += 1) {
    hasher.push(leafAt(leaf));
    if (leaf % 256 === 255 && tiles.size > tilesAtOnce) await write();
  }
  await write();
  return hasher.root();
}

if (mode === 'proof') {
  await asOwner((client) => client.query('CREATE DATABASE audit_proofs'));
  url.pathname = '/audit_proofs';
}
const database = createDatabase({
  url,
  connections: 20,
  statementTimeoutMs: 60_000,
  onConnectionError: () => undefined,
});
await migrate(url, () => undefined);
try {
  if (mode === 'prepare') console.log(JSON.stringify(await asOwner(prepare)));
  else if (mode === 'append') console.log(JSON.stringify(await append(database, Number(count))));
  else if (mode === 'paced') console.log(JSON.stringify(await paced(database, Number(count))));
  else console.log(JSON.stringify(await proof(database, Number(count))));
} finally {
  await database.close();
}
