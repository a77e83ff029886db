import type { SyscallName } from './syscall-numbers.ts';

/**
 * What programs in a sandbox may ask of the kernel. An allow-list: a call that is in neither table is answered
 * with ENOSYS, as an older kernel would, so that libraries fall back; a call that is known and refused gets
 * EPERM. Grouped by purpose, so that a reader can argue about a group.
 */
export const allowedSyscalls: readonly SyscallName[] = [
  // files and descriptors
  ...words(`read write open openat openat2 close close_range stat fstat lstat newfstatat statx lseek pread64
    pwrite64 readv writev preadv pwritev preadv2 pwritev2 access faccessat faccessat2 pipe pipe2 dup dup2 dup3
    fcntl flock fsync fdatasync sync syncfs sync_file_range truncate ftruncate fallocate getdents getdents64
    getcwd chdir fchdir rename renameat renameat2 mkdir mkdirat rmdir creat link linkat unlink unlinkat symlink
    symlinkat readlink readlinkat chmod fchmod fchmodat chown fchown lchown fchownat umask mknod mknodat utime
    utimes utimensat futimesat statfs fstatfs sendfile copy_file_range splice tee readahead fadvise64 setxattr
    lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr
    fremovexattr inotify_init inotify_init1 inotify_add_watch inotify_rm_watch memfd_create`),
  // waiting and events
  ...words(`poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
    eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime io_setup io_destroy
    io_submit io_cancel io_getevents io_pgetevents`),
  // memory
  ...words(`mmap munmap mremap mprotect madvise brk msync mincore mlock mlock2 munlock mlockall munlockall
    membarrier remap_file_pages pkey_alloc pkey_free pkey_mprotect shmget shmat shmctl shmdt get_mempolicy`),
  // processes and threads; clone is judged by its flags, clone3 hides them behind a pointer and is not there
  ...words(`fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open
    pidfd_send_signal getpid getppid gettid getpgid getpgrp setpgid getsid setsid set_tid_address
    set_robust_list get_robust_list futex futex_waitv rseq arch_prctl prctl getpriority setpriority ioprio_get
    ioprio_set sched_yield sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam
    sched_setparam sched_getscheduler sched_setscheduler sched_get_priority_max sched_get_priority_min
    sched_rr_get_interval getrlimit setrlimit getrusage times restart_syscall pause set_thread_area
    get_thread_area getcpu`),
  // identity: the kernel still asks for the capability; the supervisor needs it to start commands
  ...words(`getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid
    setresgid setgroups setfsuid setfsgid capget capset`),
  // signals, time
  ...words(`rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait
    rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack alarm getitimer setitimer nanosleep clock_nanosleep
    clock_gettime clock_getres gettimeofday time timer_create timer_settime timer_gettime timer_getoverrun
    timer_delete`),
  // sockets of the allowed families, message queues and semaphores of the own ipc namespace
  ...words(`socketpair bind connect listen accept accept4 getsockname getpeername getsockopt setsockopt sendto
    recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown semget semop semtimedop semctl msgget msgsnd msgrcv
    msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr`),
  // a program may tighten itself further
  ...words('seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self'),
  ...words('uname sysinfo getrandom'),
];

/** Known and refused: what reaches other processes, the host's kernel, its mounts, clocks, keys or modules. */
export const refusedSyscalls: readonly SyscallName[] = [
  // into other processes
  ...words(`ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd
    migrate_pages move_pages mbind set_mempolicy set_mempolicy_home_node`),
  // namespaces and mounts
  ...words(`mount umount2 pivot_root chroot unshare setns open_tree move_mount fsopen fsconfig fsmount fspick
    mount_setattr name_to_handle_at open_by_handle_at fanotify_init fanotify_mark quotactl quotactl_fd`),
  // large attack surfaces of the kernel
  ...words('bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register vmsplice'),
  ...words('keyctl add_key request_key'),
  // the machine
  ...words(`kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff acct syslog
    settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm modify_ldt vhangup
    lookup_dcookie sysfs ustat`),
];

/** Compares the low 32 bits of an argument (the kernel reads these flags and families as int). */
export interface ArgumentRule {
  readonly syscall: SyscallName;
  readonly argument: number;
  /** The argument after this mask … */
  readonly mask: number;
  /** … must be one of these, … */
  readonly values: readonly number[];
  /** … else EPERM (`allow`), or: if it is one of these, EPERM (`refuse`). */
  readonly match: 'allow' | 'refuse';
}

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET of linux/sched.h. */
const namespaceFlags = 0x7e020000;

export const argumentRules: readonly ArgumentRule[] = [
  { syscall: 'clone', argument: 0, mask: namespaceFlags, values: [0], match: 'allow' },
  // AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: no vsock, packet, alg, xdp …
  { syscall: 'socket', argument: 0, mask: 0xffffffff, values: [1, 2, 10, 16], match: 'allow' },
  // its own limits only: prlimit of another process could starve the supervisor of descriptors or CPU time
  { syscall: 'prlimit64', argument: 0, mask: 0xffffffff, values: [0], match: 'allow' },
  // PER_LINUX, PER_LINUX32, UNAME26 and the question; not ADDR_NO_RANDOMIZE or READ_IMPLIES_EXEC
  {
    syscall: 'personality',
    argument: 0,
    mask: 0xffffffff,
    values: [0x0, 0x8, 0x20000, 0x20008, 0xffffffff],
    match: 'allow',
  },
  // TIOCSTI and TIOCLINUX type into a terminal
  { syscall: 'ioctl', argument: 1, mask: 0xffffffff, values: [0x5412, 0x541c], match: 'refuse' },
];

function words(text: string): SyscallName[] {
  return text.trim().split(/\s+/) as SyscallName[];
}
