import { syscallNumbers } from '../../seccomp/syscall-numbers.ts';
import type { SyscallName } from '../../seccomp/syscall-numbers.ts';

/** Where an attempt is proved to be able to succeed: on the host, as root, in fresh namespaces of root, or as nobody. */
export type Control = 'host' | 'namespaced' | 'nobody';

/**
 * One attempt to get out. The script prints ESCAPED when it succeeded and nothing like it otherwise. The
 * environment holds what the test laid out on the host: see `EscapeTargets`.
 */
export interface EscapeAttempt {
  readonly name: string;
  readonly program: 'bash' | 'perl';
  readonly script: string;
  readonly control: Control;
  /** It can only be refused where commands have a uid of their own. */
  readonly needsOwnUser?: boolean;
  /** A kernel may have been built without it; the control then says REFUSED, the kernel's own answer to root. */
  readonly dependsOnKernel?: boolean;
  /** About reaching the host's kernel: says nothing where the sandbox has a kernel of its own (gVisor, Kata). */
  readonly hostKernel?: boolean;
}

/** What stands on the host for attempts to reach, passed as environment. */
export interface EscapeTargets {
  /** A TCP and UDP listener on every address of the host. */
  readonly ADDRESS: string;
  readonly PORT: string;
  /** An abstract unix socket, which belongs to the network namespace. */
  readonly ABSTRACT: string;
  /** A file that everyone on the host can read. */
  readonly FILE: string;
  /** The other sandbox' workspace as the host knows it; it holds a file `secret`. */
  readonly NEIGHBOUR: string;
  /** In the command line of a process of the other sandbox, and of the host. */
  readonly MARK: string;
  /** Pid of a process on the host that the control may look into. */
  readonly VICTIM: string;
  /** Pid of a Node process on the host, started as anybody starts one. */
  readonly INSPECTED: string;
  /** A unix socket of the host that everyone there can reach, as an engine's is. */
  readonly SOCKET: string;
  /** Key of a System V memory segment of the host. */
  readonly MEMORY: string;
  /** A TCP listener of the host on its loopback of the other family. */
  readonly PORT6: string;
}

export function number(name: SyscallName): number {
  return syscallNumbers[name][process.arch === 'arm64' ? 1 : 0] ?? -1;
}

/** Every process that is not the attempt itself: in a sandbox PID 1 and the supervisor, in the control VICTIM. */
export const others =
  'my @p = $ENV{VICTIM} ? ($ENV{VICTIM} + 0) : grep { $_ != $$ } map { m{/(\\d+)$} ? $1 + 0 : () } glob "/proc/[0-9]*";';

/**
 * A call that must not reach the kernel's own code. Arguments are such that nothing happens; any answer but
 * EPERM (1), ENOSYS (38) and, for sockets, EAFNOSUPPORT (97) is the kernel's and counts as escaped.
 */
export function call(name: SyscallName, args: string, what = ''): EscapeAttempt {
  return {
    name: `${name}${what} does not reach the kernel`,
    program: 'perl',
    script: `$! = 0; my $r = syscall(${number(name)}, ${args}); my $e = $! + 0;
      print(($r < 0 && ($e == 1 || $e == 38)) ? "REFUSED errno $e\\n" : "ESCAPED $r errno $e\\n");`,
    control: 'host',
    dependsOnKernel: true,
    hostKernel: true,
  };
}

export function bash(name: string, script: string, control: Control = 'host'): EscapeAttempt {
  return { name, program: 'bash', script, control };
}

export function perl(name: string, script: string, control: Control = 'host'): EscapeAttempt {
  return { name, program: 'perl', script, control };
}
