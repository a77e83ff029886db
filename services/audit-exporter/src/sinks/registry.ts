import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Sink } from '../application/ports/sink.ts';
import type { ExporterConfig } from '../config.ts';
import { createElasticSink } from './elastic.ts';
import { createFileSink } from './file.ts';
import { createOcsfHttpSink } from './ocsf-http.ts';
import { createOtlpSink } from './otlp.ts';
import { createS3Sink } from './s3.ts';
import { createSentinelSink } from './sentinel.ts';
import { readSinkFile, resolveSecret } from './sink-file.ts';
import type { ConfiguredSink, SinkEntry } from './sink-file.ts';
import { createSplunkSink } from './splunk.ts';
import { createSyslogSink } from './syslog.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type EntryOf<Kind extends SinkEntry['kind']> = Extract<SinkEntry, { kind: Kind }>;

/** How each kind is built; a kind is one line. */
const kinds: { readonly [Kind in SinkEntry['kind']]: (entry: EntryOf<Kind>, env: Environment) => Sink } = {
  file: ({ path, entriesPerFile }) => createFileSink(path, entriesPerFile),
  syslog: (entry) => createSyslogSink(entry),
  splunk: (entry, env) => createSplunkSink({ ...entry, token: resolveSecret(entry.token, env) }),
  elastic: (entry, env) => createElasticSink({ ...entry, apiKey: resolveSecret(entry.apiKey, env) }),
  ocsf: (entry, env) => createOcsfHttpSink({ ...entry, token: optional(entry.token, env) }),
  otlp: (entry, env) => createOtlpSink({ ...entry, token: optional(entry.token, env) }),
  sentinel: (entry, env) =>
    createSentinelSink({ ...entry, clientSecret: resolveSecret(entry.clientSecret, env) }),
  s3: (entry, env) => createS3Sink({ ...entry, secretAccessKey: resolveSecret(entry.secretAccessKey, env) }),
};

/**
 * Builds every configured sink.
 * @throws CodedError `configuration_invalid`, also when two sinks are the same place: they would share a cursor
 */
export function createSinks(config: ExporterConfig, environment: Environment): Sink[] {
  const { LEMNISCATE_SINK_FILE: path, LEMNISCATE_SINKS: file } = config;
  const configured: ConfiguredSink[] = [
    ...(path === undefined ? [] : [{ entry: { kind: 'file' as const, path }, start: 0, identities: true }]),
    ...(file === undefined ? [] : readSinkFile(file)),
  ];
  const sinks = configured.map(({ entry, start, identities }) => ({
    ...create(entry, environment),
    start,
    identities,
  }));
  const twice = sinks.find(({ name }, place) => sinks.findIndex((other) => other.name === name) !== place);
  if (twice === undefined) return sinks;
  throw new CodedError('configuration_invalid', `The audit sink ${twice.name} is configured twice.`);
}

function create<Kind extends SinkEntry['kind']>(entry: EntryOf<Kind>, environment: Environment): Sink {
  const build = kinds[entry.kind] as (entry: EntryOf<Kind>, env: Environment) => Sink;
  return build(entry, environment);
}

function optional(
  reference: Parameters<typeof resolveSecret>[0] | undefined,
  env: Environment,
): Secret | undefined {
  return reference === undefined ? undefined : resolveSecret(reference, env);
}
