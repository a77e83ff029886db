import { ask } from '@lemniscate/api/client.ts';
import type { QueryOf } from '@lemniscate/api/client.ts';
import { billLineSchema, costGroups } from '@lemniscate/shared/costs/cost-report.ts';
import type { CostGroup, CostReport } from '@lemniscate/shared/costs/cost-report.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import type { Command } from 'commander';
import { z } from 'zod';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';
import { costsCommand } from './costs-command.ts';

interface SpanOptions {
  readonly from?: string;
  readonly to?: string;
  readonly project?: string;
  readonly json?: boolean;
}

/** `costs report`, `top`, `unit`, `forecast`, `anomalies`, `budgets`, `export`, `reconcile`: what is read. */
export function registerCostsReport(program: Command, io: CommandIo): void {
  const costs = costsCommand(program);
  withSpan(costs.command('report'))
    .description('Sums costs by project, agent, user, model, provider, runtime, day, cost centre or session.')
    .addOption(new Option('--by <group>', 'what to group by').choices([...costGroups]).default('project'))
    .option('--limit <n>', 'how many lines', '1000')
    .action(async (options: SpanOptions & { by: CostGroup; limit: string }) => {
      const query = { ...spanOf(options), groupBy: options.by, limit: Number(options.limit) };
      await report(io, query, options.json === true);
    });
  withSpan(costs.command('top'))
    .description('The dearest sessions.')
    .option('--limit <n>', 'how many', '20')
    .action(async (options: SpanOptions & { limit: string }) => {
      await report(
        io,
        { ...spanOf(options), groupBy: 'session', limit: Number(options.limit) },
        options.json === true,
      );
    });
  withSpan(costs.command('unit'))
    .description('What an accepted diff costs, failed sessions included.')
    .action(async (options: SpanOptions) => {
      const answer = await ask(
        (await connectFleet(io)).api.GET('/v1/costs/unit', { params: { query: spanOf(options) } }),
      );
      if (options.json === true) return printJson(io, answer);
      return writeTable(
        io.stdout,
        answer.projects.map((row) => [
          row.project,
          String(row.sessions),
          String(row.acceptedDiffs),
          row.totalUsd,
          row.usdPerAcceptedDiff ?? '–',
        ]),
        ['project', 'sessions', 'accepted', 'total $', '$ per accepted diff'],
      );
    });
  costs
    .command('forecast')
    .description('What the month will have cost.')
    .option('--project <project>', 'of this project alone')
    .option('--json', 'as JSON')
    .action(async (options: SpanOptions) => {
      const answer = await ask(
        (await connectFleet(io)).api.GET('/v1/costs/forecast', { params: { query: spanOf(options) } }),
      );
      if (options.json === true) return printJson(io, answer);
      io.stdout.write(
        `${answer.month}: $${answer.spentUsd} so far, $${answer.forecastUsd} expected ($${answer.dailyUsd} a day, from ${answer.basedOnDays} days)\n`,
      );
      return undefined;
    });
  withSpan(costs.command('anomalies'))
    .description('Days that cost more than the four weeks before explain.')
    .action(async (options: SpanOptions) => {
      const answer = await ask(
        (await connectFleet(io)).api.GET('/v1/costs/anomalies', { params: { query: spanOf(options) } }),
      );
      if (options.json === true) return printJson(io, answer);
      return writeTable(
        io.stdout,
        answer.anomalies.map((row) => [
          row.day,
          row.project,
          row.totalUsd,
          row.expectedUsd,
          String(row.deviations),
        ]),
        ['day', 'project', 'total $', 'expected $', 'deviations'],
      );
    });
  costs
    .command('budgets')
    .description('Budgets of projects and agents, with what sessions hold of them this month.')
    .option('--json', 'as JSON')
    .action(async (options: SpanOptions) => {
      const answer = await ask((await connectFleet(io)).api.GET('/v1/costs/budgets'));
      if (options.json === true) return printJson(io, answer);
      return writeTable(
        io.stdout,
        answer.budgets.map((row) => [row.scope, row.name, row.amountUsd, row.grantedUsd, row.state]),
        ['scope', 'name', 'amount $', 'held $', 'state'],
      );
    });
  withSpan(costs.command('export'))
    .description('Writes FOCUS 1.2 as CSV to standard output.')
    .action(async (options: SpanOptions) => {
      const client = await connectFleet(io);
      const path = `/v1/costs/export?${new URLSearchParams(spanOf(options)).toString()}`;
      const answer = await client.open(path, { signal: io.signal, timeoutMs: 600_000 });
      if (answer.body === null) return;
      for await (const chunk of answer.body) if (!io.stdout.write(chunk)) await once(io.stdout, 'drain');
    });
  costs
    .command('reconcile')
    .description('Lays a provider’s bill beside the record: JSON lines with day, provider, model, costUsd.')
    .argument('<file>')
    .option('--json', 'as JSON')
    .action((file: string, options: SpanOptions) => reconcile(io, file, options.json === true));
}

function withSpan(command: Command): Command {
  return command
    .option('--from <day>', 'first day, in UTC (else the first of the month)')
    .option('--to <day>', 'the day after the last (else tomorrow)')
    .option('--project <project>', 'of this project alone')
    .option('--json', 'as JSON');
}

function spanOf({ from, to, project }: SpanOptions): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ from, to, project }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
  );
}

async function report(io: CommandIo, query: QueryOf<'/v1/costs', 'get'>, asJson: boolean): Promise<void> {
  const client = await connectFleet(io);
  const answer = await ask(client.api.GET('/v1/costs', { params: { query } }));
  if (asJson) return printJson(io, answer);
  showReport(io, answer);
}

function showReport(io: CommandIo, answer: CostReport): void {
  const rows = [...answer.rows, answer.total].map((row) => [
    row.group === '' ? '–' : row.group,
    String(row.exchanges),
    String(row.inputTokens + row.cacheReadTokens + row.cacheWriteTokens),
    String(row.outputTokens),
    row.tokensUsd,
    row.computeUsd,
    row.totalUsd,
  ]);
  writeTable(io.stdout, rows, [
    answer.groupBy,
    'exchanges',
    'prompt',
    'output',
    'tokens $',
    'compute $',
    'total $',
  ]);
  if (answer.total.unpriced > 0)
    io.stdout.write(`${answer.total.unpriced} exchanges have no price and are missing from the sums.\n`);
  if (answer.total.incomplete > 0)
    io.stdout.write(
      `${answer.total.incomplete} exchanges were cut, or had fees without a price: their costs are lower bounds.\n`,
    );
}

async function reconcile(io: CommandIo, file: string, asJson: boolean): Promise<void> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CodedError('request_invalid', `${file} cannot be read.`, { file }, error);
  });
  const lines = text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const read = billLineSchema.safeParse(parse(line));
    if (read.success) return [read.data];
    throw new CodedError('request_invalid', `${file}:${index + 1}: ${z.prettifyError(read.error)}`);
  });
  const client = await connectFleet(io);
  const answer = await ask(client.api.POST('/v1/costs/reconciliations', { body: { lines } }));
  if (asJson) return printJson(io, answer);
  writeTable(
    io.stdout,
    answer.lines.map((row) => [
      row.day,
      row.provider,
      row.model,
      row.billedUsd,
      row.recordedUsd,
      row.differenceUsd,
    ]),
    ['day', 'provider', 'model', 'billed $', 'recorded $', 'difference $'],
  );
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The schema says that this is not an object.
    return undefined;
  }
}
