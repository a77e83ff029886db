import { toCheckpointLine } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { sinkLineSchema, toSinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import type { IndexedEntry } from '@lemniscate/shared/audit/sink-line.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Sink, SinkPosition } from '../application/ports/sink.ts';
import { peopleToldIn } from './known-people.ts';
import { openBucket, padded } from './s3-bucket.ts';
import type { Bucket, BucketOptions } from './s3-bucket.ts';
import { createManifests, numberOf } from './s3-manifests.ts';
import type { Manifests } from './s3-manifests.ts';

export interface S3SinkOptions extends BucketOptions {
  readonly prefix: string;
}

/**
 * Segments, checkpoints and manifests as objects that are written once: `segments/FIRST-LAST.ndjson`,
 * `checkpoints/NUMBER.json`, `manifests/NUMBER.json`. A manifest lists the segments that a checkpoint has sealed, with
 * their digests. Who the pseudonyms are lies in `people/…`, one object each and never locked, so that a person can be
 * erased, every version of it. The last segment tells where the sink stands. Where the server knows `If-None-Match`, an exporter that was
 * frozen cannot write over its successor's object.
 */
export function createS3Sink(options: S3SinkOptions): Sink {
  const prefix = options.prefix.replace(/\/?$/, '/');
  const place = `${options.endpoint}/${options.bucket}/${prefix}`;
  let open: { readonly bucket: Bucket; readonly manifests: Manifests } | null = null;
  const known = new Set<string>();

  const held = (): { readonly bucket: Bucket; readonly manifests: Manifests } => {
    if (open === null) throw new CodedError('internal', `The sink s3:${place} is not open.`);
    return open;
  };
  const close = (): void => {
    open?.bucket.close();
    open = null;
  };
  const learn = async (batch: readonly IndexedEntry[], signal: AbortSignal): Promise<void> => {
    const { bucket } = held();
    const { named, erased } = peopleToldIn(batch);
    const keyOf = (pseudonym: string): string => `${prefix}people/${pseudonym.slice('person:'.length)}.json`;
    for (const [person, identity] of named) {
      if (known.has(person)) continue;
      await bucket.putErasable(keyOf(person), JSON.stringify({ person, identity }), signal);
      known.add(person);
    }
    for (const person of erased) {
      await bucket.remove(keyOf(person), signal);
      known.delete(person);
    }
  };

  return {
    name: `s3:${place}`,
    open: async () => {
      close();
      const bucket = openBucket(options, place);
      open = { bucket, manifests: createManifests(bucket, prefix) };
      await bucket.requireLock();
      return lastEntry(bucket, `${prefix}segments/`);
    },
    deliver: async (batch, signal) => {
      const [first, last] = [batch[0], batch.at(-1)];
      if (first === undefined || last === undefined) return [];
      const { bucket, manifests } = held();
      await learn(batch, signal);
      const key = `${prefix}segments/${padded(first.index)}-${padded(last.index)}.ndjson`;
      const text = batch.map(toSinkLine).join('');
      // the key names both ends and lines are a pure function of the log: what is there is what we would write
      await bucket.putOnce(key, text, signal);
      manifests.wrote(key, text);
      return [];
    },
    anchor: async (checkpoints, signal) => {
      const { bucket, manifests } = held();
      for (const checkpoint of checkpoints) {
        const key = `${prefix}checkpoints/${padded(checkpoint.number)}.json`;
        await bucket.putOnce(key, toCheckpointLine(checkpoint), signal);
      }
      const last = checkpoints.at(-1);
      if (last !== undefined) await manifests.seal(last, signal);
    },
    witness: async () => {
      const bucket = openBucket(options, place);
      try {
        const key = await bucket.lastKey(`${prefix}checkpoints/`, numberOf);
        return key === null ? null : await bucket.read(key);
      } finally {
        bucket.close();
      }
    },
    close: () => {
      close();
      return Promise.resolve();
    },
  };
}

async function lastEntry(bucket: Bucket, prefix: string): Promise<SinkPosition | null> {
  const key = await bucket.lastKey(prefix, (name) => Number(/-(\d+)\.ndjson$/.exec(name)?.[1] ?? 0));
  if (key === null) return null;
  const text = await bucket.read(key);
  const { index, digest } = sinkLineSchema.parse(JSON.parse(text.trimEnd().split('\n').at(-1) ?? ''));
  return { index, digest };
}
