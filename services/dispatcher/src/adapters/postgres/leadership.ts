import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Leadership } from '../../application/ports/leadership.ts';
import type { Log } from '../../application/ports/log.ts';

export interface RunningLeadership extends Leadership {
  close(): Promise<void>;
}

// Two numbers, so that it cannot meet the one-number locks of migrations and of queries; the first spells "lemn".
const lock = [0x6c656d6e, 1] as const;
/** How often the lock is asked for, and the holder asks whether it still has its connection. */
const everyMs = 1_000;
/** A holder that has no answer by then does not lead any more. */
const answerMs = 3_000;

/**
 * Leads while a session of its own holds an advisory lock. A holder that dies gives it up with its connection, at once;
 * one that is cut off when Postgres' keepalive finds it, about five seconds later, and has stepped down by itself
 * before that. Everything that a leader does is harmless when two do it for a moment: the lock saves work, it guards
 * nothing.
 * @param url a direct one: behind a transaction pooler a lock belongs to whoever is served next
 */
export async function startLeadership(url: URL, log: Log): Promise<RunningLeadership> {
  const stopping = new AbortController();
  let client: Client | null = null;
  let isLeading = false;
  let answeredAt = 0;

  const become = (leads: boolean): void => {
    if (leads !== isLeading)
      log.info({ leads }, leads ? 'this dispatcher leads from now on' : 'this dispatcher leads no more');
    isLeading = leads;
  };
  const drop = async (): Promise<void> => {
    const dropped = client;
    client = null;
    become(false);
    if (dropped === null) return;
    await Promise.race([dropped.end().catch(() => undefined), delay(500)]);
    dropped.connection.stream.destroy();
  };
  const look = async (): Promise<void> => {
    client ??= await connect(url);
    const text = isLeading ? 'SELECT true AS held' : 'SELECT pg_try_advisory_lock($1, $2) AS held';
    const { rows } = await client.query<{ held: boolean }>(text, isLeading ? [] : [...lock]);
    answeredAt = performance.now();
    become(rows[0]?.held === true);
  };
  const attempt = (): Promise<void> =>
    look().catch(async (error: unknown) => {
      log.debug({ err: error }, 'the lock of the singletons cannot be asked for');
      await drop();
    });
  // Before the jobs begin: the only dispatcher of a fleet leads from its first moment.
  await attempt();
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await delay(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (!stopping.signal.aborted) await attempt();
    }
  };
  const running = loop();
  return {
    leads: () => isLeading && performance.now() - answeredAt < everyMs + answerMs,
    close: async () => {
      stopping.abort();
      await drop();
      await running;
    },
  };
}

async function connect(url: URL): Promise<Client> {
  const client = new Client({
    connectionString: url.href,
    application_name: 'lemniscate-leadership',
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
    keepAlive: true,
  });
  // What breaks shows at the next question.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(
    'SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3',
  );
  return client;
}
