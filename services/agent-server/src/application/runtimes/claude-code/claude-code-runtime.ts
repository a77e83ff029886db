import type { JsonObject } from '@lemniscate/shared/json.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { startCli } from '../cli/cli-process.ts';
import type { CliProcess } from '../cli/cli-process.ts';
import { cliRuntime } from '../cli/cli-runtime.ts';
import { unanswered } from '../cli/unanswered.ts';
import { fileExists, untilFileHolds } from '../cli/inside-files.ts';
import type { ProgramDesk, RunningProgram, VendorProgram } from '../cli/program.ts';
import { endOfGivingUp } from '../cli/program-end.ts';
import type { CallVerdict } from '../cli/reported-calls.ts';
import type { RuntimeEnd } from '../runtime.ts';
import { claudeCommand, hostedServer, transcriptFile } from './command-line.ts';
import { isToolResult, outputSchema } from './output.ts';
import type { OutputOf } from './output.ts';
import { createOwnCount } from './own-count.ts';
import type { OwnCount } from './own-count.ts';
import { mapOwnTool } from './own-tools.ts';
import { createClaudeTurns } from './turns.ts';
import type { ClaudeTurns } from './turns.ts';

const claudeCode: VendorProgram = {
  runtime: 'claude-code',
  title: 'Claude Code',
  memoryFiles: ['CLAUDE.md', 'AGENTS.md'],
  start: async (desk) => {
    const { context, hosted, calls, talk } = desk;
    const resumed = await fileExists(context, transcriptFile(context.order.sessionId));
    const cli = startCli(context, claudeCommand(context.order, resumed, desk.memory));
    const turns = createClaudeTurns(context, talk, hosted === null ? calls : null);
    const process: Process = { ...desk, cli, turns, count: createOwnCount(desk.usage), lastResult: null };
    control(cli, { subtype: 'initialize' });
    return { cli, resumed, ...speaking(process) };
  },
};

/** The real Claude Code, inside the sandbox. It drives the loop; its model is behind the gateway. */
export const claudeCodeRuntime = cliRuntime(claudeCode);

interface Process extends ProgramDesk {
  readonly cli: CliProcess;
  readonly turns: ClaudeTurns;
  readonly count: OwnCount;
  /** The call whose result it was given last. */
  lastResult: string | null;
}

function speaking(process: Process): Omit<RunningProgram, 'cli' | 'resumed'> {
  const { cli, turns } = process;
  return {
    say: (text) =>
      cli.send({
        type: 'user',
        message: { role: 'user', content: [{ type: 'text', text }] },
        parent_tool_use_id: null,
      }),
    interrupt: () => control(cli, { subtype: 'interrupt' }),
    take: (line) => take(process, line),
    flush: turns.flush,
    written: () => written(process),
  };
}

/** Claude Code writes its session file up to a tenth of a second after it has asked its model. */
async function written({ context, lastResult }: Process): Promise<void> {
  if (lastResult === null) return;
  const file = transcriptFile(context.order.sessionId);
  if (await untilFileHolds(context, file, `"tool_use_id":${JSON.stringify(lastResult)}`)) return;
  context.log.warn({ sessionId: context.order.sessionId }, 'Claude Code has not written its last turn down');
}

function lastResultOf({ message }: OutputOf<'user'>): string | null {
  if (typeof message.content === 'string') return null;
  return message.content.findLast(isToolResult)?.tool_use_id ?? null;
}

function control(cli: CliProcess, request: JsonObject): void {
  cli.send({ type: 'control_request', request_id: String(request['subtype']), request });
}

async function take(process: Process, line: JsonObject): Promise<RuntimeEnd | null> {
  const parsed = outputSchema.safeParse(line);
  if (!parsed.success) return null;
  const output = parsed.data;
  const { turns } = process;
  switch (output.type) {
    case 'stream_event':
      process.count.onStream(output);
      await turns.onStream(output);
      return null;
    case 'assistant':
      await turns.onAssistant(output);
      return null;
    case 'user':
      process.lastResult = lastResultOf(output) ?? process.lastResult;
      await turns.onUser(output);
      return null;
    case 'control_request':
      void answerControl(process, output).catch(unanswered(process.context));
      return null;
    case 'system':
      checkTools(process, output.subtype === 'init' ? output.tools : undefined);
      return null;
    case 'result':
      process.count.onResult(output);
      return endOf(process, output);
  }
}

/** With our tools, its own must be off: it says so itself at its start, and a version that does not obey is stopped. */
function checkTools({ hosted }: Process, tools: readonly string[] | undefined): void {
  const own = hosted === null ? undefined : tools?.find((name) => !name.startsWith(`mcp__${hostedServer}__`));
  if (own === undefined) return;
  throw new CodedError(
    'runtime_failed',
    `Claude Code keeps its own tool ${own} although the project gives it ours alone. This version is not supported.`,
  );
}

async function answerControl(
  process: Process,
  { request, request_id }: OutputOf<'control_request'>,
): Promise<void> {
  const answer = (response: JsonObject) =>
    process.cli.send({ type: 'control_response', response: { subtype: 'success', request_id, response } });
  if (request.subtype !== 'can_use_tool') return answer({});
  const input = (request.input ?? {}) as JsonObject;
  const verdict = await judge(process, request.tool_name ?? '', request.tool_use_id ?? request_id, input);
  answer(
    verdict.allow
      ? { behavior: 'allow', updatedInput: input }
      : { behavior: 'deny', message: verdict.message },
  );
}

async function judge(process: Process, name: string, id: string, input: JsonObject): Promise<CallVerdict> {
  const { hosted, calls, turns } = process;
  if (hosted === null) return calls.decide(id, turns.turn(), name, mapOwnTool(name, input));
  // Ours take their permit when they are called.
  if (name.startsWith(`mcp__${hostedServer}__`)) return { allow: true };
  return { allow: false, message: `The tool ${name} is off in this session.` };
}

/** What its result means. */
function endOf({ port }: Process, result: OutputOf<'result'>): RuntimeEnd {
  const said = result.result ?? result.errors?.join(' ') ?? '';
  if (!result.is_error && result.subtype === 'success') return { reason: 'finished', message: said.trim() };
  return endOfGivingUp(port, `Claude Code gave up (${result.subtype}). ${said}`);
}
