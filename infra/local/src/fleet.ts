import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { openCertificateAuthority } from './certificate-authority.ts';
import type { CertificateAuthority, CertificateFiles } from './certificate-authority.ts';
import { consoleFolder } from './console-build.ts';
import { readLocalConfig } from './config.ts';
import type { LocalConfig } from './config.ts';
import { openDataFolder } from './data-folder.ts';
import type { DataFolder } from './data-folder.ts';
import { lockFolder } from './folder-lock.ts';
import { keptCredentialKey } from './credential-key.ts';
import { writeLocalLogin } from './local-login.ts';
import { programs, requirePrograms } from './packages.ts';
import { openPortBook } from './port-book.ts';
import type { PortBook } from './port-book.ts';
import { endLeftovers } from './process/leftovers.ts';
import { readyOverHttp, readyOverTls } from './readiness.ts';
import {
  agentServerEnvironment,
  dispatcherEnvironment,
  exporterEnvironment,
  unboundedHere,
} from './service-environment.ts';
import type { FleetWiring } from './service-environment.ts';
import { superviseService } from './service-process.ts';
import type { SupervisedService } from './service-process.ts';
import { programsOfStores, startStores } from './stores.ts';
import type { Stores } from './stores.ts';
import { createUnwinding } from './unwinding.ts';
import type { Unwinding } from './unwinding.ts';

/** A local fleet that serves. */
export interface Fleet {
  readonly apiUrl: string;
  readonly internalUrl: string;
  /** File of the local login: `{"token", "subject", "name", "expiresAt"}`. */
  readonly tokenFile: string;
  readonly data: DataFolder;
  readonly stores: Stores;
  /** The services by name: `dispatcher`, `agent-server-1`, `agent-server-2`, `audit-exporter`. */
  readonly services: readonly SupervisedService[];
  /** Milliseconds that each step of the start took. */
  readonly timingsMs: Readonly<Record<string, number>>;
  /** Settles when a service or an embedded store is given up; stays open otherwise. */
  readonly gaveUp: Promise<CodedError>;
  /** Stops everything in order; nothing is left running. Safe to call twice. */
  stop(): Promise<void>;
}

/** What a start is told. */
export interface FleetOptions {
  readonly projectRoot: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Lines of progress for a person. */
  readonly say: (line: string) => void;
}

const agentServers = ['agent-server-1', 'agent-server-2'];

/**
 * Brings up a whole fleet on this machine: stores, authority, one dispatcher, two agent servers, one audit exporter.
 * Each embedded part is left out when its variable names another. A step that fails undoes those before it.
 * @throws CodedError `conflict` (folder in use), `port_in_use`, `package_missing`, `service_unreachable`,
 *   `configuration_invalid`
 */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const config = readLocalConfig(options.environment);
  const data = openDataFolder(options.environment, options.projectRoot);
  const unwinding = createUnwinding();
  try {
    const lock = await lockFolder(data);
    unwinding.add(lock.release);
    return await startParts(options, config, data, unwinding);
  } catch (error) {
    await unwinding.run();
    throw error;
  }
}

async function startParts(
  options: FleetOptions,
  config: LocalConfig,
  data: DataFolder,
  unwinding: Unwinding,
): Promise<Fleet> {
  const { say, environment } = options;
  const timingsMs: Record<string, number> = {};
  const timed = async <Result>(step: string, run: () => Promise<Result> | Result): Promise<Result> => {
    const from = performance.now();
    const result = await run();
    timingsMs[step] = Math.round(performance.now() - from);
    return result;
  };
  const leftovers = await endLeftovers(data.folder('run'));
  if (leftovers.length > 0) say(`ended what an earlier run left behind: ${leftovers.join(', ')}`);
  await timed('programs', () => requirePrograms(neededPrograms(config), say));

  const ports = openPortBook(data);
  unwinding.add(ports.close);
  const authority = await timed('certificates', () => openCertificateAuthority(data.folder('certificates')));
  const stores = await timed('stores', () => startStores(data, ports, config, { durable: true, say }));
  unwinding.add(stores.stop);
  say(`stores: ${describeStores(stores, config)}`);

  const apiPort = await ports.of('api', { name: 'LEMNISCATE_PORT', value: config.LEMNISCATE_PORT });
  const internalPort = await ports.of('internal', {
    name: 'LEMNISCATE_INTERNAL_PORT',
    value: config.LEMNISCATE_INTERNAL_PORT,
  });
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const internalUrl = `https://127.0.0.1:${internalPort}`;
  const tokenFile = writeLocalLogin(data, new Date());
  unwinding.add(() => rmSync(tokenFile, { force: true }));

  const wiring: FleetWiring = {
    config,
    environment,
    stores,
    certificateAuthority:
      config.LEMNISCATE_TLS_CA === undefined ? authority : { certificate: config.LEMNISCATE_TLS_CA },
    internalUrl,
  };
  const site = { options, config, data, ports, authority, wiring, failing: new AbortController() };
  const services = await timed('services', () =>
    startServices(site, { apiPort, internalPort, tokenFile }, unwinding),
  );
  const apiFile = data.path('api.json');
  const api = { apiUrl, tokenFile, internalUrl, pid: process.pid };
  unwinding.add(() => rmSync(apiFile, { force: true }));
  writeFileSync(apiFile, `${JSON.stringify(api)}\n`, { mode: 0o600 });
  return {
    apiUrl,
    internalUrl,
    tokenFile,
    data,
    stores,
    services,
    timingsMs,
    gaveUp: Promise.race([...stores.processes, ...services].map((service) => service.gaveUp)),
    stop: unwinding.run,
  };
}

/** Where the services are started. */
interface Site {
  readonly options: FleetOptions;
  readonly config: LocalConfig;
  readonly data: DataFolder;
  readonly ports: PortBook;
  readonly authority: CertificateAuthority;
  readonly wiring: FleetWiring;
  /** Aborted when a first start fails. */
  readonly failing: AbortController;
}

/**
 * Dispatcher and agent servers side by side (they find each other by heartbeat), the exporter after the dispatcher,
 * whose migrations make its tables. At the stop the agent servers go first, so that what they still report is taken.
 */
async function startServices(
  site: Site,
  api: { readonly apiPort: number; readonly internalPort: number; readonly tokenFile: string },
  unwinding: Unwinding,
): Promise<SupervisedService[]> {
  const { config, ports, authority, data, wiring } = site;
  const started: SupervisedService[] = [];
  const stopAll = async () => {
    for (const group of [/^agent-server/, /^dispatcher/, /^audit-exporter/])
      await Promise.all(started.filter(({ name }) => group.test(name)).map((service) => service.stop()));
  };
  unwinding.add(stopAll);
  const start = async (
    name: string,
    folder: string,
    env: Record<string, string>,
    probe: () => Promise<boolean>,
  ) => {
    started.push(await superviseService(servicePlan(site, name, folder, env, probe), site.options.say));
  };

  const places: { name: string; port: number }[] = [];
  if (config.AGENT_SERVERS === undefined)
    for (const name of agentServers) places.push({ name, port: await ports.of(name) });
  const dispatcherCertificate = await dispatcherCertificateOf(config, authority);
  const exporterPort = await ports.of('audit-exporter');

  const dispatcher = async () => {
    const env = dispatcherEnvironment(wiring, {
      certificate: dispatcherCertificate,
      apiPort: api.apiPort,
      internalPort: api.internalPort,
      agentServers: config.AGENT_SERVERS ?? places.map(({ port }) => `https://127.0.0.1:${port}`).join(','),
      loginFile: api.tokenFile,
      credentialKeyFile: keptCredentialKey(data),
      policyFile: config.LEMNISCATE_DEFAULT_POLICY ?? join(import.meta.dirname, '../policy.yaml'),
      consoleFolder: consoleFolder(site.options.projectRoot),
    });
    await start('dispatcher', 'dispatcher', env, readyOverHttp(api.apiPort));
    const exporterEnv = exporterEnvironment(wiring, {
      port: exporterPort,
      sinkFile: join(data.folder('audit'), 'entries.ndjson'),
      logKey: join(data.folder('secrets'), 'audit-log-key.pem'),
    });
    await start('audit-exporter', 'audit-exporter', exporterEnv, readyOverHttp(exporterPort));
  };
  const agentServer = async ({ name, port }: { name: string; port: number }) => {
    const certificate = await authority.certificateFor('agent-server', name);
    const stateFolder = data.folder(join('agent-servers', name), 0o711);
    if (unboundedHere() !== '' && config.LEMNISCATE_SANDBOX_DRIVER !== 'docker')
      site.options.say(`without root bubblewrap cannot bound ${unboundedHere()} of a session`);
    const env = agentServerEnvironment(wiring, { certificate, port, stateFolder });
    await start(name, 'agent-server', env, readyOverTls(port, authority, dispatcherCertificate));
  };
  // The others may wait for the one that failed: an agent server is asked with the dispatcher's certificate.
  const failures: unknown[] = [];
  const failed = (error: unknown): void => {
    failures.push(error);
    site.failing.abort();
  };
  await Promise.all([dispatcher(), ...places.map(agentServer)].map((starting) => starting.catch(failed)));
  if (failures.length > 0) throw failures[0];
  return started;
}

async function dispatcherCertificateOf(
  config: LocalConfig,
  authority: CertificateAuthority,
): Promise<CertificateFiles> {
  const { LEMNISCATE_TLS_CERT: certificate, LEMNISCATE_TLS_KEY: key } = config;
  return certificate !== undefined && key !== undefined
    ? { certificate, key }
    : authority.certificateFor('dispatcher', 'local');
}

function servicePlan(
  { options, data, failing }: Site,
  name: string,
  folder: string,
  env: Record<string, string>,
  probe: () => Promise<boolean>,
) {
  return {
    name,
    command: process.execPath,
    args: [join(options.projectRoot, 'services', folder, 'src/main.ts')],
    env,
    cwd: options.projectRoot,
    logFile: join(data.folder('logs'), `${name}.log`),
    records: data.folder('run'),
    stopSignal: 'SIGTERM',
    deathSignal: 'TERM',
    stopGraceMs: 15_000,
    ready: { probe },
    readyWithinMs: 60_000,
    unwanted: failing.signal,
  } as const;
}

function neededPrograms(config: LocalConfig) {
  const local = config.AGENT_SERVERS === undefined;
  const sandbox = local && config.LEMNISCATE_SANDBOX_DRIVER !== 'docker' ? [programs.bubblewrap] : [];
  const disks = local && process.getuid?.() === 0 ? [programs.mkfs] : [];
  return [...programsOfStores(config), ...sandbox, ...disks, programs.git, programs.zstd, programs.tar];
}

function describeStores(stores: Stores, config: LocalConfig): string {
  const embedded = stores.processes.map(({ name }) => `${name} embedded`);
  const named = (['DATABASE_URL', 'REDIS_URL', 'S3_ENDPOINT'] as const).filter(
    (name) => config[name] !== undefined,
  );
  return [...embedded, ...named.map((name) => `${name} as set`)].join(', ');
}
