import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { colours } from '../colours.ts';
import { readLocalConfig } from '../config.ts';
import { openDataFolder } from '../data-folder.ts';
import { programs, requirePrograms } from '../packages.ts';
import type { Program } from '../packages.ts';
import { openPortBook } from '../port-book.ts';
import type { PortBook } from '../port-book.ts';
import { projectRoot } from '../project-root.ts';
import { startStores } from '../stores.ts';
import type { Unwinding } from '../unwinding.ts';
import { startCeph } from './ceph.ts';
import { findDockerEngine } from './docker-engine.ts';
import { unpackRegistry } from './image-registry.ts';
import { unpackKubectl } from './kubectl.ts';
import { unpackSyslogNg } from './syslog-ng.ts';
import {
  needsBrowser,
  needsCeph,
  needsCompose,
  needsEngine,
  needsKubectl,
  needsPgbouncer,
  needsPostgres,
  needsPromtool,
  needsRegistry,
  needsRsyslog,
  needsSlapd,
  needsSshd,
  needsTmux,
} from './test-files.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts Postgres, Redis and S3 once for all integration files, and a container engine when one of them asks for it.
 * Each test makes its own database, prefix or bucket there.
 * @returns the environment of the tests: ours, and `LEMNISCATE_TEST_DATABASE_URL`, `LEMNISCATE_TEST_REDIS_URL`,
 *   `LEMNISCATE_TEST_S3_ENDPOINT`, `DOCKER_HOST` where an engine answers
 */
export async function bringUpTestParts(
  files: readonly string[],
  unwinding: Unwinding,
  say: (line: string) => void,
): Promise<Environment> {
  const { setpriv, redis, bubblewrap, git, zstd, tar } = programs;
  requirePrograms([setpriv, redis, bubblewrap, git, zstd, tar], say);
  if (files.some(needsRsyslog)) installOptional(programs.rsyslog, say);
  if (files.some(needsSlapd)) installOptional(programs.slapd, say);
  if (files.some(needsSshd)) installOptional(programs.sshd, say);
  if (files.some(needsCompose)) installOptional(programs.dockerCompose, say);
  if (files.some(needsPromtool)) installOptional(programs.promtool, say);
  if (files.some(needsPgbouncer)) installOptional(programs.pgbouncer, say);
  if (files.some(needsPostgres)) installOptional(programs.postgres, say);
  if (files.some(needsTmux)) installOptional(programs.tmux, say);
  if (files.some(needsBrowser)) installOptional(programs.chromium, say);
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-test-'));
  unwinding.add(() => rmSync(folder, { recursive: true, force: true }));
  const data = openDataFolder({ LEMNISCATE_DATA: folder }, projectRoot);
  const ports = openPortBook(data);
  const stores = await startStores(data, ports, readLocalConfig({}), {
    durable: false,
    say: (line) => console.error(line),
  });
  unwinding.add(stores.stop);
  return {
    ...process.env,
    LEMNISCATE_TEST_DATABASE_URL: stores.databaseUrl,
    LEMNISCATE_TEST_REDIS_URL: stores.redisUrl,
    LEMNISCATE_TEST_S3_ENDPOINT: stores.s3.endpoint,
    ...(files.some(needsRsyslog) ? unpacked('LEMNISCATE_TEST_SYSLOG_NG', unpackSyslogNg, say) : {}),
    ...(files.some(needsKubectl) ? unpacked('LEMNISCATE_TEST_KUBECTL', unpackKubectl, say) : {}),
    ...(files.some(needsRegistry) ? unpacked('LEMNISCATE_TEST_REGISTRY', unpackRegistry, say) : {}),
    ...(files.some(needsCeph) ? await bringUpCeph(ports, unwinding, say) : {}),
    ...(files.some(needsEngine) ? await bringUpEngine(unwinding, say) : {}),
  };
}

/** Where it cannot be installed its tests skip with a key of the program's name. */
function installOptional(wanted: Program, say: (line: string) => void): void {
  try {
    requirePrograms([wanted], say);
  } catch (error) {
    if (!isCodedError(error, 'package_missing')) throw error;
    say(colours.yellow(`no ${wanted.package}: ${error.message}`));
  }
}

/** Where it cannot be had the tests that look for the variable skip. */
function unpacked(
  variable: string,
  unpack: (say: (line: string) => void) => string,
  say: (line: string) => void,
): Environment {
  try {
    return { [variable]: unpack(say) };
  } catch (error) {
    if (!isCodedError(error, 'package_missing')) throw error;
    say(colours.yellow(error.message));
    return {};
  }
}

/** Where it cannot be had its tests skip with the key `ceph`. */
async function bringUpCeph(
  ports: PortBook,
  unwinding: Unwinding,
  say: (line: string) => void,
): Promise<Environment> {
  try {
    const ceph = await startCeph(ports, say);
    unwinding.add(ceph.stop);
    return { LEMNISCATE_TEST_RGW_ENDPOINT: ceph.endpoint };
  } catch (error) {
    if (!isCodedError(error, 'package_missing') && !isCodedError(error, 'service_unreachable')) throw error;
    say(colours.yellow(error.message));
    return {};
  }
}

async function bringUpEngine(unwinding: Unwinding, say: (line: string) => void): Promise<Environment> {
  const data = openDataFolder(process.env, projectRoot);
  const engine = await findDockerEngine(data, process.env, say);
  if ('missing' in engine) {
    say(colours.yellow(`no container engine: ${engine.missing}`));
    return {};
  }
  unwinding.add(engine.stop);
  return { DOCKER_HOST: engine.host };
}
