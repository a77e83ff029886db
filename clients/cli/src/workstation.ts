import { ask } from '@lemniscate/api/client.ts';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ApiClient } from './api-client.ts';
import { startRunner } from './workstation-runner.ts';
import type { Runner } from './workstation-runner.ts';

/** An agent server of one's own on this machine, for sessions pinned to it. */
export interface Workstation {
  readonly serverId: string;
  /** Ends the server, sees its sandboxes gone and takes it off the fleet's list; idempotent. */
  stop(): Promise<void>;
}

const startTimeoutMs = 20_000;

/**
 * Starts an agent server here and joins it to the fleet under the person's login. The private key never leaves the
 * machine; the fleet signs a short-lived certificate for the public one. It listens nowhere and speaks outwards only.
 * @throws CodedError `sandbox_driver_missing` and others with the server's own last words
 */
export async function startWorkstation(
  client: ApiClient,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<Workstation> {
  signal.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-workstation-'));
  const undo: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopping ??= unwind(undo));
  try {
    const joined = await joinFleet(client, folder);
    undo.push(() =>
      ask(client.api.DELETE('/v1/servers/{id}', { params: { path: { id: joined.serverId } } })),
    );
    const runner = await startRunner(folder, joined.internalUrl, env);
    undo.push(() => runner.end());
    await untilUsable(client, joined.serverId, runner, signal);
    return { serverId: joined.serverId, stop };
  } catch (error) {
    await stop().catch((failure: unknown) => {
      throw new AggregateError(
        [error, failure],
        'The workstation could not join, and what it had begun could not be taken back.',
        { cause: error },
      );
    });
    throw error;
  }
}

/** Takes every step back, the last one first, also where one of them fails. @throws the first failure */
async function unwind(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps.toReversed())
    await step().catch((failure: unknown) => {
      failures.push(failure);
    });
  if (failures.length > 0) throw failures[0];
}

/** Has the fleet sign a key of this machine, and leaves what came back in the folder. */
async function joinFleet(client: ApiClient, folder: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  // Not cut off by Ctrl-C: whatever has joined is taken off the list again.
  const joined = await ask(client.api.POST('/v1/servers', { body: { publicKeyPem, capacity: 1 } }));
  await writeFile(join(folder, 'ca.pem'), joined.caPem);
  await writeFile(join(folder, 'certificate.pem'), joined.certificatePem);
  await writeFile(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  });
  return joined;
}

/** Waits until the fleet sees a free slot here. @throws CodedError `sandbox_driver_missing` */
async function untilUsable(
  client: ApiClient,
  serverId: string,
  runner: Runner,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + startTimeoutMs;
  for (;;) {
    signal.throwIfAborted();
    if (runner.isOver() || performance.now() > deadline)
      throw new CodedError(
        'sandbox_driver_missing',
        `The agent server of this workstation did not start: ${await runner.lastWords()}`,
      );
    const { servers } = await ask(client.api.GET('/v1/servers', { signal }));
    if (servers.some((server) => server.id === serverId && server.usable > 0)) return;
    await delay(50, undefined, { signal });
  }
}
