import { ask } from '@lemniscate/api/client.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import { showDiffFiles, showPatch } from '../follow/diff-view.ts';
import type { CommandIo } from '../io.ts';
import { applyPatch } from '../repository/apply.ts';
import { inspectRepository } from '../repository/inspect.ts';
import { connectFleet, printJson } from './context.ts';
import { acceptDiff, acceptToApply, chosenFiles, readDiff, readPatch, sayAccepted } from './diff-decision.ts';
import type { OfferedDiff } from './diff-decision.ts';

const collect = (value: string, before: string[] = []): string[] => [...before, value];

interface Named {
  readonly flagged?: string[];
  readonly file?: string[];
  readonly except?: string[];
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
    .option('--file <path>', 'accept only this file (repeatable); the others are rejected', collect)
    .option('--except <path>', 'accept all but this file (repeatable)', collect)
    .option('--json', 'the outcome as JSON')
    .action(async (id: string, options: Named) => {
      const client = await connectFleet(io);
      const { diff } = await readDiff(client, id);
      const files = chosenFiles(diff, options.file ?? [], options.except ?? []);
      const decided = await acceptDiff(client, id, diff, options.flagged ?? [], files);
      if (options.json === true)
        return printJson(io, { sessionId: id, diff: decided.state, acceptedFiles: decided.acceptedFiles });
      const next =
        decided.state === 'accepted' ? ` Put it in place: npx lemniscate apply ${id} --repo PATH` : '';
      return void io.stdout.write(`${sayAccepted(decided, diff.files.length)}${next}\n`);
    });

  program
    .command('reject')
    .description('Rejects a session’s diff for good.')
    .argument('<session>')
    .option('--json', 'the outcome as JSON')
    .action(async (id: string, options: { json?: boolean }) => {
      const client = await connectFleet(io);
      await ask(
        client.api.POST('/v1/sessions/{id}/diff/reject', {
          params: { path: { id } },
        }),
      );
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
    .option('--file <path>', 'only this file (repeatable); the others are rejected', collect)
    .option('--except <path>', 'all but this file (repeatable)', collect)
    .option('--json', 'the outcome as JSON')
    .action(async (id: string, options: Named & { repo: string }) => {
      const client = await connectFleet(io);
      const repository = await inspectRepository(options.repo);
      const { diff } = await readDiff(client, id);
      if (diff.state === 'rejected')
        throw new CodedError(
          'diff_decided',
          `The diff of session ${id} is rejected; nothing of it can be applied.`,
        );
      const chosen = chosenFiles(diff, options.file ?? [], options.except ?? []);
      const files = diff.state === 'accepted' ? withinAccepted(diff, chosen) : chosen;
      const patch = await readPatch(client, id, files);
      // Accepted only when it is known to apply: an accepted diff cannot be rejected any more.
      const applied = await applyPatch(repository.folder, patch, diff.baseTree, async () => {
        if (diff.state === 'offered') await acceptToApply(client, id, diff, options.flagged ?? [], files);
      });
      if (options.json === true) return printJson(io, { sessionId: id, files: applied.files });
      for (const path of applied.files) io.stdout.write(`  ${makeVisibleLine(path)}\n`);
      return void io.stdout.write(`Applied to ${repository.folder}; nothing is committed.\n`);
    });
}

/** Of an accepted diff only what was accepted can be applied. */
function withinAccepted(diff: OfferedDiff, chosen: readonly string[] | null): readonly string[] | null {
  const { acceptedFiles } = diff;
  if (acceptedFiles === null) return chosen;
  const refused = (chosen ?? []).filter((path) => !acceptedFiles.includes(path));
  if (refused.length === 0) return chosen ?? acceptedFiles;
  throw new CodedError('diff_decided', `Not accepted: ${refused.map(makeVisibleLine).join(', ')}.`);
}
