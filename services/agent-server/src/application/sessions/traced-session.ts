import { traceFields } from '@lemniscate/shared/telemetry/trace-context.ts';
import type { Journal } from '../journal.ts';
import type { Log } from '../ports/log.ts';
import type { SessionTrace } from './session-traces.ts';

/** The journal, with its events seen by the trace. */
export function tracedJournal(journal: Journal, trace: SessionTrace): Journal {
  return {
    ...journal,
    emit: (event) => {
      const seq = journal.emit(event);
      trace.saw(event);
      return seq;
    },
  };
}

/** The log, with the ids of the trace in each line. */
export function tracedLog(log: Log, trace: SessionTrace): Log {
  const ids = traceFields(trace.context);
  return {
    debug: (fields, message) => log.debug({ ...ids, ...fields }, message),
    info: (fields, message) => log.info({ ...ids, ...fields }, message),
    warn: (fields, message) => log.warn({ ...ids, ...fields }, message),
    error: (fields, message) => log.error({ ...ids, ...fields }, message),
  };
}
