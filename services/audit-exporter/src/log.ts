import { redactSecrets } from '@lemniscate/shared/secrets/redact.ts';

export type LogLevel = 'info' | 'warn' | 'error';

/** Writes one record; fields are codes, names and counts, never an entry's body. */
export type Log = (level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** One JSON line a record, as every service writes them; secrets in a receiver's words are replaced. */
export function createLog(write: (line: string) => void, now: () => Date): Log {
  return (level, message, fields = {}) => {
    const record = { time: now().toISOString(), level, service: 'audit-exporter', message, ...fields };
    write(`${redactSecrets(JSON.stringify(record))}\n`);
  };
}

/** What a log record says of an error: code and sentence, no stack. */
export function errorFields(error: unknown): { error: string; code?: string } {
  const sentence = error instanceof Error ? error.message : String(error);
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? { error: sentence, code: error.code }
    : { error: sentence };
}
