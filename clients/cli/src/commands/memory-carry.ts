import { z } from 'zod';
import { decidedProposalSchema, memoryCarriesSchema } from '@lemniscate/shared/api/memory.ts';
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
export function registerMemoryCarry(
  memory: Command,
  io: CommandIo,
  pathOf: (agent: string, options: CarryOptions) => string,
): void {
  memory
    .command('carry')
    .description(
      'Lists what is to be carried into a project’s memory; with --from asks, with --accept or --reject decides.',
    )
    .argument('<agent>')
    .option('--project <id>', 'the project that gets it', 'local')
    .option('--from <project>', 'the project that has it')
    .option('--path <paths...>', 'only these files')
    .option('--accept <request>')
    .option('--reject <request>')
    .action(async (agent: string, options: CarryOptions) => {
      const client = await connectFleet(io);
      const base = `${pathOf(agent, options)}/carries`;
      const request = options.accept ?? options.reject;
      if (request !== undefined) {
        const decision = options.accept === undefined ? 'reject' : 'accept';
        const decided = await client.json(`${base}/${encodeURIComponent(request)}`, decidedProposalSchema, {
          method: 'POST',
          body: { decision },
          timeoutMs: 60_000,
        });
        for (const notice of decided.notices) io.stdout.write(`${makeVisible(notice)}\n`);
        io.stdout.write(`The memory is at version ${decided.version}.\n`);
        return;
      }
      if (options.from !== undefined) {
        const body = {
          from: options.from,
          ...(options.path === undefined ? {} : { paths: options.path }),
        };
        const { id } = await client.json(base, z.object({ id: z.string() }), { method: 'POST', body });
        io.stdout.write(
          `${id} waits for a person: lemniscate memory carry ${agent} --project ${options.project} --accept ${id}\n`,
        );
        return;
      }
      const { carries } = await client.json(base, memoryCarriesSchema);
      for (const { id, from, fromVersion, files, askedBy } of carries)
        io.stdout.write(
          `${id}  from ${from} version ${fromVersion}, asked by ${makeVisible(askedBy)}: ${files.map((file) => makeVisible(file.path)).join(', ')}\n`,
        );
    });
}
