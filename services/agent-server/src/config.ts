import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import { readEnvironment, variable } from '@lemniscate/shared/config/environment.ts';
import { sandboxLimits } from './domain/sandbox-limits.ts';
import type { SandboxLimit } from './domain/sandbox-limits.ts';
import { placementName } from '@lemniscate/shared/queue/placement-class.ts';
import { sandboxDriverChoices } from './domain/driver-choice.ts';

const schema = z.object({
  LEMNISCATE_SERVER_HOST: variable.text().default('127.0.0.1'),
  /** Absent: it listens nowhere and fetches its orders from the dispatcher, as a workstation does. */
  LEMNISCATE_SERVER_PORT: variable.integer(0, 65_535).optional(),
  LEMNISCATE_DISPATCHER_URL: variable.url('https:'),
  LEMNISCATE_TLS_CA: variable.text(),
  LEMNISCATE_TLS_CERT: variable.text(),
  LEMNISCATE_TLS_KEY: variable.text(),
  /** The fleet's public API, for a server that joins by token at its first start, and where dispatchers reach it. */
  LEMNISCATE_JOIN_URL: variable.url('https:', 'http:').optional(),
  LEMNISCATE_JOIN_ADDRESS: variable.url('https:').optional(),
  LEMNISCATE_JOIN_TOKEN: variable.secret().optional(),
  LEMNISCATE_STATE_FOLDER: variable.text(),
  LEMNISCATE_CAPACITY: variable.integer(1, 1000).default(2),
  LEMNISCATE_WARM: variable.integer(0, 100).default(1),
  LEMNISCATE_WARM_MAX: variable.integer(0, 1000).optional(),
  LEMNISCATE_WARM_MAX_AGE_SECONDS: variable.integer(1, 7 * 86_400).default(3600),
  LEMNISCATE_PROGRAM_QUIET_SECONDS: variable.integer(1, 86_400).default(600),
  LEMNISCATE_SANDBOX_PROFILES: variable.text().optional(),
  /** What sessions may ask for, separated by commas, such as `gpu,eu`. */
  LEMNISCATE_LABELS: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter((name) => name !== ''))
    .pipe(z.array(z.string().regex(placementName, 'must be names of a-z, 0-9, "_" and "-"')).max(64)),
  LEMNISCATE_SANDBOX_DRIVER: variable.oneOf(sandboxDriverChoices).default('auto'),
  LEMNISCATE_WAIVE_LIMITS: z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(sandboxLimits)))
    .default([]),
  LEMNISCATE_ALLOW_LOCAL_PATHS: variable.boolean().default(false),
  /** Disk for cached repositories with their checkouts, in GiB. */
  LEMNISCATE_MIRROR_GIB: variable.integer(1, 100_000).default(50),
  /** Private key and known hosts for repositories fetched over ssh; files of the server. */
  LEMNISCATE_FETCH_SSH_KEY: variable.text().optional(),
  LEMNISCATE_FETCH_SSH_KNOWN_HOSTS: variable.text().optional(),
  /** PEM file of the authorities that git hosts and their large files are believed by over https, in place of the machine's. */
  LEMNISCATE_FETCH_CA: variable.text().optional(),
  /** Host names inside the organisation's networks that repositories may be fetched from; `*` for all. */
  LEMNISCATE_FETCH_PRIVATE_HOSTS: z
    .string()
    .default('')
    .transform((text) => text.split(',').map((name) => name.trim().toLowerCase()))
    .transform((names) => names.filter((name) => name !== '')),
  /** OpenTelemetry collector that spans and metrics are sent to; its other `OTEL_…` variables hold too. Absent: none. */
  OTEL_EXPORTER_OTLP_ENDPOINT: variable.url('http:', 'https:').optional(),
  LEMNISCATE_EXIT_WITH_PARENT: variable.boolean().default(false),
  /** For the chaos harness alone: a plan of where this process kills itself. */
  LEMNISCATE_CRASH_POINTS: variable.text().optional(),
});

/** What an agent server is told at its start. Files are PEM; the certificate's URI names the server. */
export interface Config {
  readonly host: string;
  /** 0 lets the system choose; null: it cannot be called and fetches its orders. */
  readonly port: number | null;
  readonly dispatcherUrl: string;
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  /** How it joins where it has no certificate yet; null: its files were given to it. */
  readonly join: {
    readonly url: string;
    readonly address: string;
    readonly token: Secret | undefined;
  } | null;
  readonly stateFolder: string;
  /** Slots. */
  readonly capacity: number;
  /** Warm sandboxes kept for each profile, always and at most, and how old an unused one may get. */
  readonly warm: number;
  readonly warmMax: number;
  readonly warmMaxAgeMs: number;
  /** Claude Code or Codex that says nothing for so long, while nothing is under way, hangs. */
  readonly programQuietMs: number;
  /** YAML file with the sandbox profiles; without it there is `default` alone. */
  readonly profilesFile: string | undefined;
  /** What its operator says of it, for sessions that ask for it. */
  readonly labels: readonly string[];
  readonly driver: (typeof sandboxDriverChoices)[number];
  /** Bounds that sessions may go without where this machine cannot hold them. */
  readonly waivedLimits: readonly SandboxLimit[];
  readonly allowLocalPaths: boolean;
  readonly mirrorBytes: number;
  /** Files for ssh. */
  readonly fetchSsh: { readonly key?: string; readonly knownHosts?: string };
  /** PEM file of the authorities that are believed over https; absent: the machine's. */
  readonly fetchAuthorityFile?: string;
  /** Hosts inside that repositories may be fetched from. */
  readonly fetchPrivateHosts: readonly string[];
  /** Whether spans and metrics are sent somewhere. */
  readonly telemetry: boolean;
  readonly exitWithParent: boolean;
  readonly crashPoints: string | undefined;
}

/**
 * Reads the variables of an agent server.
 * @throws CodedError `configuration_invalid` that names every faulty variable
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const read = readEnvironment(schema, environment);
  return {
    host: read.LEMNISCATE_SERVER_HOST,
    port: read.LEMNISCATE_SERVER_PORT ?? null,
    dispatcherUrl: read.LEMNISCATE_DISPATCHER_URL,
    tls: { ca: read.LEMNISCATE_TLS_CA, cert: read.LEMNISCATE_TLS_CERT, key: read.LEMNISCATE_TLS_KEY },
    join: joinOf(read),
    stateFolder: read.LEMNISCATE_STATE_FOLDER,
    capacity: read.LEMNISCATE_CAPACITY,
    warm: read.LEMNISCATE_WARM,
    // more than the slots can never be used at once
    warmMax: read.LEMNISCATE_WARM_MAX ?? Math.max(read.LEMNISCATE_WARM, read.LEMNISCATE_CAPACITY),
    warmMaxAgeMs: read.LEMNISCATE_WARM_MAX_AGE_SECONDS * 1000,
    programQuietMs: read.LEMNISCATE_PROGRAM_QUIET_SECONDS * 1000,
    profilesFile: read.LEMNISCATE_SANDBOX_PROFILES,
    labels: read.LEMNISCATE_LABELS,
    driver: read.LEMNISCATE_SANDBOX_DRIVER,
    waivedLimits: read.LEMNISCATE_WAIVE_LIMITS,
    allowLocalPaths: read.LEMNISCATE_ALLOW_LOCAL_PATHS,
    mirrorBytes: read.LEMNISCATE_MIRROR_GIB * 1024 ** 3,
    fetchSsh: {
      ...(read.LEMNISCATE_FETCH_SSH_KEY === undefined ? {} : { key: read.LEMNISCATE_FETCH_SSH_KEY }),
      ...(read.LEMNISCATE_FETCH_SSH_KNOWN_HOSTS === undefined
        ? {}
        : { knownHosts: read.LEMNISCATE_FETCH_SSH_KNOWN_HOSTS }),
    },
    ...(read.LEMNISCATE_FETCH_CA === undefined ? {} : { fetchAuthorityFile: read.LEMNISCATE_FETCH_CA }),
    fetchPrivateHosts: read.LEMNISCATE_FETCH_PRIVATE_HOSTS,
    telemetry: read.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
    exitWithParent: read.LEMNISCATE_EXIT_WITH_PARENT,
    crashPoints: read.LEMNISCATE_CRASH_POINTS,
  };
}

function joinOf(read: z.infer<typeof schema>): Config['join'] {
  const { LEMNISCATE_JOIN_URL: url, LEMNISCATE_JOIN_ADDRESS: address, LEMNISCATE_JOIN_TOKEN: token } = read;
  if (url === undefined) return null;
  if (address !== undefined) return { url, address, token };
  throw new CodedError(
    'configuration_invalid',
    'LEMNISCATE_JOIN_URL needs LEMNISCATE_JOIN_ADDRESS, https://HOST:PORT where dispatchers reach this server.',
  );
}
