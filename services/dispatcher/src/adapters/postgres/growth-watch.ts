import type { Log } from '../../application/ports/log.ts';
import type { Transaction } from '../../application/ports/transaction.ts';

/** Tables that grow by sessions and that statements on a session's way read. */
const watched = [
  'sessions',
  'attempts',
  'outbox',
  'session_events',
  'idempotency_keys',
  'audit_chains',
  'audit_entries',
  'approvals',
  'tool_calls',
  'usage',
];
const everyMs = 1_000;
/** Below this a table is read as a whole as fast as by an index. Bytes. */
const small = 256 * 1024;

/**
 * Says when a table has grown to twice of what it was. A kept plan is one of the time when it was made: of a fleet that was
 * empty it reads tables as a whole, and does so still when 100,000 sessions wait, until Postgres has counted anew.
 * @param grown throws kept plans away
 */
export function startGrowthWatch(deps: {
  readonly database: Transaction;
  readonly log: Log;
  readonly grown: () => void;
}): { close(): void } {
  const sizes = new Map<string, number>();
  let busy = false;
  const look = async (): Promise<void> => {
    const rows = await deps.database.query<{ name: string; bytes: number }>(
      `SELECT name, coalesce(pg_relation_size(to_regclass(name)), 0) AS bytes FROM unnest($1::text[]) AS given (name)`,
      [watched],
    );
    const isFirst = sizes.size === 0;
    const grown = rows.filter(({ name, bytes }) => bytes > 2 * Math.max(small, sizes.get(name) ?? 0));
    for (const { name, bytes } of isFirst ? rows : grown) sizes.set(name, bytes);
    if (!isFirst && grown.length > 0) deps.grown();
  };
  const tick = (): void => {
    if (busy) return;
    busy = true;
    look()
      .catch((error: unknown) => deps.log.debug({ err: error }, 'the sizes of tables could not be read'))
      .finally(() => {
        busy = false;
      });
  };
  const timer = setInterval(tick, everyMs).unref();
  tick();
  return { close: () => clearInterval(timer) };
}
