import { ask } from '@lemniscate/api/client.ts';
import type { Removed, RetentionRules } from '@lemniscate/shared/api/retention.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { visibleJson } from '@lemniscate/shared/text/visible.ts';
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { tableLines, writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet } from './context.ts';

/** `ever` and not null: the command line's parser takes null for an empty text. */
type RuleOptions = Partial<Record<keyof RetentionRules, number | 'ever'>>;

interface HoldOptions {
  readonly project?: string;
  readonly session?: string;
}

/** `lemniscate retention`, `hold` and `erase`: how long content is kept, what must be kept, and what is forgotten. */
export function registerRetention(program: Command, io: CommandIo): void {
  registerRules(program, io);
  registerHolds(program, io);
  registerErase(program, io);
}

function registerRules(program: Command, io: CommandIo): void {
  const retention = program.command('retention').description('How long a project’s content is kept.');
  retention
    .command('show')
    .description('Shows the rules of a project.')
    .argument('<project>')
    .option('--json', 'one JSON object')
    .action(async (project: string, { json }: { json?: boolean }) => {
      const client = await connectFleet(io);
      const rules = await ask(
        client.api.GET('/v1/projects/{id}/retention', { params: { path: { id: project } } }),
      );
      io.stdout.write(json === true ? `${visibleJson(rules)}\n` : describeRules(rules));
    });
  const days = 'days after a session’s end, or "ever"';
  retention
    .command('set')
    .description('Changes the rules that are named; the others stay (project administrators).')
    .argument('<project>')
    .option('--sessions <days>', `everything of a session: ${days}`, readDays)
    .option('--logs <days>', `events and output: ${days}`, readDays)
    .option('--diffs <days>', `diffs: ${days}`, readDays)
    .option('--snapshots <days>', `snapshots of the workspace: ${days}`, readDays)
    .option('--content <days>', 'retained content: so many days, or "off"', readDays)
    .option(
      '--objects <days>',
      'objects: days after the last thing that happened to them, or "ever"',
      readDays,
    )
    .option(
      '--memory <days>',
      'files of agents’ memories: days after they were last written, or "ever"',
      readDays,
    )
    .action(async (project: string, changed: RuleOptions) => {
      if (Object.keys(changed).length === 0)
        throw new CodedError(
          'request_invalid',
          'Name a rule: --sessions, --logs, --diffs, --snapshots, --content, --objects or --memory.',
        );
      const client = await connectFleet(io);
      const path = { id: project };
      const seen = await client.api.GET('/v1/projects/{id}/retention', { params: { path } });
      const rules = await ask(Promise.resolve(seen));
      const header = { 'if-match': seen.response.headers.get('etag') ?? '' };
      const named = Object.entries(changed).map(([rule, days]) => [rule, days === 'ever' ? null : days]);
      const body = { ...rules, ...(Object.fromEntries(named) as Partial<RetentionRules>) };
      io.stdout.write(
        describeRules(
          await ask(client.api.PUT('/v1/projects/{id}/retention', { params: { path, header }, body })),
        ),
      );
    });
}

function registerHolds(program: Command, io: CommandIo): void {
  const hold = program
    .command('hold')
    .description('Legal holds: what lies below one is removed by no rule and by nobody (administrators).');
  hold
    .command('list')
    .description('Lists the holds that are in force.')
    .action(async () => {
      const client = await connectFleet(io);
      const { holds } = await ask(client.api.GET('/v1/holds'));
      if (holds.length === 0) io.stdout.write('There is no hold.\n');
      writeTable(
        io.stdout,
        holds.map(({ id, scope, of, placedBy, placedAt }) => [
          id,
          `${scope} ${of}`,
          `by ${placedBy} at ${placedAt}`,
        ]),
      );
    });
  hold
    .command('place')
    .description('Places a hold.')
    .option('--project <id>', 'over everything of a project')
    .option('--session <id>', 'over one session')
    .action(async ({ project, session }: HoldOptions) => {
      const of = project ?? session;
      if (of === undefined || (project !== undefined && session !== undefined))
        throw new CodedError('request_invalid', 'Name either --project or --session.');
      const client = await connectFleet(io);
      const body = { scope: project === undefined ? ('session' as const) : ('project' as const), of };
      const placed = await ask(client.api.POST('/v1/holds', { body }));
      io.stdout.write(`${placed.id}\n`);
    });
  hold
    .command('release')
    .description('Ends a hold; the rules hold again.')
    .argument('<hold>')
    .action(async (id: string) => {
      const client = await connectFleet(io);
      await ask(client.api.DELETE('/v1/holds/{id}', { params: { path: { id } } }));
      io.stdout.write('The hold is released.\n');
    });
}

function registerErase(program: Command, io: CommandIo): void {
  const erase = program
    .command('erase')
    .description(
      'Forgets for good; the audit log keeps that it was done, and its proofs hold (administrators).',
    );
  erase
    .command('session')
    .description('Removes everything of an ended session but what log, costs and counts say of it.')
    .argument('<session>')
    .requiredOption('--yes', 'nothing of it comes back')
    .action(async (id: string) => {
      const client = await connectFleet(io);
      const { removed } = await ask(client.api.POST('/v1/sessions/{id}/erase', { params: { path: { id } } }));
      io.stdout.write(`erased: ${describeRemoved(removed)}\n`);
    });
  erase
    .command('person')
    .description('Removes who a pseudonym of the log is, and what is kept of the person.')
    .argument('<subject>', 'as the directory has it')
    .requiredOption('--yes', 'nothing of it comes back')
    .action(async (subject: string) => {
      const client = await connectFleet(io);
      const { person, removed } = await ask(
        client.api.POST('/v1/people/{subject}/erase', { params: { path: { subject } } }),
      );
      io.stdout.write(`${person} is nobody any more: ${describeRemoved(removed)}\n`);
    });
}

function readDays(given: string): number | 'ever' {
  if (given === 'ever' || given === 'off') return 'ever';
  const days = Number(given);
  if (Number.isInteger(days) && days >= 1 && days <= 36_500) return days;
  throw new InvalidArgumentError('Give a number of days from 1 to 36500, or "ever" ("off" for content).');
}

function describeRules(rules: RetentionRules): string {
  const rows = Object.entries(rules).map(([name, days]) => [
    name,
    days === null ? (name === 'content' ? 'off' : 'for ever') : `${days} days`,
  ]);
  return `${tableLines(rows).join('\n')}\n`;
}

function describeRemoved(removed: Removed): string {
  const parts = Object.entries(removed).filter(([, count]) => count > 0);
  return parts.length === 0
    ? 'nothing was there'
    : parts.map(([store, count]) => `${count} ${store}`).join(', ');
}
