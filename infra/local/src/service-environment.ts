import type { LocalConfig } from './config.ts';
import type { CertificateFiles } from './certificate-authority.ts';
import type { Stores } from './stores.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type ServiceEnvironment = Record<string, string>;

/** Names that every service may see of the person's environment, beside its `LEMNISCATE_…` variables. */
const commonNames = [
  'PATH',
  'HOME',
  'LANG',
  'TMPDIR',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'NODE_COMPILE_CACHE',
];
/** The model's keys and the way out to it: the dispatcher alone has them. */
const dispatcherNames = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_BASE_URL',
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'LEMNISCATE_PRICES',
  'LEMNISCATE_PROVIDERS',
  'VAULT_ADDR',
  'VAULT_TOKEN',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
];

/** What the services of one local fleet have in common. */
export interface FleetWiring {
  readonly config: LocalConfig;
  readonly environment: Environment;
  readonly stores: Stores;
  /** Without the key, which belongs to somebody else's authority, no workstation can join. */
  readonly certificateAuthority: Pick<CertificateFiles, 'certificate'> & Partial<CertificateFiles>;
  readonly internalUrl: string;
}

/** The dispatcher's variables. */
export function dispatcherEnvironment(
  wiring: FleetWiring,
  own: {
    readonly certificate: CertificateFiles;
    readonly apiPort: number;
    readonly internalPort: number;
    readonly agentServers: string;
    readonly loginFile: string;
    readonly credentialKeyFile: string;
    readonly policyFile: string;
    readonly consoleFolder: string;
  },
): ServiceEnvironment {
  const { config, environment, stores } = wiring;
  return {
    ...taken(environment, [...commonNames, ...dispatcherNames]),
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    S3_ENDPOINT: stores.s3.endpoint,
    S3_BUCKET: config.S3_BUCKET,
    AWS_ACCESS_KEY_ID: stores.s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: stores.s3.secretAccessKey,
    AWS_REGION: stores.s3.region,
    LEMNISCATE_PORT: String(own.apiPort),
    LEMNISCATE_INTERNAL_PORT: String(own.internalPort),
    ...tlsVariables(wiring, own.certificate),
    ...(wiring.certificateAuthority.key === undefined
      ? {}
      : { LEMNISCATE_CA_KEY: wiring.certificateAuthority.key }),
    AGENT_SERVERS: own.agentServers,
    LEMNISCATE_LOCAL_LOGIN: own.loginFile,
    ...(environment['LEMNISCATE_CREDENTIAL_KEY'] || environment['LEMNISCATE_CREDENTIAL_KMS_KEY']
      ? {}
      : { LEMNISCATE_CREDENTIAL_KEY: own.credentialKeyFile }),
    LEMNISCATE_DEFAULT_POLICY: own.policyFile,
    LEMNISCATE_CONSOLE_FOLDER: own.consoleFolder,
    LEMNISCATE_EXIT_WITH_PARENT: 'true',
  };
}

/** An agent server's variables: no store, no key of a provider. */
export function agentServerEnvironment(
  wiring: FleetWiring,
  own: { readonly certificate: CertificateFiles; readonly port: number; readonly stateFolder: string },
): ServiceEnvironment {
  return {
    ...taken(wiring.environment, [...commonNames, 'DOCKER_HOST']),
    LEMNISCATE_SERVER_PORT: String(own.port),
    LEMNISCATE_DISPATCHER_URL: wiring.internalUrl,
    ...tlsVariables(wiring, own.certificate),
    LEMNISCATE_STATE_FOLDER: own.stateFolder,
    LEMNISCATE_SANDBOX_DRIVER: wiring.config.LEMNISCATE_SANDBOX_DRIVER,
    LEMNISCATE_ALLOW_LOCAL_PATHS: 'true',
    LEMNISCATE_WAIVE_LIMITS: wiring.environment['LEMNISCATE_WAIVE_LIMITS'] ?? unboundedHere(),
    LEMNISCATE_EXIT_WITH_PARENT: 'true',
  };
}

/**
 * On a person's own machine and account the kernel lets nobody but root bound anything; that person may take the risk
 * for their own sessions. An operator's server gets no such waiver. Empty for root.
 */
export function unboundedHere(): string {
  return process.getuid?.() === 0 ? '' : 'memory,processes,cpu,disk';
}

/** The audit exporter's variables. */
export function exporterEnvironment(
  wiring: FleetWiring,
  own: { readonly port: number; readonly sinkFile: string; readonly logKey: string },
): ServiceEnvironment {
  return {
    ...taken(wiring.environment, commonNames),
    DATABASE_URL: wiring.stores.databaseUrl,
    LEMNISCATE_LOG_KEY: own.logKey,
    LEMNISCATE_SINK_FILE: own.sinkFile,
    LEMNISCATE_EXPORTER_PORT: String(own.port),
    LEMNISCATE_EXIT_WITH_PARENT: 'true',
  };
}

function tlsVariables(wiring: FleetWiring, own: CertificateFiles): ServiceEnvironment {
  return {
    LEMNISCATE_TLS_CA: wiring.certificateAuthority.certificate,
    LEMNISCATE_TLS_CERT: own.certificate,
    LEMNISCATE_TLS_KEY: own.key,
  };
}

/** The named variables, and every `LEMNISCATE_…` and `OTEL_…` one: a bound that a person sets reaches the service that reads it. */
function taken(environment: Environment, names: readonly string[]): ServiceEnvironment {
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && (names.includes(entry[0]) || /^(LEMNISCATE|OTEL)_/.test(entry[0])),
    ),
  );
}
