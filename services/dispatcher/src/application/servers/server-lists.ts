import { createHash } from 'node:crypto';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Database } from '../ports/transaction.ts';
import type { ConfiguredServer } from './configured-server.ts';

export interface ServerListDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** This process. */
  readonly gatewayId: string;
  /** The list as it is now: it is read again each time. */
  readonly configured: () => Promise<readonly ConfiguredServer[]>;
}

/** A dispatcher's part of the servers: number `index` of `count`. */
export interface Share {
  readonly index: number;
  readonly count: number;
}

/** What all dispatchers that are alive name together. */
export interface NamedServers {
  readonly byUrl: ReadonlyMap<string, ConfiguredServer>;
  /** Which of the addresses this process looks after. */
  readonly share: Share;
  /** False for a while behind a gap of our own, such as a record that was away: others have to speak first. */
  readonly steady: boolean;
}

export interface ServerLists {
  /** Says what this process names, and reads what the others do. */
  look(): Promise<NamedServers>;
  /** This process names nothing any more. Best effort: a silent one is forgotten all the same. */
  leave(): Promise<void>;
}

/** Four looks. A dispatcher that was silent for longer names nothing: its addresses are out, its part is others'. */
export const namedForMs = 8_000;

interface ListRow extends Record<string, unknown> {
  readonly dispatcher: string;
  readonly digest: string;
}

/**
 * The lists of all dispatchers, through the record: a line that was taken out while nobody looked is missed by the next
 * one that looks, and while lists differ, as they do in the middle of a rolling change, an address that anybody names is
 * named.
 */
export function createServerLists(deps: ServerListDeps): ServerLists {
  const { database, gatewayId, clock } = deps;
  let contents: ReadonlyMap<string, readonly ConfiguredServer[]> = new Map();
  let lastAt = clock.monotonicMs();
  let steadyFrom = lastAt;
  let left = false;

  const say = async (servers: readonly ConfiguredServer[]): Promise<void> => {
    const text = JSON.stringify(servers);
    const digest = createHash('sha256').update(text).digest('hex');
    const said = await database.query(
      'UPDATE agent_server_lists SET named_at = now() WHERE dispatcher = $1 AND digest = $2 RETURNING 1',
      [gatewayId, digest],
    );
    if (said.length > 0) return;
    await database.query(
      `INSERT INTO agent_server_lists (dispatcher, servers, digest) VALUES ($1, $2, $3)
       ON CONFLICT (dispatcher) DO UPDATE SET servers = $2, digest = $3, changed_at = now(), named_at = now()`,
      [gatewayId, text, digest],
    );
    await database.query(
      `DELETE FROM agent_server_lists WHERE named_at < now() - $1 * interval '1 millisecond'`,
      [100 * namedForMs],
    );
  };

  /** Fetched once for each list, not once for each look. */
  const contentsOf = async (rows: readonly ListRow[]): Promise<typeof contents> => {
    const missing = rows.filter(({ digest }) => !contents.has(digest)).map(({ digest }) => digest);
    const fetched =
      missing.length === 0
        ? []
        : await database.query<{ digest: string; servers: ConfiguredServer[] }>(
            'SELECT DISTINCT ON (digest) digest, servers FROM agent_server_lists WHERE digest = ANY($1)',
            [missing],
          );
    const known = new Map([...contents, ...fetched.map(({ digest, servers }) => [digest, servers] as const)]);
    // The list that changed last comes last.
    const digests = new Set(rows.toReversed().map(({ digest }) => digest));
    return new Map([...digests].toReversed().map((digest) => [digest, known.get(digest) ?? []]));
  };

  return {
    look: async () => {
      const servers = await deps.configured();
      if (!left) await say(servers);
      const rows = await database.query<ListRow>(
        `SELECT dispatcher, digest FROM agent_server_lists
         WHERE named_at > now() - $1 * interval '1 millisecond' ORDER BY changed_at`,
        [namedForMs],
      );
      contents = await contentsOf(rows);
      const byUrl = new Map([...contents.values()].flat().map((server) => [server.url, server]));
      const now = clock.monotonicMs();
      if (now - lastAt > namedForMs) steadyFrom = now + namedForMs;
      lastAt = now;
      return { byUrl, steady: now >= steadyFrom, share: shareOf(gatewayId, rows) };
    },
    leave: async () => {
      left = true;
      await database
        .query('DELETE FROM agent_server_lists WHERE dispatcher = $1', [gatewayId])
        .catch((error: unknown) => deps.log.debug({ err: error }, 'the list of servers could not be left'));
    },
  };
}

function shareOf(self: string, rows: readonly ListRow[]): Share {
  const all = [...new Set([self, ...rows.map(({ dispatcher }) => dispatcher)])].sort();
  return { index: all.indexOf(self), count: all.length };
}

/** Hexadecimal digits of an address' digest that decide whose it is. */
const digits = 7;

/** Whether an address belongs to the share; the same as {@link inShareSql} says of a row. */
export function inShare(url: string, { index, count }: Share): boolean {
  if (count === 1) return true;
  const digest = createHash('sha256').update(url).digest('hex').slice(0, digits);
  return Number.parseInt(digest, 16) % count === index;
}

/** Condition on a row of servers: its address belongs to share `$1` of `$2`. */
export const inShareSql = `($2 = 1 OR
  ('x' || left(encode(sha256(convert_to(url, 'UTF8')), 'hex'), ${digits}))::bit(${4 * digits})::int % $2 = $1)`;
