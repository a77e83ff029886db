import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@lemniscate/shared/testing/free-port.ts';
import { makeCertificate } from './certificate.ts';
import { until } from './exporter-process.ts';

const program = ['/usr/sbin/rsyslogd', '/sbin/rsyslogd'].find(existsSync);
const hasTls = ['/usr/lib/x86_64-linux-gnu/rsyslog', '/usr/lib/aarch64-linux-gnu/rsyslog'].some((folder) =>
  existsSync(join(folder, 'lmnsd_ossl.so')),
);

/** Reason of a skip where Debian's rsyslog with OpenSSL is missing. */
export const noRsyslog =
  program !== undefined && hasTls ? false : 'rsyslog: rsyslogd with rsyslog-openssl is not installed here';

/** Where the test's set-up has unpacked Debian's syslog-ng, beside the system's rsyslog. */
const syslogNg = process.env['LEMNISCATE_TEST_SYSLOG_NG'];
/** Reason of a skip where Debian's syslog-ng is missing. */
export const noSyslogNg = syslogNg !== undefined ? false : 'syslog-ng: LEMNISCATE_TEST_SYSLOG_NG is not set';

export interface SyslogReceiver {
  readonly port: number;
  readonly caFile: string;
  /** Messages as they were kept: one JSON string each, in order. */
  messages(): Promise<string[]>;
  stop(): Promise<void>;
  /** Starts again on the same port with what it has. */
  restart(): Promise<void>;
}

interface Places {
  readonly folder: string;
  readonly port: number;
  /** Where messages are kept. */
  readonly file: string;
  readonly key: string;
  readonly certificate: string;
}

/** A real rsyslog on loopback, with TLS, that keeps each message as one line of JSON. */
export const startRsyslog = (mostBytes: number): Promise<SyslogReceiver> =>
  startReceiver('rsyslog', (places) => ({
    configuration: rsyslogConfiguration(places, mostBytes),
    start: (configuration) =>
      spawn(program ?? '', ['-n', '-f', configuration, '-i', join(places.folder, 'pid')], {
        stdio: 'ignore',
      }),
  }));

/** A real syslog-ng, in the same way. */
export const startSyslogNg = (mostBytes: number): Promise<SyslogReceiver> =>
  startReceiver('syslog-ng', (places) => ({
    configuration: syslogNgConfiguration(places, mostBytes),
    start: (configuration) => {
      const { folder } = places;
      const state = ['-R', join(folder, 'persist'), '-c', join(folder, 'control'), '-p', join(folder, 'pid')];
      const root = syslogNg ?? '';
      const modules = join(root, 'usr/lib/syslog-ng/3.38');
      const machines = ['x86_64', 'aarch64'].flatMap((machine) =>
        ['usr/lib', 'lib'].map((folder) => join(root, folder, `${machine}-linux-gnu`)),
      );
      const libraries = [join(root, 'usr/lib/syslog-ng'), ...machines];
      const args = ['-F', '--no-caps', '--module-path', modules, '-f', configuration, ...state];
      return spawn(join(root, 'usr/sbin/syslog-ng'), args, {
        stdio: 'ignore',
        env: { ...process.env, LD_LIBRARY_PATH: libraries.join(':') },
      });
    },
  }));

const rsyslogConfiguration = (
  { folder, port, file, key, certificate }: Places,
  mostBytes: number,
): string => `global(workDirectory="${folder}" maxMessageSize="${mostBytes}"
      defaultNetstreamDriver="ossl" defaultNetstreamDriverCAFile="${certificate}"
      defaultNetstreamDriverCertFile="${certificate}" defaultNetstreamDriverKeyFile="${key}")
module(load="imtcp" streamDriver.name="ossl" streamDriver.mode="1" streamDriver.authMode="anon")
input(type="imtcp" port="${port}" address="127.0.0.1" ruleset="keep")
template(name="line" type="list") {
  constant(value="{\\"id\\":\\"") property(name="structured-data" format="json")
  constant(value="\\",\\"msg\\":\\"") property(name="msg" format="json")
  constant(value="\\",\\"type\\":\\"") property(name="msgid" format="json")
  constant(value="\\"}\\n")
}
ruleset(name="keep") { action(type="omfile" file="${file}" template="line" flushOnTXEnd="on") }
`;

const syslogNgConfiguration = (
  { port, file, key, certificate }: Places,
  mostBytes: number,
): string => `@version: 3.38
options { log-msg-size(${mostBytes}); flush-lines(1); stats-freq(0); };
source s_in {
  syslog(ip("127.0.0.1") port(${port}) transport("tls")
    tls(key-file("${key}") cert-file("${certificate}") peer-verify(optional-untrusted)));
};
destination d_keep {
  file("${file}" template("$(format-json id=\${SDATA} msg=\${MESSAGE} type=\${MSGID})\\n") flush-lines(1));
};
log { source(s_in); destination(d_keep); };
`;

async function startReceiver(
  name: string,
  describe: (places: Places) => {
    readonly configuration: string;
    readonly start: (configuration: string) => ChildProcess;
  },
): Promise<SyslogReceiver> {
  const folder = await mkdtemp(join(tmpdir(), `${name}-`));
  const [port, file] = [await freePort(), join(folder, 'kept.ndjson')];
  const { key, certificate } = makeCertificate(folder);
  const described = describe({ folder, port, file, key, certificate });
  const configuration = join(folder, `${name}.conf`);
  await writeFile(configuration, described.configuration);
  const start = (): ChildProcess => described.start(configuration);
  let child = start();
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  };
  const ready = () => until(`${name} listens`, () => canConnect(port), 10_000);
  await ready();
  return {
    port,
    caFile: certificate,
    messages: async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(0, -1),
    stop: async () => {
      await stop();
      await rm(folder, { recursive: true });
    },
    restart: async () => {
      await stop();
      child = start();
      await ready();
    },
  };
}

async function canConnect(port: number): Promise<boolean> {
  const { connect } = await import('node:net');
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    // not yet: the caller asks again
    return false;
  } finally {
    socket.destroy();
  }
}
