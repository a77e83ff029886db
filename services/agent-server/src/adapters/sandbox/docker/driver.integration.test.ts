import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import Docker from 'dockerode';
import type { ThrowawayProfile } from '../../../application/ports/sandbox-driver.ts';
import { describeSandboxContract } from '../contract/sandbox-contract.ts';
import { createDockerDriver } from './driver.ts';
import { describeEngine } from './engine.ts';
import type { EngineInfo } from './engine.ts';

const build = fileURLToPath(new URL('../../../../../../infra/images/agent-base/build.sh', import.meta.url));

const engine: EngineInfo | null = await describeEngine(new Docker()).catch(() => null);

/** Builds it when it is not there yet, which takes about 40 s. */
function contractImage(): string {
  return execFileSync(build, ['slim'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

for (const runtime of ['runc', 'runsc', 'kata'] as const) {
  const reason =
    engine === null
      ? 'docker-engine: no engine answers on this machine'
      : engine.runtimes.includes(runtime)
        ? null
        : `docker-${runtime}: the engine has no runtime of that name`;
  describe(`docker with ${runtime}`, () => {
    if (reason !== null) {
      it('keeps the contract', { skip: reason }, () => undefined);
      return;
    }
    // made by the driver, so that a suite that is filtered out leaves nothing
    const stateFolder = `/var/tmp/lemniscate-docker-${process.pid}-${runtime}`;
    const serverId = `srv_contract_${process.pid}_${runtime}`;
    const image = contractImage();
    const throwaway: ThrowawayProfile = {
      name: 'throwaway',
      memoryBytes: 256 * 1024 ** 2,
      processes: 64,
      cpus: 1,
      tmpBytes: 32 * 1024 ** 2,
      shmBytes: 16 * 1024 ** 2,
      ociRuntime: runtime,
    };
    after(() => rm(stateFolder, { recursive: true, force: true }));

    describeSandboxContract({
      create: () => createDockerDriver({ stateFolder, serverId, image, throwawayProfile: throwaway }),
      profile: { image, ociRuntime: runtime },
      kernel: runtime === 'runc' ? 'host' : 'own',
      parentArguments: ['docker', stateFolder, serverId],
    });
  });
}
