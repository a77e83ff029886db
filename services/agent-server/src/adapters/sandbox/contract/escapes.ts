import { syscallNumbers } from '../seccomp/syscall-numbers.ts';
import type { SyscallName } from '../seccomp/syscall-numbers.ts';

/** Where an attempt is proved to be able to succeed: as root on the host, there in fresh namespaces if it must. */
export type Control = 'host' | 'namespaced';

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
  /** A call that a kernel may have been built without; its control may then fail as well. */
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
}

function number(name: SyscallName): number {
  return syscallNumbers[name][process.arch === 'arm64' ? 1 : 0] ?? -1;
}

/** Every process that is not the attempt itself: in a sandbox PID 1 and the supervisor, in the control VICTIM. */
const others =
  'my @p = $ENV{VICTIM} ? ($ENV{VICTIM} + 0) : grep { $_ != $$ } map { m{/(\\d+)$} ? $1 + 0 : () } glob "/proc/[0-9]*";';

/**
 * A call that must not reach the kernel's own code. Arguments are such that nothing happens; any answer but
 * EPERM (1), ENOSYS (38) and, for sockets, EAFNOSUPPORT (97) is the kernel's and counts as escaped.
 */
function call(name: SyscallName, args: string, what = ''): EscapeAttempt {
  return {
    name: `${name}${what} does not reach the kernel`,
    program: 'perl',
    script: `$! = 0; my $r = syscall(${number(name)}, ${args}); my $e = $! + 0;
      print "ESCAPED $r errno $e\\n" unless $r < 0 && ($e == 1 || $e == 38);`,
    control: 'host',
    dependsOnKernel: true,
    hostKernel: true,
  };
}

function bash(name: string, script: string, control: Control = 'host'): EscapeAttempt {
  return { name, program: 'bash', script, control };
}

function perl(name: string, script: string, control: Control = 'host'): EscapeAttempt {
  return { name, program: 'perl', script, control };
}

const network: readonly EscapeAttempt[] = [
  bash(
    'no interface but loopback',
    `grep -v -e '|' -e ' lo:' -e '^ *lo:' /proc/net/dev | grep -q : && echo ESCAPED`,
  ),
  bash('no TCP by address', 'timeout 3 bash -c "exec 3<>/dev/tcp/$ADDRESS/$PORT" && echo ESCAPED'),
  bash(
    'no TCP to the host’s loopback',
    'timeout 3 bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT" && echo ESCAPED',
  ),
  bash('no UDP, hence no DNS', 'timeout 3 bash -c "echo q > /dev/udp/$ADDRESS/$PORT" && echo ESCAPED'),
  perl(
    'no abstract socket of the host',
    `use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) or exit; my $a = pack("S a*", AF_UNIX, "\\0$ENV{ABSTRACT}");
     print "ESCAPED\\n" if connect(S, $a);`,
  ),
  perl('no raw socket', 'use Socket; print "ESCAPED\\n" if socket(S, AF_INET, SOCK_RAW, 1);'),
];

const files: readonly EscapeAttempt[] = [
  bash(
    'the root is read-only',
    'for d in / /usr /usr/bin /etc /bin; do touch $d/lemniscate-probe 2>/dev/null && echo ESCAPED && rm $d/lemniscate-probe; done',
  ),
  bash('no file of the host', 'cat "$FILE" && echo ESCAPED'),
  bash('no workspace of another sandbox', 'cat "$NEIGHBOUR/secret" && echo ESCAPED'),
  bash(
    'no file of another sandbox by /proc',
    'cat /proc/*/root"$NEIGHBOUR"/secret 2>/dev/null | grep -q secret && echo ESCAPED',
  ),
  bash('no root of PID 1', 'ls /proc/${VICTIM:-1}/root/ && echo ESCAPED'),
  bash('no block device', 'find /dev -type b | grep -q . && echo ESCAPED'),
  bash(
    'no memory or kernel log device',
    'for d in /dev/mem /dev/kmsg /dev/port; do ( : < $d ) 2>/dev/null && echo ESCAPED; done',
  ),
  {
    ...perl(
      'no device node of one’s own',
      `my $f = "/tmp/lemniscate-node-$$"; syscall(${number('mknodat')}, -100, $f, 0020666, 0x0103);
     print "ESCAPED\\n" if open(my $h, "<", $f); unlink $f;`,
    ),
    hostKernel: true,
  },
  bash(
    'no write to kernel settings',
    'f=/proc/sys/kernel/core_pattern; v=$(cat $f) && echo "$v" 2>/dev/null > $f && echo ESCAPED',
  ),
  bash(
    'no control groups to write',
    'find /sys/fs/cgroup -maxdepth 2 -name cgroup.procs -writable 2>/dev/null | grep -q . && echo ESCAPED',
  ),
];

const identity: readonly EscapeAttempt[] = [
  bash('no root', '[ "$(id -u)" = 0 ] && echo ESCAPED'),
  bash(
    'no capability',
    'grep -E "^Cap(Prm|Eff|Amb)" /proc/self/status | grep -qv 0000000000000000 && echo ESCAPED',
  ),
  bash('no new privileges', 'grep -q "^NoNewPrivs:.*0" /proc/self/status && echo ESCAPED'),
  perl('no way back to uid 0', '$< = 0; $> = 0; print "ESCAPED\\n" if $< == 0 || $> == 0;'),
  bash('no variable of the host', 'env | grep -q LEMNISCATE_HOST_MARK && echo ESCAPED'),
  bash(
    'no descriptor of the host',
    '[ "$(ls /proc/self/fd | grep -vxE "0|1|2|3" | wc -l)" = 0 ] || echo ESCAPED',
  ),
];

const processes: readonly EscapeAttempt[] = [
  bash(
    'no process of another sandbox or the host',
    'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " " | grep -qE "sleep ${MARK}[0-9]" && echo ESCAPED',
  ),
  {
    ...perl('no signal to the supervisor', `${others} print "ESCAPED $_\\n" for grep { kill 0, $_ } @p;`),
    needsOwnUser: true,
  },
  perl(
    'no descriptor of the wire',
    `${others} for my $p (@p) { for my $f (0, 1) { print "ESCAPED $p $f\\n" if open(my $h, ">>", "/proc/$p/fd/$f") } }`,
  ),
  perl(
    'no memory of the supervisor',
    `${others} for my $p (@p) { print "ESCAPED $p\\n" if open(my $h, "<", "/proc/$p/mem") }`,
  ),
  {
    ...perl(
      'no environment of the supervisor',
      `${others} for my $p (@p) { open(my $h, "<", "/proc/$p/environ") or next; print "ESCAPED $p\\n" if defined sysread($h, my $b, 1) }`,
    ),
    hostKernel: true,
  },
  perl(
    'no limit set on the supervisor',
    `${others} for my $p (@p) { my $b = pack("QQ"); print "ESCAPED $p\\n" if syscall(${number('prlimit64')}, $p, 7, 0, $b) == 0 }`,
  ),
  perl(
    'no duplicate of the supervisor’s descriptors',
    `${others} for my $p (@p) { my $d = syscall(${number('pidfd_open')}, $p, 0); next if $d < 0; print "ESCAPED $p\\n" if syscall(${number('pidfd_getfd')}, $d, 1, 0) >= 0 }`,
  ),
  perl(
    'no tracing of the supervisor',
    `${others} for my $p (@p) { print "ESCAPED $p\\n" if syscall(${number('ptrace')}, 0x4206, $p, 0, 0) == 0 }`,
  ),
];

const kernel: readonly EscapeAttempt[] = [
  perl(
    'no mount',
    `my ($s, $t, $f) = ("none", "/tmp", "tmpfs"); print "ESCAPED\\n" if syscall(${number('mount')}, $s, $t, $f, 0, 0) == 0;`,
    'namespaced',
  ),
  perl(
    'no unmount',
    `my $t = "/proc"; print "ESCAPED\\n" if syscall(${number('umount2')}, $t, 2) == 0;`,
    'namespaced',
  ),
  perl('no chroot', `my $t = "/usr"; print "ESCAPED\\n" if syscall(${number('chroot')}, $t) == 0;`),
  {
    ...perl(
      'no user namespace by unshare',
      `print "ESCAPED\\n" if syscall(${number('unshare')}, 0x10000000) == 0;`,
    ),
    hostKernel: true,
  },
  {
    ...perl(
      'no user namespace by clone',
      `my $p = syscall(${number('clone')}, 0x10000000 | 17, 0, 0, 0, 0); if ($p == 0) { syscall(${number('exit_group')}, 0) } print "ESCAPED\\n" if $p > 0;`,
    ),
    hostKernel: true,
  },
  perl(
    'no entering of namespaces',
    `open(my $h, "<", "/proc/self/ns/uts"); print "ESCAPED\\n" if syscall(${number('setns')}, fileno($h), 0) == 0;`,
  ),
  perl(
    'no host name',
    `my $n = "x"; print "ESCAPED\\n" if syscall(${number('sethostname')}, $n, 1) == 0;`,
    'namespaced',
  ),
  {
    ...perl(
      'no vsock',
      `print "ESCAPED\\n" if syscall(${number('socket')}, 40, 1, 0) >= 0 || $! == 97 || $! == 94 || $! == 93;`,
    ),
    hostKernel: true,
  },
  call('ptrace', '0x4206, 999999, 0, 0', ' (seize)'),
  call('process_vm_readv', '$$, 0, 0, 0, 0, 0'),
  call('clone3', '0, 0'),
  call('bpf', '0, 0, 0'),
  call('io_uring_setup', '0, 0'),
  call('userfaultfd', '0xffff'),
  call('perf_event_open', '0, 0, -1, -1, 0xffff'),
  call('keyctl', '0, -3, 0, 0, 0'),
  call('add_key', '0, 0, 0, 0, 0'),
  call('syslog', '10, 0, 0'),
  call('settimeofday', '0, 0'),
  call('open_by_handle_at', '-1, 0, 0'),
  call('fsopen', '0, 0'),
  call('ioctl', '0, 0x5412, 0', ' TIOCSTI'),
  call('personality', '0x0040000', ' ADDR_NO_RANDOMIZE'),
];

/** Everything that is tried on every driver. A new attempt is one entry; its control runs by itself. */
export const escapeAttempts: readonly EscapeAttempt[] = [
  ...network,
  ...files,
  ...identity,
  ...processes,
  ...kernel,
];
