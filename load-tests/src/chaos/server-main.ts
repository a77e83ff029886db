import { randomUUID } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { pino } from 'pino';
import { bootTimeMs } from '@lemniscate/agent-server/adapters/boot-clock.ts';
import { readCrashPoint } from '@lemniscate/agent-server/adapters/crash-points.ts';
import { createDispatcherClient } from '@lemniscate/agent-server/adapters/dispatcher-client.ts';
import { readTlsMaterial } from '@lemniscate/agent-server/adapters/tls-material.ts';
import { readConfig } from '@lemniscate/agent-server/config.ts';
import { createServer, listen } from '@lemniscate/agent-server/http/server.ts';
import { createHeartbeat } from '@lemniscate/agent-server/jobs/heartbeat.ts';
import { dispatcherCalls } from '@lemniscate/agent-server/start-agent-server.ts';
import { aroundCalls } from '@lemniscate/shared/crash-points.ts';
import { protocolVersion } from '@lemniscate/shared/protocol/protocol-version.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import { brokenOff } from './broken-off.ts';
import { createSimulatedDesk } from './simulated-desk.ts';

// A simulated agent server of the chaos harness as a process: the agent server's own listener, client, heartbeat and
// lease, and sessions without sandboxes.

const config = readConfig(process.env);
const tls = readTlsMaterial(config.tls, new Date());
const log = pino({ level: 'warn', base: { service: tls.name } }, pino.destination(2));
const point = readCrashPoint(config.crashPoints);
const client = createDispatcherClient(config.dispatcherUrl, tls);
const dispatcher = point === null ? client : aroundCalls(point, 'http', client, dispatcherCalls);
const bootId = randomUUID();
const desk = createSimulatedDesk(
  {
    dispatcher,
    bootTimeMs,
    onFault: (error, held) => log.error({ err: error, ...held }, brokenOff),
  },
  config.capacity,
  () => heartbeat.wake(),
);
/** As the real server says it. */
const disk = (): ServerStatus['disk'] => {
  const { bavail, blocks, bsize } = statfsSync(config.stateFolder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
};
const status = (): ServerStatus => ({
  protocol: protocolVersion,
  bootId,
  capacity: config.capacity,
  held: desk.held(),
  warm: Math.max(0, config.capacity - desk.held().length),
  driver: 'simulated',
  profiles: ['default'],
  now: new Date().toISOString(),
  disk: disk(),
  draining: desk.draining(),
});
const heartbeat = createHeartbeat({ dispatcher, desk, status, bootTimeMs, log });
await listen(
  createServer(tls, { desk, status, collectMetrics: () => Promise.resolve([]) }, log),
  config.host,
  config.port ?? 0,
);
heartbeat.start();
process.once('SIGTERM', () => process.exit(0));
process.stdin.on('end', () => process.exit(0)).resume();
