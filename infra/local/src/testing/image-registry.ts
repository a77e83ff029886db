import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../process/free-port.ts';
import { startProcess } from '../process/managed-process.ts';
import { unpackPackages } from './unpacked-packages.ts';

/** A registry of images on loopback; engines take plain HTTP there. */
export interface ImageRegistry {
  /** What stands before an image's name, such as `127.0.0.1:20123`. */
  readonly address: string;
  stop(): Promise<void>;
}

/**
 * Debian's registry, unpacked beside the system and not installed: the package starts a service.
 * @returns its path
 * @throws CodedError `package_missing`
 */
export function unpackRegistry(say: (line: string) => void): string {
  const program = 'usr/bin/docker-registry';
  const root = unpackPackages(
    { name: 'docker-registry', packages: ['docker-registry'], proof: program },
    say,
  );
  return join(root, program);
}

/**
 * Starts a registry that keeps its images in a folder.
 * @param program path of `docker-registry`
 * @throws CodedError `service_unreachable`
 */
export async function startRegistry(program: string, folder: string): Promise<ImageRegistry> {
  const claim = await freePort();
  const address = `127.0.0.1:${claim.port}`;
  mkdirSync(join(folder, 'images'), { recursive: true });
  const configuration = join(folder, 'registry.json');
  // JSON is YAML, which is what it reads
  writeFileSync(
    configuration,
    JSON.stringify({
      version: '0.1',
      log: { level: 'warn', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(folder, 'images') } },
      http: { addr: address },
    }),
  );
  const registry = await startProcess({
    name: 'docker-registry',
    command: program,
    args: ['serve', configuration],
    env: { PATH: '/usr/bin:/bin' },
    cwd: folder,
    logFile: join(folder, 'registry.log'),
    records: folder,
    stopSignal: 'SIGTERM',
    deathSignal: 'KILL',
    stopGraceMs: 5_000,
    ready: { probe: () => serves(address) },
    readyWithinMs: 30_000,
  });
  return { address, stop: () => registry.stop().finally(claim.release) };
}

/** Whether a registry answers its version check. */
async function serves(address: string): Promise<boolean> {
  const answer = await fetch(`http://${address}/v2/`, { signal: AbortSignal.timeout(2_000) }).catch(
    // refused: nobody listens there yet
    () => null,
  );
  return answer?.status === 200;
}
