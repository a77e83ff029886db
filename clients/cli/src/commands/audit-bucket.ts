import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkpointLineSchema } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { objectDigest, segmentManifestSchema } from '@lemniscate/shared/audit/segment-manifest.ts';
import type { SealedSegment } from '@lemniscate/shared/audit/segment-manifest.ts';
import { chainFault } from '@lemniscate/shared/audit/verify.ts';
import type { ChainFault } from '@lemniscate/shared/audit/verify.ts';
import { z } from 'zod';

// A copy of what the S3 sink wrote, as `aws s3 sync` makes it: `segments/`, `checkpoints/`, `manifests/`, `people/`.

const personSchema = z.object({ person: z.string(), identity: z.string() });

/** What is not there is `instead`; a disk that cannot be read proves nothing about the copy, and is told. */
const absent =
  <Instead>(instead: Instead) =>
  (error: unknown): Instead => {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return instead;
    throw error;
  };

/** Whether a path is such a copy. */
export async function isBucketCopy(path: string): Promise<boolean> {
  const segments = await stat(join(path, 'segments')).catch(absent(null));
  return segments?.isDirectory() === true;
}

/** Files of a copy in the order of their names, which have their numbers in them; none where there is no such folder. */
async function listFiles(copy: string, folder: string): Promise<string[]> {
  const names = await readdir(join(copy, folder)).catch(absent<string[]>([]));
  return names
    .filter((name) => /\.(json|ndjson)$/.test(name))
    .toSorted()
    .map((name) => `${folder}/${name}`);
}

/** Files with entries, in order. */
export async function segmentsOf(copy: string): Promise<string[]> {
  return (await listFiles(copy, 'segments')).map((key) => join(copy, key));
}

/** Notes of the checkpoints from a number on. */
export async function notesOf(copy: string, from: number): Promise<string[]> {
  const notes: string[] = [];
  for (const key of await listFiles(copy, 'checkpoints')) {
    const { number, note } = checkpointLineSchema.parse(JSON.parse(await readFile(join(copy, key), 'utf8')));
    if (number >= from) notes.push(note);
  }
  return notes;
}

/** Who the pseudonyms are, as far as the copy has them. */
export async function peopleOf(copy: string): Promise<Record<string, string>> {
  const people: Record<string, string> = {};
  for (const key of await listFiles(copy, 'people')) {
    const { person, identity } = personSchema.parse(JSON.parse(await readFile(join(copy, key), 'utf8')));
    people[person] = identity;
  }
  return people;
}

/**
 * Holds the copy against its manifests: numbered without gaps, each with the digest of the one before, every segment that
 * one lists is there with its bytes.
 * @returns the first fault, named by the object that has it
 */
export async function checkManifests(copy: string): Promise<ChainFault | null> {
  let [next, previous] = [0, ''];
  // a receiver may have begun later than the log
  let size: number | null = null;
  for (const key of await listFiles(copy, 'manifests')) {
    const text = await readFile(join(copy, key), 'utf8');
    const read = segmentManifestSchema.safeParse(asJson(text));
    if (!read.success) return chainFault(key, next, 'unreadable');
    const { manifest, segments } = read.data;
    if (manifest !== next) return chainFault(key, manifest, 'manifest_gap', ` (manifest ${next} is missing)`);
    if (read.data.previous !== previous) return chainFault(key, manifest, 'manifest_differs');
    for (const segment of segments) {
      const fault = await checkSegment(copy, segment, size ?? segment.first);
      if (fault !== null) return fault;
      size = segment.last + 1;
    }
    [next, previous] = [manifest + 1, objectDigest(text)];
  }
  return null;
}

async function checkSegment(copy: string, segment: SealedSegment, size: number): Promise<ChainFault | null> {
  const { key, first, bytes, sha256 } = segment;
  // two exporters may have cut the log at different places: an overlap is none of the copy's faults, a hole is
  if (first > size)
    return chainFault(key, first, 'log_cut', ` (entries ${size} to ${first - 1} are in no segment)`);
  const text = await readFile(join(copy, key), 'utf8').catch(absent(null));
  if (text === null) return chainFault(key, first, 'segment_missing');
  const same = Buffer.byteLength(text) === bytes && objectDigest(text) === sha256;
  return same ? null : chainFault(key, first, 'segment_differs');
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // no JSON is no manifest: the schema says so
    return null;
  }
}
