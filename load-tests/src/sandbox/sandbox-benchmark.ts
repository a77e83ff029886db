import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sandboxDrivers } from '@lemniscate/agent-server/adapters/sandbox/registry.ts';
import { readProfiles } from '@lemniscate/agent-server/application/sandbox-profiles.ts';
import type {
  SandboxDriver,
  SandboxDriverName,
  SandboxProfile,
} from '@lemniscate/agent-server/application/ports/sandbox-driver.ts';
import { openDataFolder } from '@lemniscate/local/data-folder.ts';
import { findDockerEngine } from '@lemniscate/local/testing/docker-engine.ts';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchGoal, BenchIo, BenchResult, Benchmark, Distribution } from '../benchmark.ts';
import { idleMemory } from './idle-memory.ts';
import { measureDriver } from './measure-driver.ts';
import { plainDocker } from './plain-docker.ts';

/** One way of making sandboxes, and what is promised of it. Milliseconds. */
interface Candidate {
  readonly name: string;
  readonly driver: SandboxDriverName;
  readonly runtime?: 'runc' | 'runsc';
  readonly goals: {
    readonly warmP50?: number;
    readonly warmP99?: number;
    readonly command?: number;
    readonly cold?: number;
  };
  /** Idle sandboxes whose memory is looked at. */
  readonly idle: number;
}

const candidates: readonly Candidate[] = [
  {
    name: 'bubblewrap',
    driver: 'bubblewrap',
    goals: { warmP50: 8, warmP99: 30, command: 5, cold: 90 },
    idle: 100,
  },
  {
    name: 'docker+runc',
    driver: 'docker',
    runtime: 'runc',
    goals: { warmP50: 12, warmP99: 40, command: 5 },
    idle: 10,
  },
  { name: 'docker+runsc', driver: 'docker', runtime: 'runsc', goals: { command: 30 }, idle: 4 },
];

/** To reach: 100 idle bubblewrap sandboxes in less than this. */
const idleMiB = 4096;
/** To reach: a warm claim to its first output so many times faster than plain `docker run`. */
const timesFaster = 25;

/** What an agent server's sandboxes cost, each driver beside plain `docker run` and `docker exec`, in one run. */
export const sandboxBenchmark: Benchmark = {
  name: 'sandbox',
  about:
    'warm claim, cold start, command, snapshot, claims per second and memory, per driver, beside plain docker',
  async run(io) {
    const rounds = Number(io.environment['LEMNISCATE_BENCH_ROUNDS'] ?? 200);
    // not under /tmp: sandboxes have a /tmp of their own
    const folder = mkdtempSync('/var/tmp/lemniscate-bench-sandbox-');
    chmodSync(folder, 0o711);
    const engine = await findDockerEngine(
      openDataFolder(io.environment, io.projectRoot),
      io.environment,
      io.say,
    );
    const results: BenchResult[] = [];
    const goals: BenchGoal[] = [];
    try {
      const docker = 'missing' in engine ? null : { image: buildImage(io, engine.host), host: engine.host };
      if (docker === null) io.say(`no container engine: ${'missing' in engine ? engine.missing : ''}`);
      else process.env['DOCKER_HOST'] = docker.host;
      const plain = docker === null ? null : await plainDocker(docker.host, docker.image, rounds, io);
      if (plain !== null) results.push(plain.run, plain.exec);
      for (const candidate of candidates) {
        if (candidate.driver === 'docker' && docker === null) continue;
        const made = await measure(candidate, docker?.image, join(folder, candidate.name), rounds, io).catch(
          (error: unknown) => {
            // an engine without gVisor refuses the profile; anything else is a fault
            if (candidate.runtime !== 'runsc') throw error;
            io.say(`${candidate.name}: ${error instanceof Error ? error.message : String(error)}`);
            return null;
          },
        );
        if (made === null) continue;
        results.push(...made.results);
        goals.push(...made.goals);
        if (plain !== null && candidate.goals.warmP50 !== undefined)
          goals.push(
            goalAtMost(
              `${candidate.name}: warm claim to first output as a share of docker run, p50`,
              'of docker run',
              1 / timesFaster,
              Math.round((made.warm.p50 / plain.run.p50) * 10_000) / 10_000,
            ),
          );
      }
      return { results, goals };
    } finally {
      if (!('missing' in engine)) await engine.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function measure(
  candidate: Candidate,
  image: string | undefined,
  stateFolder: string,
  rounds: number,
  io: BenchIo,
): Promise<{ results: BenchResult[]; goals: BenchGoal[]; warm: Distribution }> {
  const { name, goals: wanted, runtime } = candidate;
  const serverId = `bench-${process.pid}`;
  const ofDocker = candidate.driver === 'docker' && image !== undefined ? { image } : {};
  const driver: SandboxDriver = sandboxDrivers[candidate.driver]({ stateFolder, serverId, ...ofDocker });
  const [built] = readProfiles(undefined);
  if (built === undefined) throw new Error('there is no sandbox profile');
  const profile: SandboxProfile = {
    ...built,
    ...(runtime === undefined ? {} : { ociRuntime: runtime, ...ofDocker }),
  };
  await driver.fingerprint(profile);
  const rows = await measureDriver(driver, profile, rounds, io);
  const idle = await idleMemory(driver, profile, candidate.idle);
  const left = await driver.recover();
  if (left.length > 0) throw new Error(`${name} has left ${left.join(', ')}`);
  const warm = distribution(`${name}: warm claim to first output`, 'ms', rows.warm);
  const command = distribution(`${name}: command round trip`, 'ms', rows.command);
  const cold = distribution(`${name}: cold start to first output`, 'ms', rows.cold);
  const results: BenchResult[] = [
    warm,
    distribution(`${name}: of it the claim`, 'ms', rows.claim),
    cold,
    command,
    distribution(`${name}: snapshot of 50 MB`, 'ms', rows.snapshot),
    distribution(`${name}: restore of 50 MB`, 'ms', rows.restore),
    { name: `${name}: claims sustained with refill`, unit: '1/s', value: rows.claimsPerSecond },
    {
      name: `${name}: memory of an idle sandbox (PSS, of ${candidate.idle})`,
      unit: 'MiB',
      value: idle.eachMiB,
    },
  ];
  const goals = [
    ...goal(wanted.warmP50, `${warm.name}, p50`, warm.p50),
    ...goal(wanted.warmP99, `${warm.name}, p99`, warm.p99),
    ...goal(wanted.cold, `${cold.name}, p50`, cold.p50),
    ...goal(wanted.command, `${command.name}, p50`, command.p50),
    ...(candidate.idle === 100
      ? [goalAtMost(`${name}: 100 idle sandboxes`, 'MiB', idleMiB, idle.allMiB)]
      : []),
  ];
  return { results, goals, warm };
}

function goal(bound: number | undefined, name: string, value: number): BenchGoal[] {
  return bound === undefined ? [] : [goalAtMost(name, 'ms', bound, value)];
}

/** Builds it where it is not there yet, which takes about a minute. */
function buildImage(io: BenchIo, host: string): string {
  const build = join(io.projectRoot, 'infra/images/agent-base/build.sh');
  const env = { ...process.env, DOCKER_HOST: host };
  return execFileSync(build, ['slim'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  }).trim();
}
