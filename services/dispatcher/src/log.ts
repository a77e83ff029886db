import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { faultRecord } from '@lemniscate/shared/errors/fault-record.ts';
import { redactSecrets } from '@lemniscate/shared/secrets/redact.ts';

/**
 * One JSON line a record on standard error, written at once: the last words of a crash must not be lost. Of a fault it says
 * code and place, not the sentence, and a secret that anything brings along is replaced on the way out.
 */
export function createLogger(
  level: string,
  to: DestinationStream = pino.destination({ dest: 2, sync: true }),
): Logger {
  return pino(
    {
      level,
      base: { service: 'dispatcher' },
      serializers: { err: (error: unknown) => faultRecord(error) },
      hooks: { streamWrite: redactSecrets },
    },
    to,
  );
}
