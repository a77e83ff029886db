import type { EscapeAttempt } from './escape-attempt.ts';
import { bash, number, perl } from './escape-attempt.ts';

export const files: readonly EscapeAttempt[] = [
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
  {
    ...bash(
      'no request to the kernel’s keys',
      '[ -e /proc/sysrq-trigger ] || echo REFUSED; ( : >> /proc/sysrq-trigger ) 2>/dev/null && echo ESCAPED',
    ),
    dependsOnKernel: true,
  },
  {
    ...bash(
      'no image of the kernel’s memory',
      '[ -e /proc/kcore ] || echo REFUSED; head -c 1 /proc/kcore 2>/dev/null | grep -q . && echo ESCAPED',
    ),
    dependsOnKernel: true,
  },
  bash(
    'no setting under /sys',
    'find /sys -maxdepth 3 -type f -writable 2>/dev/null | grep -q . && echo ESCAPED',
  ),
  {
    ...bash(
      'no device that makes others',
      'for d in kvm fuse loop-control net/tun vhost-net mapper/control; do ( : <> /dev/$d ) 2>/dev/null && echo ESCAPED; done',
    ),
    hostKernel: true,
  },
  perl('no shared memory of the host', 'print "ESCAPED\\n" if defined shmget($ENV{MEMORY} + 0, 0, 0);'),
];
