import { once } from 'node:events';
import type { Command } from 'commander';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { longestReplayLine, replayLine } from '@lemniscate/shared/model/replay-lines.ts';
import { readLines } from '@lemniscate/shared/text/lines.ts';
import { costsCommand } from './costs-command.ts';
import { exitCodes } from '../io.ts';
import type { CommandIo } from '../io.ts';
import { standardInput } from '../standard-input.ts';

/** Replays JSON lines from the input to the output, in order. Blank lines are skipped. */
async function replay(io: CommandIo): Promise<void> {
  const book = readPinnedPriceBook();
  let allRead = true;
  for await (const line of readLines(standardInput(io), longestReplayLine)) {
    if (line.text?.trim() === '') continue;
    const { text, ok } = replayLine(line.text, book);
    allRead &&= ok;
    if (!io.stdout.write(`${text}\n`)) await once(io.stdout, 'drain', { signal: io.signal });
  }
  io.setExitCode(allRead ? exitCodes.done : exitCodes.usage);
}

/**
 * `lemniscate costs replay`: recorded calls in, tokens and exact cost out, one JSON object a line. A line that cannot
 * be read is answered with `{id, error}`, and the exit code is then 2.
 */
export function registerCostsReplay(program: Command, io: CommandIo): void {
  costsCommand(program)
    .command('replay')
    .description('Prices recorded model calls: JSON lines from stdin, JSON lines to stdout.')
    .option('--json', 'nothing changes: every line is JSON already')
    .action(() => replay(io));
}
