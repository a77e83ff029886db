import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { faultRecord } from '@lemniscate/shared/errors/fault-record.ts';
import { redactSecrets } from '@lemniscate/shared/secrets/redact.ts';

/**
 * One JSON line a record on standard error. Of a fault it says code and place, not the sentence, and a secret that anything
 * brings along is replaced on the way out.
 */
export function createLogger(to: DestinationStream = pino.destination(2)): Logger {
  return pino(
    {
      base: { service: 'agent-server' },
      serializers: { err: (error: unknown) => faultRecord(error) },
      hooks: { streamWrite: redactSecrets },
    },
    to,
  );
}
