import { ask } from '@lemniscate/api/client.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { positionedEventSchema } from '@lemniscate/shared/protocol/session-event.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import pc from 'picocolors';
import { z } from 'zod';
import { decideApproval, describeApproval } from '../follow/approvals.ts';
import { followSession } from '../follow/event-stream.ts';
import { createSessionView } from '../follow/session-view.ts';
import { cutColumns, writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

const logPageSchema = z.object({ events: z.array(positionedEventSchema), nextAfter: z.number().nullable() });

/** Columns of an instruction in the list. */
const shownInstruction = 60;

/** `sessions`, `show`, `logs`, `stop`. */
export function registerSessions(program: Command, io: CommandIo): void {
  program
    .command('sessions')
    .description('Lists sessions, the newest first.')
    .option('--limit <n>', 'how many', '20')
    .option('--json', 'as JSON')
    .action(async (options: { limit: string; json?: boolean }) => {
      const client = await connectFleet(io);
      const page = await ask(
        client.api.GET('/v1/sessions', { params: { query: { limit: Number(options.limit) } } }),
      );
      if (options.json === true) return printJson(io, page);
      writeTable(
        io.stdout,
        page.sessions.map(({ id, state, createdAt, totalCostUsd, instruction }) => [
          id,
          state,
          createdAt,
          `$${totalCostUsd}`,
          cutColumns(makeVisibleLine(instruction), shownInstruction),
        ]),
      );
      return undefined;
    });

  program
    .command('show')
    .description('Shows one session.')
    .argument('<session>')
    .option('--json', 'as JSON')
    .action(async (id: string, options: { json?: boolean }) => {
      const client = await connectFleet(io);
      const session = await ask(client.api.GET('/v1/sessions/{id}', { params: { path: { id } } }));
      if (options.json === true) return printJson(io, session);
      const rows: [string, string][] = [
        [
          'state',
          `${session.state} · ${session.phase}${session.reason === null ? '' : ` · ${session.reason}`}`,
        ],
        ...(session.message === null ? [] : [['message', session.message] as [string, string]]),
        ['instruction', session.instruction],
        ['project', session.project],
        ['model', `${session.model} (${session.runtime})`],
        ['server', `${session.server ?? '–'}, attempt ${session.attempt}`],
        ['created', session.createdAt],
        ['ended', session.endedAt ?? '–'],
        ['cost', session.priced ? `$${session.totalCostUsd}` : 'unpriced'],
        ['diff', session.diff === null ? '–' : `${session.diff.state}, ${session.diff.files.length} files`],
      ];
      writeTable(io.stdout, rows);
      return undefined;
    });

  program
    .command('logs')
    .description('Shows what happened in a session.')
    .argument('<session>')
    .option('-f, --follow', 'go on as it happens')
    .option('--json', 'one event a line')
    .action(async (id: string, options: { follow?: boolean; json?: boolean }) => {
      const client = await connectFleet(io);
      const view = createSessionView(io.stdout, { colour: io.colour });
      const show = (event: z.infer<typeof positionedEventSchema>) =>
        options.json === true ? printJson(io, event) : view.show(event);
      if (options.follow === true) {
        const events = followSession(client, {
          sessionId: id,
          after: 0,
          signal: io.signal,
          patienceMs: 300_000,
        });
        for await (const event of events) show(event);
        return view.flush();
      }
      let after: number | null = 0;
      while (after !== null) {
        io.signal.throwIfAborted();
        const page: z.infer<typeof logPageSchema> = await ask(
          client.api.GET('/v1/sessions/{id}/log', { params: { path: { id }, query: { after } } }),
        );
        page.events.forEach(show);
        after = page.nextAfter;
      }
      return view.flush();
    });

  program
    .command('stop')
    .description('Stops a session at once: its sandbox is destroyed and unapproved writes are discarded.')
    .argument('<session>')
    .option('--json', 'as JSON')
    .action(async (id: string, options: { json?: boolean }) => {
      const client = await connectFleet(io);
      const session = await ask(client.api.POST('/v1/sessions/{id}/stop', { params: { path: { id } } }));
      if (options.json === true) return printJson(io, session);
      return void io.stdout.write(`${session.state} (${session.reason ?? ''})\n`);
    });
}

/** `approvals`, `approve`, `deny`. */
export function registerApprovals(program: Command, io: CommandIo): void {
  const find = async (id: string) => {
    const client = await connectFleet(io);
    const { approvals } = await ask(client.api.GET('/v1/approvals'));
    const approval = approvals.find((candidate) => candidate.id === id);
    if (approval === undefined)
      throw new CodedError(
        'approval_unknown',
        `No approval ${id} is waiting. "lemniscate approvals" lists them.`,
      );
    return { client, approval };
  };

  program
    .command('approvals')
    .description('Lists what waits for a person’s decision, with the exact command or arguments.')
    .option('--json', 'as JSON')
    .action(async (options: { json?: boolean }) => {
      const client = await connectFleet(io);
      const { approvals } = await ask(client.api.GET('/v1/approvals'));
      if (options.json === true) return printJson(io, approvals);
      for (const approval of approvals)
        io.stdout.write(
          `${approval.id}  session ${approval.sessionId}\n${describeApproval(approval, pc.createColors(io.colour))}\n\n`,
        );
      return undefined;
    });

  for (const [name, decision] of [
    ['approve', 'approve'],
    ['deny', 'reject'],
  ] as const) {
    const command = program
      .command(name)
      .description(
        decision === 'approve' ? 'Lets a waiting tool call run, once.' : 'Refuses a waiting tool call.',
      )
      .argument('<approval>')
      .option('--message <text>', 'what the agent is told')
      .action(async (id: string, options: { message?: string; session?: boolean }) => {
        const { client, approval } = await find(id);
        io.stdout.write(`${describeApproval(approval, pc.createColors(io.colour))}\n`);
        const outcome = await decideApproval(
          client,
          approval,
          decision === 'approve' && options.session === true ? 'approve_session' : decision,
          options.message,
        );
        if (outcome === 'too_late')
          throw new CodedError('approval_decided', `${id} was decided meanwhile; this answer did not count.`);
        io.stdout.write(decision === 'approve' ? 'Approved.\n' : 'Refused.\n');
      });
    if (decision === 'approve')
      command.option('--session', 'also every later call that is exactly this, in this session');
  }
}
