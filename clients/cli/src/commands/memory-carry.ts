import { ask } from '@lemniscate/api/client.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { connectFleet } from './context.ts';

interface CarryOptions {
  readonly project: string;
  readonly from?: string;
  readonly path?: string[];
  readonly accept?: string;
  readonly reject?: string;
}

/** `lemniscate memory carry`: asks for files of another project's memory, lists what waits, and decides it. */
export function registerMemoryCarry(memory: Command, io: CommandIo): void {
  memory
    .command('carry')
    .description(
      'Lists what is to be carried into a project’s memory; with --from asks, with --accept or --reject decides.',
    )
    .argument('<agent>')
    .option('--project <id>', 'the project that gets it', 'local')
    .option('--from <project>', 'the project that has it')
    .option('--path <paths...>', 'only these files')
    .option('--accept <request>', 'carries it')
    .option('--reject <request>', 'leaves it where it is')
    .action(async (agent: string, options: CarryOptions) => {
      const client = await connectFleet(io);
      const request = options.accept ?? options.reject;
      if (request !== undefined) {
        const decision = options.accept === undefined ? 'reject' : 'accept';
        const decided = await ask(
          client.patient(60_000).POST('/v1/projects/{id}/agents/{agent}/memory/carries/{carry}', {
            params: { path: { id: options.project, agent, carry: request } },
            body: { decision },
          }),
        );
        for (const notice of decided.notices) io.stdout.write(`${makeVisible(notice)}\n`);
        io.stdout.write(`The memory is at version ${decided.version}.\n`);
        return;
      }
      if (options.from !== undefined) {
        const body = {
          from: options.from,
          ...(options.path === undefined ? {} : { paths: options.path }),
        };
        const { id } = await ask(
          client.api.POST('/v1/projects/{id}/agents/{agent}/memory/carries', {
            params: { path: { id: options.project, agent } },
            body,
          }),
        );
        io.stdout.write(
          `${id} waits for a person: lemniscate memory carry ${agent} --project ${options.project} --accept ${id}\n`,
        );
        return;
      }
      const { carries } = await ask(
        client.api.GET('/v1/projects/{id}/agents/{agent}/memory/carries', {
          params: { path: { id: options.project, agent } },
        }),
      );
      for (const { id, from, fromVersion, files, askedBy } of carries)
        io.stdout.write(
          `${id}  from ${from} version ${fromVersion}, asked by ${makeVisible(askedBy)}: ${files.map((file) => makeVisible(file.path)).join(', ')}\n`,
        );
    });
}
