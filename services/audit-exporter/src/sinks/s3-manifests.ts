import type { SignedCheckpoint } from '@lemniscate/shared/audit/checkpoint.ts';
import {
  objectDigest,
  segmentManifestSchema,
  toManifestText,
} from '@lemniscate/shared/audit/segment-manifest.ts';
import type { SealedSegment } from '@lemniscate/shared/audit/segment-manifest.ts';
import type { Bucket } from './s3-bucket.ts';
import { padded } from './s3-bucket.ts';

/** Writes which segments a checkpoint has sealed. */
export interface Manifests {
  /** Remembers what was just written, so that it need not be read again. */
  wrote(key: string, text: string): void;
  /** One manifest of the segments that this checkpoint covers and no manifest has; none where there is nothing new. */
  seal(checkpoint: SignedCheckpoint, signal: AbortSignal): Promise<void>;
}

interface Place {
  readonly next: number;
  readonly previous: string;
  /** Key of the last segment that a manifest has. */
  readonly lastKey: string;
}

const segmentPattern = /(\d+)-(\d+)\.ndjson$/;
/** The number that a key ends in. */
export const numberOf = (key: string): number => Number(/(\d+)\.json$/.exec(key)?.[1] ?? 0);

/** @param prefix of the sink, with its slash */
export function createManifests(bucket: Bucket, prefix: string): Manifests {
  let place: Place | null = null;
  const written = new Map<string, Pick<SealedSegment, 'bytes' | 'sha256'>>();

  const findPlace = async (): Promise<Place> => {
    const key = await bucket.lastKey(`${prefix}manifests/`, numberOf);
    if (key === null) return { next: 0, previous: '', lastKey: `${prefix}segments/` };
    const text = await bucket.read(key);
    const { manifest, segments } = segmentManifestSchema.parse(JSON.parse(text));
    const lastKey = `${prefix}${segments.at(-1)?.key ?? 'segments/'}`;
    return { next: manifest + 1, previous: objectDigest(text), lastKey };
  };
  const describe = (text: string): Pick<SealedSegment, 'bytes' | 'sha256'> => ({
    bytes: Buffer.byteLength(text),
    sha256: objectDigest(text),
  });

  return {
    wrote: (key, text) => {
      written.set(key, describe(text));
      // those that are listed are forgotten; a bound for a log that nobody signs
      if (written.size > 10_000) written.clear();
    },
    seal: async ({ size, note }, signal) => {
      place ??= await findPlace();
      const segments: SealedSegment[] = [];
      for (const key of await bucket.keysAfter(`${prefix}segments/`, place.lastKey)) {
        const [, first = '', last = ''] = segmentPattern.exec(key) ?? [];
        if (Number(last) >= size) break;
        const known = written.get(key) ?? describe(await bucket.read(key));
        segments.push({ key: key.slice(prefix.length), first: Number(first), last: Number(last), ...known });
        written.delete(key);
      }
      const lastKey = segments.at(-1)?.key;
      if (lastKey === undefined) return;
      const { next, previous } = place;
      const text = toManifestText({ manifest: next, previous, note, size, segments });
      const outcome = await bucket.putOnce(`${prefix}manifests/${padded(next)}.json`, text, signal);
      // another exporter was first: its manifest counts, and the next checkpoint goes on behind it
      place =
        outcome === 'there'
          ? null
          : { next: next + 1, previous: objectDigest(text), lastKey: `${prefix}${lastKey}` };
    },
  };
}
