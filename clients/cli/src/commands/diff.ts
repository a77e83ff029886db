import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import { z } from 'zod';
import { showDiffFiles, showPatch } from '../follow/diff-view.ts';
import type { CommandIo } from '../io.ts';
import { applyPatch } from '../repository/apply.ts';
import { inspectRepository } from '../repository/inspect.ts';
import { connectFleet, printJson } from './context.ts';
import { acceptDiff, readDiff, readPatch } from './diff-decision.ts';

const collect = (value: string, before: string[] = []): string[] => [...before, value];

interface Named {
  readonly flagged?: string[];
  readonly json?: boolean;
}

/** `diff`, `accept`, `reject`, `apply`: the one way out of a session. */
export function registerDiff(program: Command, io: CommandIo): void {
  program
    .command('diff')
    .description('Shows what a session offers.')
    .argument('<session>')
    .option('--json', 'files and counts as JSON')
    .option('--raw', 'the patch as it is, for programs')
    .action(async (id: string, options: { json?: boolean; raw?: boolean }) => {
      const client = await connectFleet(io);
      const { diff } = await readDiff(client, id);
      if (options.json === true) return printJson(io, diff);
      const patch = await readPatch(client, id);
      if (options.raw === true) return void io.stdout.write(patch);
      showPatch(io.stdout, Buffer.from(patch).toString('utf8'), io.colour);
      showDiffFiles(io.stdout, diff.files, io.colour);
      return void io.stdout.write(`${diff.state}\n`);
    });

  program
    .command('accept')
    .description('Accepts a session’s diff; "apply" then puts it into a repository.')
    .argument('<session>')
    .option(
      '--flagged <path>',
      'a file under dedicated control that you accept by name (repeatable)',
      collect,
    )
    .option('--json', 'the outcome as JSON')
    .action(async (id: string, options: Named) => {
      const client = await connectFleet(io);
      const { diff } = await readDiff(client, id);
      await acceptDiff(client, id, diff, options.flagged ?? []);
      if (options.json === true) return printJson(io, { sessionId: id, diff: 'accepted' });
      return void io.stdout.write(`Accepted. Put it in place: npx lemniscate apply ${id} --repo PATH\n`);
    });

  program
    .command('reject')
    .description('Rejects a session’s diff for good.')
    .argument('<session>')
    .option('--json', 'the outcome as JSON')
    .action(async (id: string, options: { json?: boolean }) => {
      const client = await connectFleet(io);
      const { diff } = await readDiff(client, id);
      await client.json(`/v1/sessions/${encodeURIComponent(id)}/diff/reject`, z.unknown(), {
        method: 'POST',
        body: { sha256: diff.sha256 },
      });
      if (options.json === true) return printJson(io, { sessionId: id, diff: 'rejected' });
      return void io.stdout.write('Rejected.\n');
    });

  program
    .command('apply')
    .description(
      'Puts a session’s diff into your working tree, merged with what you changed meanwhile; commits nothing. A diff that is still offered is accepted by it.',
    )
    .argument('<session>')
    .option('--repo <folder>', 'the repository', '.')
    .option(
      '--flagged <path>',
      'a file under dedicated control that you accept by name (repeatable)',
      collect,
    )
    .option('--json', 'the outcome as JSON')
    .action(async (id: string, options: Named & { repo: string }) => {
      const client = await connectFleet(io);
      const repository = await inspectRepository(options.repo);
      const { diff } = await readDiff(client, id);
      const patch = await readPatch(client, id);
      // Accepted only when it is known to apply: an accepted diff cannot be rejected any more.
      const applied = await applyPatch(repository.folder, patch, diff.baseTree, async () => {
        if (diff.state === 'offered') await acceptDiff(client, id, diff, options.flagged ?? []);
      });
      if (options.json === true) return printJson(io, { sessionId: id, files: applied.files });
      for (const path of applied.files) io.stdout.write(`  ${makeVisibleLine(path)}\n`);
      return void io.stdout.write(`Applied to ${repository.folder}; nothing is committed.\n`);
    });
}
