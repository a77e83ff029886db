import { hash } from 'node:crypto';
import { z } from 'zod';
import { sha256Schema } from '../protocol/identity.ts';

/** A sealed segment: an object of entries that a signed checkpoint covers. */
const segmentSchema = z.object({
  /** Below the sink's prefix: `segments/FIRST-LAST.ndjson`. */
  key: z.string(),
  first: z.int().min(0),
  last: z.int().min(0),
  bytes: z.int().min(1),
  sha256: sha256Schema,
});
export type SealedSegment = z.infer<typeof segmentSchema>;

/**
 * Which segments a checkpoint has sealed since the manifest before. Manifests are numbered without gaps and each has the
 * digest of the one before, so that a bucket says itself whether an object is missing or was exchanged.
 */
export const segmentManifestSchema = z.object({
  manifest: z.int().min(0),
  /** SHA-256 of the manifest before, as its bytes are; empty in the first. */
  previous: z.union([sha256Schema, z.literal('')]),
  /** The signed note of the checkpoint that covers the segments. */
  note: z.string().max(8192),
  size: z.int().min(0),
  segments: z.array(segmentSchema).min(1),
});
export type SegmentManifest = z.infer<typeof segmentManifestSchema>;

/** The manifest's bytes, with their line feed. */
export const toManifestText = (manifest: SegmentManifest): string => `${JSON.stringify(manifest)}\n`;

/** The digest of an object's bytes, hex. */
export const objectDigest = (text: string): string => hash('sha256', text, 'hex');
