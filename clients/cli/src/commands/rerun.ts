import { ask } from '@lemniscate/api/client.ts';
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { runSession } from './run.ts';
import type { RunOptions } from './run.ts';

type RerunOptions = Omit<RunOptions, 'repo' | 'attach' | 'project'>;

/** `lemniscate rerun SESSION`: the same instruction on the same state of the repository, in a session of its own. */
export function registerRerun(program: Command, io: CommandIo): void {
  program
    .command('rerun')
    .description('Opens a session like an earlier one: same instruction, same state of the repository.')
    .argument('<session>')
    .option('--agent <name>', 'another agent')
    .option('--model <id>', 'another model')
    .option('--runtime <name>', 'another runtime')
    .option('--non-interactive', 'nobody can be asked: what needs an approval is refused')
    .option('--stay', 'stays open for further messages when it has answered')
    .option('--json', 'one JSON object at the end on stdout, all else on stderr')
    .action((id: string, options: RerunOptions) =>
      runSession(io, options, async (client, order) => {
        const before = await ask(client.api.GET('/v1/sessions/{id}', { params: { path: { id } } }));
        io.signal.throwIfAborted();
        // Not cut off by Ctrl-C: whoever opens a session has to know which one there is to stop.
        const session = await ask(
          client.api.POST('/v1/sessions', {
            body: {
              project: before.project,
              runtime: before.runtime,
              model: before.model,
              ...order,
              instruction: before.instruction,
              repository: before.repository,
            },
            headers: { 'idempotency-key': randomUUID() },
          }),
        );
        return { session, folder: '.', note: `, the state that ${before.id} began with` };
      }),
    );
}
