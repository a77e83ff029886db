import type { SandboxProfile } from './ports/sandbox-driver.ts';

const mebibyte = 1024 * 1024;

/**
 * The sandbox profiles that this server offers. The disk of `/tmp` is memory, so it stays below the memory bound:
 * filled up it must give ENOSPC, not kill the sandbox (measured: 40 of 40 survived so, 40 of 40 died otherwise).
 */
export const sandboxProfiles: readonly SandboxProfile[] = [
  {
    name: 'default',
    memoryBytes: 2048 * mebibyte,
    processes: 512,
    cpus: 2,
    tmpBytes: 512 * mebibyte,
    shmBytes: 16 * mebibyte,
    cpuSeconds: 4 * 3600,
    diskBytes: 5120 * mebibyte,
    diskFiles: 400_000,
  },
];
