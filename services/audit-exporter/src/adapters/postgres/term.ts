import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import type { Term } from '../../application/ports/term.ts';
import { errorFields } from '../../log.ts';
import type { Log } from '../../log.ts';
import { createLogStore } from './log-store.ts';
import type { Query } from './log-store.ts';
import { createSealStore } from './seal-store.ts';
import { createSettingsStore } from './settings-store.ts';

// two numbers, so that it cannot meet the one-number locks of migrations; the first spells "lemn"
const lock = [0x6c656d6e, 7] as const;
const channel = 'lemniscate_audit';

/** Connects as role lemniscate_exporter, which can read entries and change none. */
export async function beginTerm(url: string, log: Log, now: () => Date, notified: () => void): Promise<Term> {
  const client = new Client({
    connectionString: url,
    application_name: 'lemniscate-audit-exporter',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    statement_timeout: 20_000,
    query_timeout: 25_000,
  });
  const over = new Promise<void>((resolve) => {
    client.on('error', (error) => {
      log('warn', 'the connection to Postgres broke', errorFields(error));
      resolve();
    });
    client.on('end', resolve);
  });
  const end = async (): Promise<void> => {
    const closed = client
      .end()
      .catch((error: unknown) => log('warn', 'the connection did not close', errorFields(error)));
    await Promise.race([closed, over, setTimeout(2_000, undefined, { ref: false })]);
    client.connection.stream.destroy();
  };
  client.on('notification', notified);
  const answer = async (text: string, values: readonly unknown[]): Promise<unknown[]> => {
    try {
      return (await client.query(text, [...values])).rows;
    } catch (error) {
      // without an answer nobody knows what the server is at: the connection is of no more use
      if (error instanceof Error && error.message === 'Query read timeout')
        client.connection.stream.destroy();
      throw error;
    }
  };
  // the jobs share the connection, so their statements take turns
  let turn: Promise<unknown> = Promise.resolve();
  const query: Query = <Row>(text: string, values: readonly unknown[] = []) => {
    const rows = turn.then(() => answer(text, values)) as Promise<Row[]>;
    turn = rows.catch(() => undefined);
    return rows;
  };
  try {
    await client.connect();
    await client.query('SET ROLE lemniscate_exporter');
    await client.query(`LISTEN ${channel}`);
  } catch (error) {
    await end();
    throw error;
  }
  const lead = async (): Promise<boolean> => {
    const [row] = await query<{ held: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS held', lock);
    return row?.held === true;
  };
  const [store, seals] = [createLogStore(query), createSealStore(query, now)];
  return { store, seals, settings: createSettingsStore(query, now), lead, over, end };
}
