import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { Client, Pool } from 'pg';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import type { ChainHead } from '@lemniscate/shared/audit/chain.ts';
import { openingType } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';

const server = process.env['LEMNISCATE_TEST_DATABASE_URL'];

/** Reason of a skip where no Postgres is given. */
export const noDatabase = server === undefined ? 'postgres: LEMNISCATE_TEST_DATABASE_URL is not set' : false;

export interface LogDatabase {
  readonly url: string;
  /** As the migrating owner, who is a superuser here. */
  readonly owner: Pool;
  /** Appends to a chain as the dispatcher does: one transaction, at once or after a rollback never. */
  append(chain: string, drafts: readonly AuditDraft[]): Promise<void>;
  drop(): Promise<void>;
}

export const executed = (call: number, more: AuditDraft['body'] = {}): AuditDraft => ({
  type: 'tool.executed',
  subject: 'spiffe://lemniscate/agent-server/one',
  attempt: 1,
  server: 'one',
  body: { call: `c${call}`, state: 'done', exitCode: 0, durationMs: 7, ...more },
});
export const opened: AuditDraft = {
  type: 'session.opened',
  subject: 'ann@example.org',
  body: { policyDigest: 'a'.repeat(64) },
};
export const closed: AuditDraft = {
  type: 'chain.closed',
  subject: 'spiffe://lemniscate/dispatcher/one',
  body: {},
};

/** A database of its own with every migration applied. */
export async function createLogDatabase(): Promise<LogDatabase> {
  const name = `exporter_${randomBytes(6).toString('hex')}`;
  const url = new URL(server ?? '');
  const admin = new Client({ connectionString: url.href });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  url.pathname = `/${name}`;
  const owner = new Pool({ connectionString: url.href, max: 10 });
  owner.on('error', () => undefined);
  for (const migration of await upMigrations())
    await owner.query(migration).catch((error: unknown) => {
      // roles belong to the cluster: the test beside this one made it at the same moment
      if ((error as { constraint?: string }).constraint !== 'pg_authid_rolname_index') throw error;
      return owner.query(migration);
    });
  return {
    url: url.href,
    owner,
    append: (chain, drafts) => append(owner, chain, drafts),
    drop: async () => {
      await owner.end();
      await untilUnused(admin, name);
      await admin.query(`DROP DATABASE ${name}`);
      await admin.end();
    },
  };
}

/** A copy of a database as a backup has it. */
export async function copyLogDatabase(
  original: LogDatabase,
): Promise<{ url: string; drop(): Promise<void> }> {
  const url = new URL(original.url);
  const from = url.pathname.slice(1);
  const name = `${from}_copy`;
  const admin = new Client({ connectionString: server });
  await admin.connect();
  // a database is copied while nobody is connected to it
  await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [from]);
  await untilUnused(admin, from);
  await admin.query(`CREATE DATABASE ${name} TEMPLATE ${from}`);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    },
  };
}

async function append(pool: Pool, chain: string, drafts: readonly AuditDraft[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const { rows } = await client.query('SELECT * FROM audit_chains WHERE chain = $1 FOR UPDATE', [chain]);
    const row = rows[0] as { head_seq: string; head_digest: Buffer; closed: boolean } | undefined;
    const head: ChainHead =
      row === undefined || drafts[0]?.type === openingType(chain)
        ? unopened(chain)
        : { chain, seq: Number(row.head_seq), digest: row.head_digest, closed: row.closed };
    const { entries } = extendChain(head, drafts, new Date().toISOString());
    await client.query(
      `INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
       SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], $7::timestamptz[])`,
      [
        chain,
        entries.map(({ seq }) => seq),
        entries.map(({ prev }) => prev),
        entries.map(({ digest }) => digest),
        entries.map(({ body }) => body),
        entries.map(({ type }) => type),
        entries.map(({ at }) => at),
      ],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

/** A closed connection's backend lives on for a moment. */
async function untilUnused(admin: Client, name: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline) {
    const { rowCount } = await admin.query(
      `SELECT FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`,
      [name],
    );
    if (rowCount === 0) return;
  }
}

async function upMigrations(): Promise<string[]> {
  const folder = new URL('../../../dispatcher/migrations/', import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')));
  return texts.map((text) => text.split('-- Down Migration')[0] ?? '');
}
