import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { faultRecord } from '@lemniscate/shared/errors/fault-record.ts';
import { redactSecrets } from '@lemniscate/shared/secrets/redact.ts';

export type LogLevel = 'info' | 'warn' | 'error';

/** Writes one record; fields are codes, names and counts, never an entry's body. */
export type Log = (level: LogLevel, message: string, fields?: object) => void;

/** One JSON line a record, as every service writes them; secrets are replaced. */
export function createLog(write: (line: string) => void, now: () => Date): Log {
  return (level, message, fields = {}) => {
    const record = { time: now().toISOString(), level, service: 'audit-exporter', message, ...fields };
    write(`${redactSecrets(JSON.stringify(record))}\n`);
  };
}

/** What is told of an error. */
export interface ErrorFields {
  /** Our own sentence; of what others have thrown its class, for their sentences quote what they were given. */
  readonly error: string;
  readonly code?: string;
  /** Where in the program the others threw it. */
  readonly at?: readonly string[];
}

/** What a log record or a probe says of an error. */
export function errorFields(error: unknown): ErrorFields {
  if (isCodedError(error)) return { error: error.message, code: error.code };
  const { type, code, at } = faultRecord(error);
  return { error: type, at, ...(code === undefined ? {} : { code }) };
}
