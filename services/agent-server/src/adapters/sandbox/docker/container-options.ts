import type Docker from 'dockerode';
import type { SandboxMount, ThrowawayProfile } from '../../../application/ports/sandbox-driver.ts';
import { labels } from './engine.ts';

/** What one container depends on. */
export interface ContainerWish {
  readonly owner: string;
  readonly id: string;
  readonly image: string;
  readonly profile: ThrowawayProfile;
  readonly argv: readonly string[];
  /** `uid:gid` inside; the host's as well, unless the engine remaps. */
  readonly user: string;
  readonly capabilities: readonly string[];
  readonly workingFolder: string;
  readonly environment: readonly string[];
  readonly mounts: readonly SandboxMount[];
  /** Further tmpfs by path, with the engine's own option words. */
  readonly tmpfs: Readonly<Record<string, string>>;
  readonly processes: number;
  readonly seccompProfile: string;
}

/**
 * The kernel counts tasks of the host. gVisor's own kernel is a Go program with a thread for everything (49 at rest on two
 * cores), and runs each process inside by several tasks outside: 40 processes were 287.
 */
const gvisor = { own: 128, perProcess: 8 } as const;

function taskBound({ profile, processes }: ContainerWish): number {
  return profile.ociRuntime === 'runsc' ? gvisor.own + processes * gvisor.perProcess : processes;
}

/** Nothing but what is named here: no network, no log, no writable root, no privilege, bounds on everything. */
export function containerOptions(wish: ContainerWish): Docker.ContainerCreateOptions {
  const { profile } = wish;
  return {
    name: `lemniscate-${wish.owner}-${wish.id}`,
    Image: wish.image,
    Labels: { [labels.server]: wish.owner, [labels.sandbox]: wish.id },
    Hostname: 'sandbox',
    User: wish.user,
    Entrypoint: [...wish.argv],
    Cmd: [],
    Env: [...wish.environment],
    WorkingDir: wish.workingFolder,
    Tty: false,
    OpenStdin: true,
    StdinOnce: true, // our end of the wire is its life: when this server dies, the supervisor sees the end
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    StopSignal: 'SIGKILL',
    HostConfig: {
      NetworkMode: 'none',
      LogConfig: { Type: 'none', Config: {} }, // json-file wrote 315 MB for 50 MB of wire
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      CapAdd: [...wish.capabilities],
      SecurityOpt: ['no-new-privileges', `seccomp=${wish.seccompProfile}`],
      IpcMode: 'private',
      Memory: profile.memoryBytes,
      MemorySwap: profile.memoryBytes,
      NanoCpus: Math.round(profile.cpus * 1e9),
      PidsLimit: taskBound(wish),
      ShmSize: profile.shmBytes,
      Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
      Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,mode=1777,size=${profile.tmpBytes}`, ...wish.tmpfs },
      Binds: wish.mounts.map(
        ({ source, target, readOnly, follows }) =>
          `${source}:${target}:${readOnly ? 'ro' : 'rw'}${follows === true ? ',rslave' : ''}`,
      ),
      ...(profile.ociRuntime === undefined ? {} : { Runtime: profile.ociRuntime }),
    },
  };
}
