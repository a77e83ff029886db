import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { budgetScopes } from '@lemniscate/shared/costs/cost-report.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { readFile } from 'node:fs/promises';
import { Argument } from 'commander';
import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { connectFleet } from './context.ts';
import { costsCommand } from './costs-command.ts';

/** `costs budget`, `centre`, `pool-price`, `correct`, `rebuild`: what a person decides. */
export function registerCostsSettings(program: Command, io: CommandIo): void {
  const costs = costsCommand(program);
  costs
    .command('budget')
    .description('Sets the budget of a calendar month; "none" removes it.')
    .addArgument(new Argument('<scope>').choices([...budgetScopes]))
    .argument('<name>')
    .argument('<usd>', 'such as 250.00')
    .action(async (scope: (typeof budgetScopes)[number], name: string, usd: string) => {
      const amountUsd = usd === 'none' ? null : usd;
      const { api } = await connectFleet(io);
      const { budgets } = await ask(api.GET('/v1/costs/budgets'));
      const before = budgets.find((one) => one.scope === scope && one.name === name);
      await ask(
        api.PUT('/v1/costs/budgets/{scope}/{name}', {
          params: { path: { scope, name }, header: seenHeader(before) },
          body: { amountUsd },
        }),
      );
    });
  costs
    .command('centre')
    .description('Names the cost centre of what a project costs from now on.')
    .argument('<project>')
    .argument('<cost-centre>')
    .action(async (project: string, costCentre: string) => {
      const { api } = await connectFleet(io);
      const params = { path: { project } };
      const seen = await ask(api.GET('/v1/costs/centres/{project}', { params }));
      await ask(
        api.PUT('/v1/costs/centres/{project}', {
          params: { ...params, header: seenHeader(seen) },
          body: { costCentre },
        }),
      );
      io.stdout.write(`From now on ${project} is charged to ${costCentre}.\n`);
    });
  costs
    .command('pool-price')
    .description('Names what a slot of a pool costs an hour, from a day on.')
    .argument('<pool>')
    .argument('<usd>', 'of one slot for one hour, such as 0.12')
    .argument('<day>', 'the first one, such as 2026-12-01')
    .action(async (pool: string, usdPerSlotHour: string, fromDay: string) => {
      const body = { usdPerSlotHour, fromDay };
      const { api } = await connectFleet(io);
      const params = { path: { pool } };
      const seen = await ask(api.GET('/v1/costs/pools/{pool}', { params }));
      await ask(
        api.PUT('/v1/costs/pools/{pool}', {
          params: { ...params, header: seenHeader(seen) },
          body,
        }),
      );
      io.stdout.write(`From ${fromDay} on a slot of ${pool} costs $${usdPerSlotHour} an hour.\n`);
    });
  costs
    .command('correct')
    .description('Prices a span of a model’s exchanges again and appends the differences.')
    .argument('<provider>')
    .argument('<model>')
    .requiredOption('--from <day>', 'first day, in UTC')
    .requiredOption('--to <day>', 'the day after the last')
    .requiredOption('--reason <text>', 'why, for whoever reads the bill')
    .option('--prices <file>', 'a price book; else the fleet’s own as it is now')
    .action((provider: string, model: string, options: CorrectOptions) =>
      correct(io, provider, model, options),
    );
  costs
    .command('rebuild')
    .description('Makes the rollups again out of every entry.')
    .action(async () => {
      const client = await connectFleet(io);
      await ask(client.patient(600_000).POST('/v1/costs/rebuild'));
    });
}

interface CorrectOptions {
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  readonly prices?: string;
}

async function correct(
  io: CommandIo,
  provider: string,
  model: string,
  { prices, ...options }: CorrectOptions,
): Promise<void> {
  const book = prices === undefined ? {} : { prices: await readJson(prices) };
  const client = await connectFleet(io);
  const answer = await ask(
    client.patient(60_000).POST('/v1/costs/corrections', { body: { provider, model, ...options, ...book } }),
  );
  io.stdout.write(`${answer.corrected} exchanges corrected by $${answer.differenceUsd}\n`);
  if (answer.leftOut > 0)
    io.stdout.write(
      `${answer.leftOut} exchanges were left as they are: they were settled by a version that did not keep how they were served.\n`,
    );
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    throw new CodedError('price_book_invalid', `${file} cannot be read as JSON.`, { file }, error);
  }
}
