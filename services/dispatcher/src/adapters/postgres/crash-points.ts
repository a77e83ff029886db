import type { CrashPoint } from '@lemniscate/shared/crash-points.ts';
import type { PostgresDatabase } from './database.ts';

/**
 * The record with a crash point before and after each commit. A commit is named by the file that asks for it, so that
 * a new one has its points without anybody's doing.
 */
export function withCrashPoints(database: PostgresDatabase, point: CrashPoint): PostgresDatabase {
  return {
    ...database,
    query: async (text, values) => {
      if (!isWrite(text)) return database.query(text, values);
      const name = `write ${callerOf(new Error('where').stack)}`;
      point(`${name}:before`);
      const rows = await database.query<never>(text, values);
      point(`${name}:after`);
      return rows;
    },
    transaction: async (work) => {
      const name = `commit ${callerOf(new Error('where').stack)}`;
      const result = await database.transaction(async (tx) => {
        const done = await work(tx);
        point(`${name}:before`);
        return done;
      });
      point(`${name}:after`);
      return result;
    },
  };
}

/** Whether a statement by itself is a commit. */
export function isWrite(text: string): boolean {
  return /^\s*(INSERT|UPDATE|DELETE)\b|\b(INSERT INTO|UPDATE|DELETE FROM)\s+[a-z_]+\s/.test(text);
}

/** The first file of ours in a stack beside this one. */
export function callerOf(stack: string | undefined): string {
  const frames = [...(stack ?? '').matchAll(/\/src\/((?:application|jobs|http|adapters)\/[\w/-]+)\.ts/g)];
  const found = frames.map((frame) => frame[1] ?? '').find((file) => !file.endsWith('postgres/crash-points'));
  return (found ?? 'start').replace(/^(application|adapters)\//, '');
}
