import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { serverEventSchema } from '@lemniscate/shared/protocol/session-event.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Log } from '../ports/log.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import { objectKey } from '../ports/object-store.ts';

/** Output with more text than this lies in the object store; see docs/decisions/2026-11-29-output-segments.md. Bytes. */
const segmentThresholdBytes = 16 * 1024;

/** How long output stays in the record after the object store has failed, before it is tried again. */
const restMs = 30_000;

/** Whether an event is an output that belongs into a segment. */
export function isLargeOutput(event: ServerEvent): boolean {
  return event.type === 'output' && Buffer.byteLength(event.text) > segmentThresholdBytes;
}

export interface Segments {
  /**
   * Puts an event into the object store.
   * @returns its key, or undefined when it belongs into its row: it is small, or the store is away. Facts must not
   * wait behind output, so an outage costs space in the record and not progress.
   */
  store(projectId: string, event: ServerEvent): Promise<string | undefined>;
  /**
   * Reads one back. Null when the object is gone or is not what was written.
   * @throws CodedError `storage_failed`
   */
  load(key: string): Promise<ServerEvent | null>;
}

/** Segments over an object store. Keys are content addresses, so storing twice is harmless. */
export function createSegments(deps: {
  readonly objects: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
}): Segments {
  let restUntil = 0;
  return {
    store: async (projectId, event) => {
      if (!isLargeOutput(event)) return undefined;
      if (deps.clock.monotonicMs() < restUntil) return undefined;
      const bytes = Buffer.from(JSON.stringify(event));
      const key = objectKey(projectId, createHash('sha256').update(bytes).digest('hex'));
      try {
        await deps.objects.put(key, bytes);
        return key;
      } catch (error) {
        if (!isCodedError(error, 'storage_failed')) throw error;
        restUntil = deps.clock.monotonicMs() + restMs;
        deps.log.warn({ err: error }, 'output stays in the record while the object store is away');
        return undefined;
      }
    },
    load: async (key) => {
      const found = await deps.objects.get(key);
      if (found === null || found.bytes > maxSegmentBytes) return null;
      const bytes = await collect(found.body);
      const digest = createHash('sha256').update(bytes).digest('hex');
      return key.endsWith(`/${digest}`) ? parse(bytes) : null;
    },
  };
}

// 256 KiB of text, each byte escaped to six, and the frame.
const maxSegmentBytes = 2 * 1024 * 1024;

async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > maxSegmentBytes) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const segmentSchema = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(serverEventSchema);

function parse(bytes: Buffer): ServerEvent | null {
  const parsed = segmentSchema.safeParse(bytes.toString('utf8'));
  return parsed.success ? parsed.data : null;
}
