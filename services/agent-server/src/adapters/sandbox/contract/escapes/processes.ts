import type { EscapeAttempt } from './escape-attempt.ts';
import { bash, number, others, perl } from './escape-attempt.ts';

export const identity: readonly EscapeAttempt[] = [
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
  {
    // with a copy in hand of what a login needs: nobody becomes root by a program that has its bit
    ...perl(
      'no rights of a set-user-id program',
      `for my $p (grep { -u $_ && -x _ } map { ("/usr/bin/$_", "/bin/$_") } qw(su passwd chsh chfn gpasswd newgrp mount umount)) {
         pipe(my $r, my $w); my $c = fork; if (!$c) { close $w; open(STDIN, "<&", $r); open(STDOUT, ">", "/dev/null"); open(STDERR, ">", "/dev/null"); exec $p; exit 1 }
         for (1 .. 300) { open(my $h, "<", "/proc/$c/status") or last; local $/; print("ESCAPED $p\\n"), last if <$h> =~ /^Uid:\\s+[1-9]\\d*\\s+0\\b/m; select(undef, undef, undef, 0.001) }
         kill 9, $c; waitpid $c, 0 }`,
      'nobody',
    ),
    dependsOnKernel: true,
  },
];

export const processes: readonly EscapeAttempt[] = [
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
  {
    ...perl(
      'no signal to the supervisor by descriptor',
      `${others} for my $p (@p) { my $d = syscall(${number('pidfd_open')}, $p, 0); next if $d < 0; print "ESCAPED $p\\n" if syscall(${number('pidfd_send_signal')}, $d, 0, 0, 0) == 0 }`,
    ),
    needsOwnUser: true,
  },
  bash(
    'no inspector in the supervisor by SIGUSR1',
    `for p in \${INSPECTED:-$(ls /proc | grep -E '^[0-9]+$')}; do [ $p = $$ ] || kill -USR1 $p 2>/dev/null; done
     for i in {1..20}; do (exec 3<>/dev/tcp/127.0.0.1/9229) 2>/dev/null && echo ESCAPED && break; sleep 0.05; done`,
  ),
  {
    ...perl(
      'no list of the supervisor’s descriptors',
      `${others} for my $p (@p) { opendir(my $h, "/proc/$p/fd") or next; print "ESCAPED $p\\n" if grep { /^\\d/ } readdir $h }`,
    ),
    hostKernel: true,
  },
  perl(
    'no working folder or program of the supervisor',
    `${others} for my $p (@p) { print "ESCAPED $p\\n" if defined readlink("/proc/$p/cwd") || defined readlink("/proc/$p/exe") }`,
  ),
];
