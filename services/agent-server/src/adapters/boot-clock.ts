import { uptime } from 'node:os';

/**
 * Milliseconds since the machine booted, sleep included: libuv reads /proc/uptime, which the kernel fills from its
 * boot-time clock, while `performance.now()` stands still in a suspended machine. Resolution 10 ms.
 */
export function bootTimeMs(): number {
  return uptime() * 1000;
}
