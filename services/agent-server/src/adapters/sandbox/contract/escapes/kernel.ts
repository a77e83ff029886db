import type { EscapeAttempt } from './escape-attempt.ts';
import { call, number, perl } from './escape-attempt.ts';

export const kernel: readonly EscapeAttempt[] = [
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
  call('socket', '17, 3, 768', ' AF_PACKET'),
  call('socket', '38, 5, 0', ' AF_ALG'),
  call('socket', '44, 3, 0', ' AF_XDP'),
  call('process_vm_writev', '$$, 0, 0, 0, 0, 0'),
  call('kcmp', '$$, $$, 99, 0, 0'),
  call('move_mount', '-1, 0, -1, 0, 0xffff'),
  call('open_tree', '-1, 0, 0xffff0000'),
  call('mount_setattr', '-1, 0, 0, 0, 0'),
  call('pivot_root', '0, 0'),
  call('init_module', '0, 0, 0'),
  call('finit_module', '-1, 0, 0'),
  call('reboot', '0, 0, 0, 0'),
  call('swapon', '0, 0'),
  call('quotactl', '0xffff, 0, 0, 0'),
  call('fanotify_init', '0xffff, 0'),
  call('request_key', '0, 0, 0, 0'),
  call('clock_settime', '99, 0'),
  call('iopl', '9'),
];
