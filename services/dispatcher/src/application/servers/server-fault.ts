import { oldestProtocol } from '@lemniscate/shared/protocol/protocol-version.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';

/** What decides whether a server may have new sessions. */
export interface ServerCondition {
  readonly status: Pick<ServerStatus, 'protocol' | 'draining' | 'unhealthy' | 'disk'> | null;
  /** Since its last word, by the record's clock. */
  readonly silent_ms: number | null;
  readonly drained: boolean;
  readonly listed: boolean;
  /** Sessions in a row that did not start (`judge-server.ts` says how they weigh), and how the last one failed. */
  readonly start_failures: number;
  readonly last_failure: string | null;
  /** Whether it has to wait before it may prove itself again. */
  readonly excluded: boolean;
  /** Of the last probe that was answered; null: it was not probed. */
  readonly answer_ms: number | null;
  /** Probes in a row that were not answered since, whichever dispatcher asked, and how the last one failed. */
  readonly probe_failures: number;
  readonly probe_failure: string | null;
  readonly clock_ahead_ms: number | null;
}

/** A server that has not been heard of for this long gets no new sessions: three missed heartbeats. */
export const silentAfterMs = 7_000;
/** Sessions in a row that may fail to start before a server is left alone. */
export const failuresAllowed = 3;
/** Probes in a row that may fail: of dispatchers one may be cut off, and one answer may be lost. */
const probesAllowed = 1;
/** An order has five seconds; a server that takes as much as this for a status would fail many. */
const slowMs = 2_000;
/** Certificates are issued a minute early, and audit entries are read side by side. */
const clockMs = 30_000;
/** A working copy and its diff must fit. */
const leastFreeShare = 0.03;
const leastFreeBytes = 512 * 1024 * 1024;

/** Why a server is out of the rotation, as a sentence for its operator; null: it is in. */
export function serverFault(server: ServerCondition): string | null {
  const { status } = server;
  if (!server.listed) return 'its address was taken out of the list of agent servers';
  if (status === null || server.silent_ms === null) return 'it has not reported yet';
  if (server.silent_ms > silentAfterMs)
    return `it has been silent for ${Math.round(server.silent_ms / 1_000)} s`;
  if (status.protocol < oldestProtocol)
    return `it speaks protocol ${status.protocol}, and ${oldestProtocol} is the oldest that works here: upgrade it`;
  if (server.drained) return 'it is being drained';
  if (status.draining) return 'it is shutting down';
  if (status.unhealthy !== undefined) return `it says: ${status.unhealthy}`;
  if (server.excluded && server.start_failures >= failuresAllowed)
    return `${server.start_failures} sessions in a row did not start there; the last: ${server.last_failure ?? 'unknown'}`;
  if (server.probe_failures > probesAllowed)
    return `its address was asked ${server.probe_failures} times without an answer (${server.probe_failure ?? 'unknown'}), though its heartbeats come: orders would fail there`;
  return measuredFault(server, status);
}

function measuredFault(
  server: ServerCondition,
  status: NonNullable<ServerCondition['status']>,
): string | null {
  const ahead = server.clock_ahead_ms ?? 0;
  if (Math.abs(ahead) > clockMs)
    return `its clock is ${Math.round(Math.abs(ahead) / 1_000)} s ${ahead > 0 ? 'ahead' : 'behind'}`;
  if (server.answer_ms !== null && server.answer_ms > slowMs)
    return `it answers slowly (${server.answer_ms} ms for its status)`;
  const { disk } = status;
  if (disk !== undefined && disk.freeBytes < Math.max(leastFreeBytes, disk.totalBytes * leastFreeShare))
    return `its disk is full (${Math.round(disk.freeBytes / 1024 ** 2)} MiB of ${Math.round(disk.totalBytes / 1024 ** 3)} GiB free)`;
  return null;
}
