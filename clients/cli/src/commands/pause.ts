import { ask } from '@lemniscate/api/client.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../api-client.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

/** A session that stores gigabytes takes a while; the fleet goes on with it whether or not somebody watches. */
const patienceMs = 5 * 60_000;
const lookMs = 300;

/** `pause` and `resume`. */
export function registerPause(program: Command, io: CommandIo): void {
  program
    .command('pause')
    .description(
      'Stores a session, with everything in its workspace, and frees its slot. What it runs is stopped.',
    )
    .argument('<session>')
    .option('--no-wait', 'does not wait until it is stored')
    .option('--json', 'as JSON')
    .action(async (id: string, options: { wait: boolean; json?: boolean }) => {
      const client = await connectFleet(io);
      const asked = await post(client, id, 'pause');
      const session = options.wait ? await untilPaused(client, asked, io.signal) : asked;
      if (options.json === true) return printJson(io, session);
      return void io.stdout.write(`${session.state} (${session.reason ?? session.phase})\n`);
    });

  program
    .command('resume')
    .description('Lets a paused session go on where it was, on any server.')
    .argument('<session>')
    .option('--json', 'as JSON')
    .action(async (id: string, options: { json?: boolean }) => {
      const session = await post(await connectFleet(io), id, 'resume');
      if (options.json === true) return printJson(io, session);
      return void io.stdout.write(`${session.state} (${session.reason ?? session.phase})\n`);
    });
}

function post(client: ApiClient, id: string, verb: 'pause' | 'resume'): Promise<SessionView> {
  const params = { path: { id } };
  return ask<SessionView>(
    verb === 'pause'
      ? client.api.POST('/v1/sessions/{id}/pause', { params })
      : client.api.POST('/v1/sessions/{id}/resume', { params }),
  );
}

async function untilPaused(client: ApiClient, asked: SessionView, signal: AbortSignal): Promise<SessionView> {
  const deadline = performance.now() + patienceMs;
  let session = asked;
  while (session.state !== 'paused' && !sessionHasEnded(session.state)) {
    if (performance.now() > deadline)
      throw new CodedError(
        'wait_elapsed',
        `Session ${session.id} is still ${session.state}; "lemniscate show ${session.id}" tells when it is paused.`,
      );
    await sleep(lookMs, undefined, { signal });
    session = await ask(client.api.GET('/v1/sessions/{id}', { params: { path: { id: session.id } } }));
  }
  return session;
}
