import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import { asEndReason } from '../../tool-calls/run-tool-call.ts';
import { startCli } from '../cli/cli-process.ts';
import type { CliProcess } from '../cli/cli-process.ts';
import { createHostedTools } from '../cli/hosted-tools.ts';
import type { HostedTools } from '../cli/hosted-tools.ts';
import { newestFile, readMemory } from '../cli/inside-files.ts';
import { openModelPort } from '../cli/model-port.ts';
import type { ModelPort } from '../cli/model-port.ts';
import { createQuietWatch } from '../cli/quiet-watch.ts';
import { endOfRefusal } from '../cli/refused-exchange.ts';
import { createReportedCalls } from '../cli/reported-calls.ts';
import type { ReportedCalls } from '../cli/reported-calls.ts';
import { withRestarts } from '../cli/restart.ts';
import type { DiedEnd } from '../cli/restart.ts';
import type { Runtime, RuntimeContext, RuntimeEnd } from '../runtime.ts';
import { codexCommand, sessionsFolder, threadRequest } from './command-line.ts';
import { createCodexItems } from './items.ts';
import type { CodexItems } from './items.ts';
import { mapCommand } from './own-calls.ts';
import { messageSchema } from './protocol.ts';
import type { Message, Tokens } from './protocol.ts';

/** The real Codex, inside the sandbox. It drives the loop; its model is behind the gateway. */
export const codexRuntime: Runtime = {
  run: async (context) => {
    const hosted = context.order.cliTools === 'hosted' ? createHostedTools(context) : null;
    const port = await openModelPort(context, hosted?.handle);
    const calls = createReportedCalls(context);
    const items = createCodexItems(context, hosted === null ? calls : null);
    const memory = await readMemory(context, ['AGENTS.md', 'CLAUDE.md']);
    const shared = { context, port, calls, hosted, items, memory };
    const cancelAll = (why: string): void => {
      calls.cancelAll(why);
      hosted?.cancelAll(why);
    };
    try {
      const working = withRestarts(context, (count) => runProgram(shared, count, cancelAll));
      return await Promise.race([working, calls.ended, ...(hosted === null ? [] : [hosted.ended])]);
    } finally {
      items.flush();
      cancelAll(context.signal.aborted ? 'The session was interrupted.' : 'The session has ended.');
    }
  },
};

/** One process from its start to its end. */
async function runProgram(
  shared: Pick<Talk, 'context' | 'port' | 'calls' | 'hosted' | 'items' | 'memory'>,
  count: number,
  cancelAll: (why: string) => void,
): Promise<RuntimeEnd | DiedEnd> {
  const { context } = shared;
  const file = await newestFile(context, sessionsFolder, 'rollout-*.jsonl');
  const earlier = /-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/.exec(file ?? '')?.[1] ?? null;
  const cli = startCli(context, codexCommand(context.order));
  const first = earlier === null ? context.order.instruction : count === 0 ? goOn : startedAgain;
  const talk: Talk = { ...shared, cli, earlier, first, thread: null, used: null, messages: 0 };
  try {
    cli.send({
      id: 'begin',
      method: 'initialize',
      params: { clientInfo: { name: 'lemniscate', title: null, version: '1' }, capabilities: null },
    });
    return await converse(talk);
  } finally {
    cli.kill();
    cancelAll('The program that made it has ended.');
  }
}

const goOn =
  'You were interrupted and work in a fresh sandbox now; the working copy is as you left it. Go on with the task.';

const startedAgain =
  'You were interrupted in the middle of your work. Look at where you are and go on with the task.';

interface Talk {
  readonly context: RuntimeContext;
  readonly port: ModelPort;
  readonly calls: ReportedCalls;
  readonly hosted: HostedTools | null;
  readonly items: CodexItems;
  readonly cli: CliProcess;
  /** The thread of an earlier attempt. */
  readonly earlier: string | null;
  /** The repository's own instructions. */
  readonly memory: string;
  readonly first: string;
  thread: string | null;
  /** Its count when this attempt began, and its last; it counts for the whole thread. */
  used: { readonly before: Tokens; readonly now: Tokens } | null;
  messages: number;
}

function say(talk: Talk, text: string): void {
  talk.port.forgive();
  talk.items.nextTurn();
  talk.cli.send({
    id: 'turn',
    method: 'turn/start',
    params: { threadId: talk.thread, input: [{ type: 'text', text, text_elements: [] }] },
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
    const end = await take(talk, next.value);
    if (end === null) continue;
    talk.items.flush();
    reportUsage(talk);
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

/** One line of its output; the end of its work when it has answered or given up. */
async function take(talk: Talk, line: JsonObject): Promise<RuntimeEnd | null> {
  const parsed = messageSchema.safeParse(line);
  if (!parsed.success) return null;
  const message = parsed.data;
  if (!('method' in message)) return answered(talk, message);
  const { items } = talk;
  if ('id' in message) {
    void answerRequest(talk, message).catch((error: unknown) => {
      if (!talk.context.signal.aborted)
        talk.context.log.warn({ error: String(error) }, 'a request of Codex stays unanswered');
    });
    return null;
  }
  switch (message.method) {
    case 'item/started':
      items.onStarted(message.params.item);
      return null;
    case 'item/completed':
      await items.onCompleted(message.params.item);
      return null;
    case 'item/agentMessage/delta':
      await items.onText(message.params.itemId, message.params.delta);
      return null;
    case 'item/commandExecution/outputDelta':
      await items.onOutput(message.params.itemId, message.params.delta);
      return null;
    case 'thread/tokenUsage/updated':
      items.nextTurn();
      count(talk, message.params.tokenUsage);
      return null;
    case 'turn/completed':
      return endOfTurn(talk, message.params.turn);
  }
}

/** The answers to our own requests, which follow one another. */
function answered(
  talk: Talk,
  message: Extract<Message, { id: string } & ({ result: unknown } | { error: unknown })>,
): null {
  if ('error' in message)
    throw new CodedError('runtime_failed', `Codex refused to begin: ${message.error.message.slice(0, 500)}`);
  if (message.id === 'begin') {
    talk.cli.send({ method: 'initialized' });
    talk.cli.send(threadRequest(talk.context.order, talk.memory, talk.earlier));
  }
  if (message.id === 'thread') {
    talk.thread = message.result.thread?.id ?? null;
    say(talk, talk.first);
  }
  return null;
}

async function answerRequest(
  talk: Talk,
  request: Extract<Message, { method: string; id: unknown }>,
): Promise<void> {
  const { cli, calls, items, hosted } = talk;
  if (request.method === 'item/commandExecution/requestApproval' && hosted === null) {
    const { itemId, command } = request.params as { itemId: string; command?: string | null };
    const mapped = command == null ? null : mapCommand(command);
    const verdict = await calls.decide(itemId, items.turn(), 'run_command', mapped);
    return cli.send({ id: request.id, result: { decision: verdict.allow ? 'accept' : 'decline' } });
  }
  if (request.method === 'item/fileChange/requestApproval' && hosted === null) {
    const { itemId } = request.params as { itemId: string };
    const parts = items.changesOf(itemId);
    let allowed = parts.length > 0;
    for (const { id, mapped } of parts) {
      // Nothing of a patch is applied unless all of it may be.
      if (allowed) allowed = (await calls.decide(id, items.turn(), mapped.tool, mapped)).allow;
    }
    return cli.send({ id: request.id, result: { decision: allowed ? 'accept' : 'decline' } });
  }
  return cli.send({ id: request.id, error: { code: -32_601, message: 'Not available in this session.' } });
}

function count(talk: Talk, { total, last }: { readonly total: Tokens; readonly last: Tokens }): void {
  const before = talk.used?.before ?? {
    inputTokens: total.inputTokens - last.inputTokens,
    cachedInputTokens: total.cachedInputTokens - last.cachedInputTokens,
    cacheWriteInputTokens: total.cacheWriteInputTokens - last.cacheWriteInputTokens,
    outputTokens: total.outputTokens - last.outputTokens,
  };
  talk.used = { before, now: total };
}

/** Its own count, beside which the gateway's is shown. Its input holds what came from the cache. */
function reportUsage({ context, used }: Talk): void {
  if (used === null) return;
  const { before, now } = used;
  const cacheReadTokens = Math.max(0, now.cachedInputTokens - before.cachedInputTokens);
  const cacheWriteTokens = Math.max(0, now.cacheWriteInputTokens - before.cacheWriteInputTokens);
  context.sink.emit({
    type: 'reported_usage',
    inputTokens: Math.max(0, now.inputTokens - before.inputTokens - cacheReadTokens - cacheWriteTokens),
    outputTokens: Math.max(0, now.outputTokens - before.outputTokens),
    cacheReadTokens,
    cacheWriteTokens,
    costUsd: null,
  });
}

/** What the end of its turn means. What the gateway saw counts before what the program says. */
function endOfTurn(
  { items, port }: Talk,
  turn: { readonly status: string; readonly error?: { readonly message: string } | null | undefined },
): RuntimeEnd {
  if (turn.status === 'completed') return { reason: 'finished', message: items.lastWords() };
  const refusal = port.lastRefusal();
  if (refusal !== null) return endOfRefusal(refusal);
  return {
    reason: 'model_failed',
    message: `Codex gave up (${turn.status}). ${turn.error?.message ?? ''}`.trim(),
  };
}

/** It left without a last word: killed, crashed, or a version that ends otherwise. */
async function endWithoutResult({ cli, port }: Talk): Promise<RuntimeEnd | DiedEnd> {
  const { exitCode, signal, cause } = await cli.end;
  if (cause === 'sandbox_lost')
    throw new CodedError('sandbox_lost', 'The sandbox ended while Codex ran in it.');
  const refusal = port.lastRefusal();
  if (refusal !== null) return endOfRefusal(refusal);
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  return {
    reason: 'runtime_failed',
    message: `Codex ended without a result (${how}). ${cli.lastWords()}`.trim(),
    again: exitCode !== 127,
  };
}
