import type { JsonObject } from '@lemniscate/shared/json.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { asEndReason } from '../../tool-calls/run-tool-call.ts';
import { startCli } from '../cli/cli-process.ts';
import type { CliProcess } from '../cli/cli-process.ts';
import { createHostedTools } from '../cli/hosted-tools.ts';
import type { HostedTools } from '../cli/hosted-tools.ts';
import { openModelPort } from '../cli/model-port.ts';
import type { ModelPort } from '../cli/model-port.ts';
import { endOfRefusal } from '../cli/refused-exchange.ts';
import { createReportedCalls } from '../cli/reported-calls.ts';
import type { CallVerdict, ReportedCalls } from '../cli/reported-calls.ts';
import { createQuietWatch } from '../cli/quiet-watch.ts';
import { readMemory, fileExists } from '../cli/inside-files.ts';
import { withRestarts } from '../cli/restart.ts';
import type { DiedEnd } from '../cli/restart.ts';
import type { Runtime, RuntimeContext, RuntimeEnd } from '../runtime.ts';
import { claudeCommand, hostedServer, transcriptFile } from './command-line.ts';
import { outputSchema } from './output.ts';
import type { OutputOf } from './output.ts';
import { mapOwnTool } from './own-tools.ts';
import { createClaudeTurns } from './turns.ts';
import type { ClaudeTurns } from './turns.ts';

/** The real Claude Code, inside the sandbox. It drives the loop; its model is behind the gateway. */
export const claudeCodeRuntime: Runtime = {
  run: async (context) => {
    const hosted = context.order.cliTools === 'hosted' ? createHostedTools(context) : null;
    const port = await openModelPort(context, hosted?.handle);
    const calls = createReportedCalls(context);
    const turns = createClaudeTurns(context, hosted === null ? calls : null);
    const memory = await readMemory(context, ['CLAUDE.md', 'AGENTS.md']);
    const shared = { context, port, calls, hosted, turns };
    const cancelAll = (why: string): void => {
      calls.cancelAll(why);
      hosted?.cancelAll(why);
    };
    try {
      const working = withRestarts(context, (count) => runProgram({ ...shared, memory, count }, cancelAll));
      return await Promise.race([working, calls.ended, ...(hosted === null ? [] : [hosted.ended])]);
    } finally {
      turns.flush();
      cancelAll(context.signal.aborted ? 'The session was interrupted.' : 'The session has ended.');
    }
  },
};

type Start = Omit<Talk, 'cli' | 'messages'> & { readonly memory: string; readonly count: number };

/** One process from its start to its end. */
async function runProgram(
  { memory, count, ...shared }: Start,
  cancelAll: (why: string) => void,
): Promise<RuntimeEnd | DiedEnd> {
  const { context } = shared;
  const resume = await fileExists(context, transcriptFile(context.order.sessionId));
  const cli = startCli(context, claudeCommand(context.order, resume, memory));
  const talk: Talk = { ...shared, cli, messages: 0 };
  try {
    cli.send({ type: 'control_request', request_id: 'begin', request: { subtype: 'initialize' } });
    say(talk, resume ? (count === 0 ? goOn : startedAgain) : context.order.instruction);
    return await converse(talk);
  } finally {
    cli.kill();
    cancelAll('The program that made it has ended.');
  }
}

interface Talk {
  readonly context: RuntimeContext;
  readonly port: ModelPort;
  readonly calls: ReportedCalls;
  readonly hosted: HostedTools | null;
  readonly turns: ClaudeTurns;
  readonly cli: CliProcess;
  /** Messages of the person after the instruction. */
  messages: number;
}

const goOn =
  'You were interrupted and work in a fresh sandbox now; the working copy is as you left it. Go on with the task.';

const startedAgain =
  'You were interrupted in the middle of your work. Look at where you are and go on with the task.';

function say({ cli, port }: Talk, text: string): void {
  port.forgive();
  cli.send({
    type: 'user',
    message: { role: 'user', content: [{ type: 'text', text }] },
    parent_tool_use_id: null,
  });
}

/** Listens until it has answered, and again for every further message where the session stays for some. */
async function converse(talk: Talk): Promise<RuntimeEnd | DiedEnd> {
  const { context, cli } = talk;
  const watch = createQuietWatch(
    context,
    () => talk.port.open() + talk.calls.open() + (talk.hosted?.open() ?? 0),
  );
  for (;;) {
    const next = await watch.next(cli.messages.next());
    if (next.done === true) return await endWithoutResult(talk);
    const result = await take(talk, next.value);
    if (result === null) continue;
    talk.turns.flush();
    reportUsage(talk, result);
    const end = endOf(talk, result);
    if (end.reason !== 'finished' || context.order.followUps !== true) {
      await cli.leave();
      return end;
    }
    context.sink.emit({ type: 'phase', phase: 'waiting' });
    const message = await context.messages.next(talk.messages, context.signal);
    if (message.kind === 'end') {
      const reason = asEndReason(message.reason);
      return reason === 'finished' ? end : { reason, message: '' };
    }
    context.sink.emit({ type: 'phase', phase: 'working' });
    talk.messages = message.number;
    say(talk, message.text);
  }
}

/** One line of its output; the result when it has answered. */
async function take(talk: Talk, line: JsonObject): Promise<OutputOf<'result'> | null> {
  const parsed = outputSchema.safeParse(line);
  if (!parsed.success) return null;
  const output = parsed.data;
  const { turns } = talk;
  switch (output.type) {
    case 'stream_event':
      await turns.onStream(output);
      return null;
    case 'assistant':
      await turns.onAssistant(output);
      return null;
    case 'user':
      await turns.onUser(output);
      return null;
    case 'control_request':
      void answerControl(talk, output).catch((error: unknown) => {
        if (!talk.context.signal.aborted)
          talk.context.log.warn({ error: String(error) }, 'a request of Claude Code stays unanswered');
      });
      return null;
    case 'system':
      checkTools(talk, output.subtype === 'init' ? output.tools : undefined);
      return null;
    case 'result':
      return output;
  }
}

/** With our tools, its own must be off: it says so itself at its start, and a version that does not obey is stopped. */
function checkTools({ hosted }: Talk, tools: readonly string[] | undefined): void {
  const own = hosted === null ? undefined : tools?.find((name) => !name.startsWith(`mcp__${hostedServer}__`));
  if (own === undefined) return;
  throw new CodedError(
    'runtime_failed',
    `Claude Code keeps its own tool ${own} although the project gives it ours alone. This version is not supported.`,
  );
}

async function answerControl(
  talk: Talk,
  { request, request_id }: OutputOf<'control_request'>,
): Promise<void> {
  const answer = (response: JsonObject) =>
    talk.cli.send({ type: 'control_response', response: { subtype: 'success', request_id, response } });
  if (request.subtype !== 'can_use_tool') return answer({});
  const input = (request.input ?? {}) as JsonObject;
  const verdict = await judge(talk, request.tool_name ?? '', request.tool_use_id ?? request_id, input);
  answer(
    verdict.allow
      ? { behavior: 'allow', updatedInput: input }
      : { behavior: 'deny', message: verdict.message },
  );
}

async function judge(talk: Talk, name: string, id: string, input: JsonObject): Promise<CallVerdict> {
  if (talk.hosted === null) return talk.calls.decide(id, talk.turns.turn(), name, mapOwnTool(name, input));
  // Ours take their permit when they are called.
  if (name.startsWith(`mcp__${hostedServer}__`)) return { allow: true };
  return { allow: false, message: `The tool ${name} is off in this session.` };
}

/** Its own count, beside which the gateway's is shown. */
function reportUsage({ context }: Talk, { modelUsage, total_cost_usd: cost }: OutputOf<'result'>): void {
  const models = Object.values(modelUsage ?? {});
  const sum = (count: (model: (typeof models)[number]) => number): number =>
    models.reduce((total, model) => total + count(model), 0);
  context.sink.emit({
    type: 'reported_usage',
    inputTokens: sum((model) => model.inputTokens),
    outputTokens: sum((model) => model.outputTokens),
    cacheReadTokens: sum((model) => model.cacheReadInputTokens),
    cacheWriteTokens: sum((model) => model.cacheCreationInputTokens),
    costUsd: cost === undefined ? null : cost.toFixed(12),
  });
}

/** What its result means. What the gateway saw counts before what the program says. */
function endOf({ port }: Talk, result: OutputOf<'result'>): RuntimeEnd {
  const said = result.result ?? result.errors?.join(' ') ?? '';
  if (!result.is_error && result.subtype === 'success') return { reason: 'finished', message: said.trim() };
  const refusal = port.lastRefusal();
  if (refusal !== null) return endOfRefusal(refusal);
  return { reason: 'model_failed', message: `Claude Code gave up (${result.subtype}). ${said}`.trim() };
}

/** It left without a last word: killed, crashed, or a version that ends otherwise. */
async function endWithoutResult({ cli, port }: Talk): Promise<RuntimeEnd | DiedEnd> {
  const { exitCode, signal, cause } = await cli.end;
  if (cause === 'sandbox_lost')
    throw new CodedError('sandbox_lost', 'The sandbox ended while Claude Code ran in it.');
  const refusal = port.lastRefusal();
  if (refusal !== null) return endOfRefusal(refusal);
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  const missing =
    exitCode === 127
      ? ' Its program is missing on this agent server: run npm ci, or build the image anew.'
      : '';
  return {
    reason: 'runtime_failed',
    message: `Claude Code ended without a result (${how}).${missing} ${cli.lastWords()}`.trim(),
    again: exitCode !== 127,
  };
}
