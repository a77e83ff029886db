import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { changeQueueSettingsSchema } from '@lemniscate/shared/api/queue.ts';
import type { QueueSettings } from '@lemniscate/shared/api/queue.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Command } from 'commander';
import type { pausedIntakesSchema } from '@lemniscate/shared/api/intake.ts';
import type { z } from 'zod';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

interface QueueOptions {
  readonly weight?: string;
  readonly maxConcurrent?: string;
  readonly maxBacklog?: string;
  readonly maxWait?: string;
  readonly pool?: string;
  readonly architecture?: string;
  readonly labels?: string;
  readonly json?: boolean;
}

/** `intake`, `queue` and `stop-everything`: what an operator turns, and the switch that one hopes never to need. */
export function registerIntake(program: Command, io: CommandIo): void {
  const intake = program
    .command('intake')
    .description('Shows what takes no new sessions at the moment.')
    .action(() => list(io));
  const scope = 'fleet, pool:NAME or project:NAME';
  intake
    .command('pause')
    .description('Lets sessions wait instead of starting; what runs goes on.')
    .argument('<scope>', scope)
    .option('--note <text>', 'why, for whoever looks')
    .action((name: string, options: { note?: string }) => change(name, 'PUT', options, io));
  intake
    .command('resume')
    .description('Lets sessions start again.')
    .argument('<scope>', scope)
    .action((name: string) => change(name, 'DELETE', undefined, io));

  program
    .command('queue')
    .description('Shows or changes how a project’s sessions queue; "none" takes a bound away.')
    .argument('<project>')
    .option('--weight <n>', 'share of the slots against other projects')
    .option('--max-concurrent <n>', 'sessions at once')
    .option('--max-backlog <n>', 'sessions that may wait')
    .option('--max-wait <seconds>', 'how long one may wait')
    .option('--pool <name>', 'servers that take them')
    .option('--architecture <name>', 'processor that they need')
    .option('--labels <names>', 'what their server must have, separated by commas')
    .option('--json', 'as JSON')
    .action((project: string, options: QueueOptions) => queue(project, options, io));

  program
    .command('stop-everything')
    .description('Ends every session of the fleet at once and lets none start (administrators).')
    .requiredOption('--confirm <text>', 'must be "stop everything"')
    .option('--note <text>', 'what the people whose sessions end are told')
    .action((options: { confirm: string; note?: string }) => stopEverything(options, io));
}

type PausedIntakes = z.infer<typeof pausedIntakesSchema>;

async function list(io: CommandIo): Promise<void> {
  const client = await connectFleet(io);
  show(await ask(client.api.GET('/v1/intake')), io);
}

async function change(
  scope: string,
  method: 'PUT' | 'DELETE',
  body: { note?: string } | undefined,
  io: CommandIo,
): Promise<void> {
  const client = await connectFleet(io);
  const path = { scope };
  if (method === 'PUT')
    return show(await ask(client.api.PUT('/v1/intake/{scope}', { params: { path }, body: body ?? {} })), io);
  const { paused } = await ask(client.api.GET('/v1/intake'));
  const header = seenHeader(paused.find((one) => one.scope === scope));
  return show(await ask(client.api.DELETE('/v1/intake/{scope}', { params: { path, header } })), io);
}

function show({ paused }: PausedIntakes, io: CommandIo): void {
  if (paused.length === 0) io.stdout.write('Everything takes sessions.\n');
  writeTable(
    io.stdout,
    paused.map(({ scope, pausedBy, pausedAt, note }) => [
      scope,
      `paused by ${pausedBy} at ${pausedAt}${note === null ? '' : `: ${note}`}`,
    ]),
  );
}

async function queue(project: string, options: QueueOptions, io: CommandIo): Promise<void> {
  const client = await connectFleet(io);
  const params = { path: { id: project } };
  const body = readChange(options);
  const seen = await client.api.GET('/v1/projects/{id}/queue', { params });
  const header = { 'if-match': seen.response.headers.get('etag') ?? '' };
  const settings =
    Object.keys(body).length === 0
      ? await ask<QueueSettings>(Promise.resolve(seen))
      : await ask<QueueSettings>(
          client.api.PUT('/v1/projects/{id}/queue', { params: { ...params, header }, body }),
        );
  if (options.json === true) return printJson(io, settings);
  return writeTable(
    io.stdout,
    Object.entries(settings).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(',') : String(value ?? 'none'),
    ]),
  );
}

function readChange(options: QueueOptions): Partial<QueueSettings> {
  const number = (text: string): number | null => (text === 'none' ? null : Number(text));
  const asked = {
    ...(options.weight === undefined ? {} : { weight: Number(options.weight) }),
    ...(options.maxConcurrent === undefined ? {} : { maxConcurrent: number(options.maxConcurrent) }),
    ...(options.maxBacklog === undefined ? {} : { maxBacklog: number(options.maxBacklog) }),
    ...(options.maxWait === undefined ? {} : { maxWaitSeconds: number(options.maxWait) }),
    ...(options.pool === undefined ? {} : { pool: options.pool }),
    ...(options.architecture === undefined
      ? {}
      : { architecture: options.architecture === 'none' ? null : options.architecture }),
    ...(options.labels === undefined
      ? {}
      : { labels: options.labels === 'none' ? [] : options.labels.split(',') }),
  };
  const parsed = changeQueueSettingsSchema.safeParse(asked);
  if (parsed.success) return asked;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new CodedError('request_invalid', `These settings cannot be read. ${faults.join('; ')}.`);
}

async function stopEverything(options: { confirm: string; note?: string }, io: CommandIo): Promise<void> {
  const client = await connectFleet(io);
  const { sessionsEnded } = await ask(client.api.POST('/v1/fleet/stop', { body: options }));
  io.stdout.write(`${sessionsEnded} sessions ended. None starts until "lemniscate intake resume fleet".\n`);
}
