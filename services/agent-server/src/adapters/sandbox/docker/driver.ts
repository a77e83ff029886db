import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { prepareCliMounts, writeCliSettings } from '../cli-bundle.ts';
import type { CliMounts } from '../cli-bundle.ts';
import type { SandboxDriver, ThrowawayProfile } from '../../../application/ports/sandbox-driver.ts';
import { openDisks } from '../disk/sandbox-disk.ts';
import type { SandboxDisks } from '../disk/sandbox-disk.ts';
import { listSandboxFolders, removeSandboxFolder, sandboxFolder } from '../folders.ts';
import { readOwnerMark } from '../owner-mark.ts';
import { fingerprintOf, throwawayBounds, unsuited } from '../profile.ts';
import { checkName } from '../sandbox-id.ts';
import { dockerSeccompProfile } from '../seccomp/docker-profile.ts';
import { prepareSupervisor } from '../supervisor/prepare.ts';
import type { SupervisorFiles } from '../supervisor/prepare.ts';
import { writeShellStartup } from '../shell-startup.ts';
import { bootContainer } from './boot.ts';
import { describeEngine, labels, removeContainer, requireImage, within } from './engine.ts';
import { requireToolchains } from '../toolchains.ts';
import { seesDisks } from './sees-disks.ts';
import { runInThrowawayContainer } from './throwaway.ts';

export interface DockerOptions {
  /** Holds workspaces and the supervisor's files; the engine must see it under the same path. */
  readonly stateFolder: string;
  readonly serverId: string;
  readonly clock?: Clock;
  /** An engine other than the one that DOCKER_HOST or the default socket names. */
  readonly docker?: Docker;
  /** Image of profiles that name none, and of throwaway runs. */
  readonly image?: string;
  /** Bounds of throwaway runs. */
  readonly throwawayProfile?: ThrowawayProfile;
}

/** What all containers of one server share. */
export interface DockerWorkplace {
  readonly docker: Docker;
  /** Names this server's containers, see `readOwnerMark`. */
  readonly owner: string;
  readonly files: SupervisorFiles;
  /** What sandboxes show of the command-line agents. */
  readonly cliMounts: CliMounts;
  readonly seccompProfile: string;
  /** Folder with the machine-wide settings of the command-line agents. */
  readonly cliSettings: string;
  /** Folder with the startup files of shells. */
  readonly shellStartup: string;
  readonly sandboxes: string;
  readonly image: string;
  /** Names of the OCI runtimes that the engine has. */
  readonly runtimes: readonly string[];
  /** Ids of throwaway runs under way. */
  readonly running: Set<string>;
  /** Null where the disk of a sandbox cannot be bounded. */
  readonly disks: SandboxDisks | null;
}

/** What `npm run image:build` tags. */
const defaultImage = 'lemniscate/agent-base:latest';

/** Containers of an engine; the OCI runtime (runc, runsc, kata) is one setting of the profile. */
export function createDockerDriver(options: DockerOptions): SandboxDriver {
  const { stateFolder, clock = systemClock, throwawayProfile = throwawayBounds } = options;
  const serverId = checkName('server', options.serverId);
  const docker = options.docker ?? new Docker();
  /** Everything that this process made and has not seen gone. */
  const held = new Set<string>();
  let prepared: Promise<DockerWorkplace> | undefined;

  const prepare = async (): Promise<DockerWorkplace> => {
    const { runtimes } = await describeEngine(docker);
    const sandboxes = join(stateFolder, 'docker', serverId);
    mkdirSync(sandboxes, { recursive: true });
    chmodSync(sandboxes, 0o700);
    const programs = join(stateFolder, 'programs');
    const files = await prepareSupervisor(programs);
    const cliMounts = await prepareCliMounts(programs);
    const cliSettings = join(stateFolder, 'cli-settings');
    await writeCliSettings(cliSettings);
    const shellStartup = join(stateFolder, 'shell-startup');
    await writeShellStartup(shellStartup);
    const seccompProfile = dockerSeccompProfile();
    writeFileSync(join(stateFolder, 'seccomp-docker.json'), seccompProfile); // for whoever wants to read it
    const image = options.image ?? defaultImage;
    await requireImage(docker, image);
    const { disks } = await openDisks(join(stateFolder, 'disks'));
    const running = new Set<string>();
    const owner = readOwnerMark(stateFolder, serverId);
    const place = {
      docker,
      owner,
      files,
      cliMounts,
      seccompProfile,
      cliSettings,
      shellStartup,
      sandboxes,
      image,
      disks,
      runtimes,
      running,
    };
    return disks !== null && (await seesDisks(place, disks, join(stateFolder, 'disks'), throwawayProfile))
      ? place
      : { ...place, disks: null };
  };
  const workplace = (): Promise<DockerWorkplace> => {
    prepared ??= prepare().catch((error: unknown) => {
      prepared = undefined; // the engine may be up the next time
      throw error;
    });
    return prepared;
  };

  /** Container ids by sandbox id. */
  const containers = async ({ owner }: DockerWorkplace): Promise<Map<string, string>> => {
    const filters = JSON.stringify({ label: [`${labels.server}=${owner}`] });
    const found = await within('list containers', docker.listContainers({ all: true, filters }));
    return new Map(found.map(({ Id, Labels }) => [Labels[labels.sandbox] ?? Id, Id]));
  };
  const existing = async (place: DockerWorkplace): Promise<string[]> => [
    ...new Set([
      ...(await listSandboxFolders(place.sandboxes)).sandboxes,
      ...(await containers(place)).keys(),
    ]),
  ];

  return {
    name: 'docker',
    async probe() {
      const { memoryLimit, processLimit, cpuLimit, seccomp } = await describeEngine(docker);
      const { disks } = await workplace();
      const diskLimit = disks !== null;
      return { memoryLimit, processLimit, cpuLimit, diskLimit, seccomp, separateCommandUser: true };
    },
    async fingerprint(profile) {
      const place = await workplace();
      const runtime = profile.ociRuntime;
      if (runtime !== undefined && !place.runtimes.includes(runtime))
        throw unsuited(profile, 'runtime', runtime);
      requireToolchains(profile);
      return fingerprintOf(profile, place.files, await requireImage(docker, profile.image ?? place.image));
    },
    async base(profile) {
      const place = await workplace();
      return requireImage(docker, profile.image ?? place.image);
    },
    async boot(id, profile) {
      const place = await workplace();
      held.add(checkName('sandbox', id));
      const sandbox = await bootContainer(place, id, profile, clock).catch((error: unknown) => {
        held.delete(id);
        throw error;
      });
      return {
        ...sandbox,
        async destroy(how) {
          await sandbox.destroy(how);
          if (how?.keepWorkspace !== true) held.delete(id);
        },
      };
    },
    async runThrowaway(run) {
      return runInThrowawayContainer(await workplace(), run, throwawayProfile);
    },
    async recover() {
      const place = await workplace();
      const known = await containers(place);
      const { kept } = await listSandboxFolders(place.sandboxes);
      const ids = [...kept, ...(await existing(place))].filter(
        (id) => !held.has(id) && !place.running.has(id),
      );
      for (const id of ids) {
        const container = known.get(id);
        if (container !== undefined) await removeContainer(docker, container);
        await removeSandboxFolder(sandboxFolder(place.sandboxes, id), false, place.disks);
      }
      return ids;
    },
    async list() {
      return existing(await workplace());
    },
  };
}
