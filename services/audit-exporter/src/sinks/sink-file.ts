import { readFileSync } from 'node:fs';
import { secret } from '@lemniscate/shared/config/secret.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { checkpointLineSchema } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { readNote } from '@lemniscate/shared/audit/checkpoint.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { parse } from 'yaml';
import { bucketEncryptions } from '@lemniscate/shared/storage/bucket-encryption.ts';
import { z } from 'zod';

/** A secret by reference: `{ env: NAME }` or `{ file: PATH }`; never the secret itself. */
const secretReference = z.union([
  z.strictObject({ env: z.string().min(1) }),
  z.strictObject({ file: z.string().min(1) }),
]);
type SecretReference = z.infer<typeof secretReference>;

const httpsUrl = z.url({ protocol: /^https?$/ });
const caFile = z.string().min(1).optional();

/** One receiver. `kind` says which; what else is needed is the kind's own. */
const sinkKind = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('file'),
    path: z.string().min(1),
    /** Rotates: so many entries a file. */
    entriesPerFile: z.int().min(1).max(10_000_000).optional(),
  }),
  z.strictObject({
    kind: z.literal('syslog'),
    host: z.string().min(1),
    port: z.int().min(1).max(65_535).default(6514),
    format: z.enum(['json', 'cef']).default('json'),
    /** Largest message that the receiver takes whole; rsyslog's default is 8 KiB. */
    mostBytes: z.int().min(2048).default(8192),
    caFile,
    certFile: z.string().min(1).optional(),
    keyFile: z.string().min(1).optional(),
  }),
  z.strictObject({ kind: z.literal('splunk'), url: httpsUrl, token: secretReference, caFile }),
  z.strictObject({
    kind: z.literal('elastic'),
    url: httpsUrl,
    index: z.string().min(1),
    apiKey: secretReference,
    caFile,
  }),
  z.strictObject({ kind: z.literal('ocsf'), url: httpsUrl, token: secretReference.optional(), caFile }),
  z.strictObject({ kind: z.literal('otlp'), url: httpsUrl, token: secretReference.optional(), caFile }),
  z.strictObject({
    kind: z.literal('sentinel'),
    url: httpsUrl,
    rule: z.string().min(1),
    stream: z.string().min(1),
    tenant: z.string().min(1),
    clientId: z.string().min(1),
    clientSecret: secretReference,
    authority: httpsUrl.optional(),
    caFile,
  }),
  z.strictObject({
    kind: z.literal('s3'),
    endpoint: httpsUrl,
    bucket: z.string().min(1),
    prefix: z.string().default('audit'),
    region: z.string().default('us-east-1'),
    accessKeyId: z.string().min(1),
    secretAccessKey: secretReference,
    lockDays: z.int().min(1).optional(),
    encryption: z.enum(bucketEncryptions).optional(),
    encryptionKey: z.string().min(1).optional(),
  }),
]);
export type SinkEntry = z.infer<typeof sinkKind>;

/** Where a new receiver begins: `start`, `now`, an index, or a file with a checkpoint (a note, or a `.checkpoints` line). */
const startSchema = z.looseObject({
  from: z
    .union([
      z.literal('start'),
      z.literal('now'),
      z.int().min(0),
      z.strictObject({ anchor: z.string().min(1) }),
    ])
    .default('start'),
  /** Whether it is told who the pseudonyms of the log are. */
  identities: z.boolean().default(true),
});

/** A receiver and where it begins. */
export interface ConfiguredSink {
  readonly entry: SinkEntry;
  readonly start: number | 'now' | { readonly anchor: string };
  readonly identities: boolean;
}

const sinkEntry = z.unknown().transform((given, context): ConfiguredSink => {
  const start = startSchema.safeParse(given);
  const { from: _from, identities: _identities, ...members } = start.data ?? {};
  const entry = sinkKind.safeParse(start.success ? members : given);
  if (start.success && entry.success) {
    const { from, identities } = start.data;
    const anchor = typeof from === 'object' ? readAnchorNote(from.anchor) : null;
    if (anchor !== null) return { entry: entry.data, start: { anchor }, identities };
    if (typeof from !== 'object')
      return { entry: entry.data, start: from === 'start' ? 0 : from, identities };
    context.addIssue({
      code: 'custom',
      path: ['from', 'anchor'],
      message: 'names no file with a checkpoint',
    });
    return z.NEVER;
  }
  for (const { path, message } of [...(start.error?.issues ?? []), ...(entry.error?.issues ?? [])])
    context.addIssue({ code: 'custom', path, message });
  return z.NEVER;
});

/** The note in a file: the file is one, or its last line is a checkpoint's; null otherwise. */
function readAnchorNote(path: string): string | null {
  try {
    const text = readFileSync(path, 'utf8');
    if (readNote(text) !== null) return text;
    const line = checkpointLineSchema.safeParse(JSON.parse(text.trimEnd().split('\n').at(-1) ?? ''));
    return line.success && readNote(line.data.note) !== null ? line.data.note : null;
  } catch {
    // not there, or neither of the two: the caller names the member
    return null;
  }
}

/** `LEMNISCATE_SINKS`: a YAML or JSON file with the receivers. */
const sinkFileSchema = z.strictObject({ sinks: z.array(sinkEntry).max(32) });

/** @throws CodedError `configuration_invalid` that names each faulty member, never a value */
export function readSinkFile(path: string): ConfiguredSink[] {
  let content: unknown;
  try {
    content = parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const why = error instanceof Error ? error.name : 'unreadable';
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_SINKS: ${path} cannot be read (${why}).`,
      {},
      error,
    );
  }
  const parsed = sinkFileSchema.safeParse(content);
  if (parsed.success) return parsed.data.sinks;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new CodedError('configuration_invalid', `LEMNISCATE_SINKS: ${path}: ${faults.join('; ')}.`, {
    faults,
  });
}

/** The secret that a reference names. @throws CodedError `configuration_invalid` */
export function resolveSecret(
  reference: SecretReference,
  environment: Readonly<Record<string, string | undefined>>,
): Secret {
  const text = 'env' in reference ? environment[reference.env] : readFileSync(reference.file, 'utf8').trim();
  if (text !== undefined && text !== '') return secret(text);
  const place = 'env' in reference ? `the variable ${reference.env}` : `the file ${reference.file}`;
  throw new CodedError(
    'configuration_invalid',
    `LEMNISCATE_SINKS names a secret in ${place}, which is empty.`,
  );
}
