import type { Readable, Writable } from 'node:stream';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { toProblem } from '@lemniscate/shared/errors/problem.ts';
import type { CommandJudgement } from '@lemniscate/shared/policy/command/judgement.ts';
import { policySchema } from '@lemniscate/shared/policy/policy.ts';
import { replayCommand } from '@lemniscate/shared/policy/replay-command.ts';
import type { Command } from 'commander';
import { z } from 'zod';
import { exitCodes } from '../io.ts';
import type { CommandIo } from '../io.ts';
import { standardInput } from '../standard-input.ts';
import { readLines } from '@lemniscate/shared/text/lines.ts';

/**
 * One line of input. Without `free` the free commands of `policy` count; without both nothing is free. A line may carry
 * what else its history knows (`id`, `expected`), but no key that is one of these misspelt: it would judge by nothing.
 */
const requestSchema = z
  .looseObject({
    command: z.string(),
    free: z.array(z.string()).optional(),
    policy: policySchema.optional(),
  })
  .superRefine((line, context) => {
    const misspelt = Object.keys(line).find(
      (key) => /^(command|fre|polic)/i.test(key) && !keys.includes(key),
    );
    if (misspelt !== undefined)
      context.addIssue({ code: 'unrecognized_keys', keys: [misspelt], input: line });
  });
const keys: readonly string[] = ['command', 'free', 'policy'];

/** A line holds a command of 100 KB even if every character of it is escaped. */
const maxLineLength = 1024 * 1024;

/** `policy judge`: says of commands, one JSON object a line, what reading them says. Nothing is run. */
export function registerPolicyJudge(program: Command, io: CommandIo): void {
  policyCommand(program)
    .command('judge')
    .description(
      'Judges commands: JSON lines {"command", "free": […], "policy"?} on standard input, {"verdict", "pieces"} a line on standard output.',
    )
    .option('--json', 'nothing changes: every line is JSON already')
    .action(async () => {
      const unreadable = await judgeLines(standardInput(io), io.stdout);
      io.setExitCode(unreadable === 0 ? exitCodes.done : exitCodes.usage);
    });
}

/** The group `policy`, made by whichever of its commands is registered first. */
export function policyCommand(program: Command): Command {
  const found = program.commands.find((command) => command.name() === 'policy');
  return found ?? program.command('policy').description('Reads policies and judges commands by them.');
}

/**
 * Answers every line, in order. A line that cannot be read is answered with `{"error": problem}`, so that answers
 * and lines stay side by side.
 * @returns the number of lines that could not be read
 */
export async function judgeLines(input: Readable, output: Writable): Promise<number> {
  let unreadable = 0;
  for await (const line of readLines(input, maxLineLength)) {
    if (line.text?.trim() === '') continue;
    const answer = answerLine(line.text, line.number);
    if ('error' in answer) unreadable += 1;
    if (!output.write(`${JSON.stringify(answer)}\n`)) await drained(output);
  }
  return unreadable;
}

function answerLine(
  text: string | undefined,
  number: number,
): CommandJudgement | { error: ReturnType<typeof toProblem> } {
  try {
    const request = requestSchema.parse(JSON.parse((text ?? tooLong()).replace(/^\uFEFF/, '')));
    return replayCommand(request.command, request.policy, request.free);
  } catch (error) {
    const why =
      error instanceof z.ZodError ? z.prettifyError(error).replaceAll('\n', ' ') : (error as Error).message;
    return {
      error: toProblem(
        new CodedError(
          'request_invalid',
          `Line ${number} cannot be read: ${why}. Write {"command": "…", "free": ["…"]} on one line.`,
          { line: number },
        ),
      ),
    };
  }
}

function tooLong(): never {
  throw new Error(`it is longer than ${maxLineLength} characters`);
}

/** A reader that has gone away ends the wait too; the write error is the stream's to report. */
function drained(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      output.off('drain', done).off('close', done).off('error', done);
      resolve();
    };
    output.once('drain', done).once('close', done).once('error', done);
  });
}
