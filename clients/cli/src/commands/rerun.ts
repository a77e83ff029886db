import { randomUUID } from 'node:crypto';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
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
        const before = await client.json(`/v1/sessions/${encodeURIComponent(id)}`, sessionViewSchema);
        const session = await client.json('/v1/sessions', sessionViewSchema, {
          method: 'POST',
          headers: { 'idempotency-key': randomUUID() },
          body: {
            project: before.project,
            runtime: before.runtime,
            model: before.model,
            ...order,
            instruction: before.instruction,
            repository: before.repository,
          },
          signal: io.signal,
        });
        return { session, folder: '.', note: `, the state that ${before.id} began with` };
      }),
    );
}
