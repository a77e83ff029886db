import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { findProgram } from '../packages.ts';
import type { PortBook } from '../port-book.ts';
import { startProcess } from '../process/managed-process.ts';
import type { ManagedProcess } from '../process/managed-process.ts';
import { cephConfiguration, cephPackages } from './ceph-configuration.ts';
import { unpackPackages } from './unpacked-packages.ts';

/** A Ceph of one monitor, one OSD that keeps its objects in memory, and one RADOS Gateway. */
export interface CephGateway {
  /** S3 endpoint of the gateway; it knows one user, `rgwUser`. */
  readonly endpoint: string;
  stop(): Promise<void>;
}

const rgwUser = { accessKeyId: 'lemniscate-test', secretAccessKey: 'lemniscate-test-only' };
const fsid = '6c656d6e-0000-4000-8000-000000000001';

/**
 * Starts the cluster from Debian's packages, unpacked and not installed. It takes some 20 s, most of it the making of
 * pools.
 * @throws CodedError `package_missing`, `service_unreachable`
 */
export async function startCeph(ports: PortBook, say: (line: string) => void): Promise<CephGateway> {
  const root = unpackPackages({ name: 'ceph', packages: cephPackages, proof: 'usr/bin/radosgw' }, say);
  const python = findProgram('python3');
  if (python === undefined)
    throw new CodedError('package_missing', 'There is no python3 to speak to a Ceph monitor with.');
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-ceph-'));
  const [monPort, rgwPort] = [await ports.of('ceph-mon'), await ports.of('ceph-rgw')];
  for (const part of ['mon', 'osd', 'run', 'rgw']) mkdirSync(join(folder, part));
  const configuration = join(folder, 'ceph.conf');
  writeFileSync(configuration, cephConfiguration({ root, folder, fsid, monPort, rgwPort }));
  const env = {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    LD_LIBRARY_PATH: ['lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu/ceph']
      .concat(['lib/aarch64-linux-gnu', 'usr/lib/aarch64-linux-gnu', 'usr/lib/aarch64-linux-gnu/ceph'])
      .map((path) => join(root, path))
      .join(':'),
    PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'),
  };
  const bin = (program: string): string => join(root, 'usr/bin', program);
  const running: ManagedProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const part of running.toReversed()) await part.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const run = (command: string, ...args: string[]): void => {
    const { status, stderr } = spawnSync(command, args, {
      cwd: folder,
      env,
      encoding: 'utf8',
      timeout: 90_000,
    });
    if (status !== 0)
      throw new CodedError('service_unreachable', `Ceph: ${command} failed: ${stderr.trim().slice(-300)}`);
  };
  const start = async (program: string, args: string[], probe: () => Promise<boolean>): Promise<void> => {
    const part = await startProcess({
      name: program,
      command: bin(program),
      args: ['-c', configuration, '-f', ...args],
      env,
      cwd: folder,
      logFile: join(folder, 'run', `${program}.out`),
      records: join(folder, 'run'),
      stopSignal: 'SIGTERM',
      deathSignal: 'KILL',
      // nobody misses its data
      stopGraceMs: 2_000,
      ready: { probe },
      readyWithinMs: 60_000,
    });
    running.push(part);
  };
  const ceph = (...args: string[]): void => run(python, bin('ceph'), '-c', configuration, ...args);
  try {
    const map = join(folder, 'monmap');
    run(bin('monmaptool'), '--create', '--fsid', fsid, '--addv', 'a', `[v2:127.0.0.1:${monPort}]`, map);
    run(bin('ceph-mon'), '-c', configuration, '-i', 'a', '--mkfs', '--monmap', map);
    await start('ceph-mon', ['-i', 'a'], () => listens(monPort));
    const osd = crypto.randomUUID();
    ceph('osd', 'new', osd);
    run(bin('ceph-osd'), '-c', configuration, '-i', '0', '--mkfs', '--osd-uuid', osd);
    await start('ceph-osd', ['-i', '0'], () => Promise.resolve(true));
    const { accessKeyId, secretAccessKey } = rgwUser;
    const admin = [
      '-c',
      configuration,
      '-n',
      'client.rgw',
      'user',
      'create',
      '--uid=test',
      '--display-name=test',
    ];
    run(bin('radosgw-admin'), ...admin, `--access-key=${accessKeyId}`, `--secret=${secretAccessKey}`);
    await start('radosgw', ['-n', 'client.rgw'], () => listens(rgwPort));
    return { endpoint: `http://127.0.0.1:${rgwPort}`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((settle) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      settle(true);
    });
    // not yet: the caller asks again
    socket.once('error', () => settle(false));
  });
}
