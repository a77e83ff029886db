import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import { startCli } from '../cli/cli-process.ts';
import type { CliProcess } from '../cli/cli-process.ts';
import { cliRuntime } from '../cli/cli-runtime.ts';
import { newestFile } from '../cli/inside-files.ts';
import type { ProgramDesk, RunningProgram, VendorProgram } from '../cli/program.ts';
import { endOfGivingUp } from '../cli/program-end.ts';
import { unanswered } from '../cli/unanswered.ts';
import type { RuntimeEnd } from '../runtime.ts';
import { codexCommand, sessionsFolder, threadRequest } from './command-line.ts';
import { createCodexItems } from './items.ts';
import type { CodexItems } from './items.ts';
import { mapCommand } from './own-calls.ts';
import { messageSchema } from './protocol.ts';
import type { Message, Tokens } from './protocol.ts';

const codex: VendorProgram = {
  runtime: 'codex',
  title: 'Codex',
  memoryFiles: ['AGENTS.md', 'CLAUDE.md'],
  start: async (desk) => {
    const { context, hosted, calls, talk } = desk;
    const file = await newestFile(context, sessionsFolder, 'rollout-*.jsonl');
    const earlier = /-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/.exec(file ?? '')?.[1] ?? null;
    const cli = startCli(context, codexCommand(context.order));
    const items = createCodexItems(context, talk, hosted === null ? calls : null);
    const process: Process = {
      ...desk,
      cli,
      earlier,
      items,
      unsaid: null,
      thread: null,
      turn: null,
      counted: null,
    };
    cli.send({
      id: 'begin',
      method: 'initialize',
      params: { clientInfo: { name: 'lemniscate', title: null, version: '1' }, capabilities: null },
    });
    return { cli, resumed: earlier !== null, ...speaking(process) };
  },
};

/** The real Codex, inside the sandbox. It drives the loop; its model is behind the gateway. */
export const codexRuntime = cliRuntime(codex);

interface Process extends ProgramDesk {
  readonly cli: CliProcess;
  readonly items: CodexItems;
  /** The thread of an earlier process. */
  readonly earlier: string | null;
  /** What it is to be told when its thread is there. */
  unsaid: string | null;
  thread: string | null;
  /** The turn that it is at. */
  turn: string | null;
  /** Its count when this process began, for it counts for the whole thread. */
  counted: Tokens | null;
}

function speaking(process: Process): Omit<RunningProgram, 'cli' | 'resumed'> {
  const { items } = process;
  return {
    say: (text) => {
      process.unsaid = text;
      startTurn(process);
    },
    interrupt: () => {
      process.cli.send({
        id: 'interrupt',
        method: 'turn/interrupt',
        params: { threadId: process.thread, turnId: process.turn },
      });
    },
    take: (line) => take(process, line),
    flush: items.flush,
  };
}

function startTurn(process: Process): void {
  const { unsaid: text, thread } = process;
  if (text === null || thread === null) return;
  process.unsaid = null;
  process.items.nextTurn();
  process.cli.send({
    id: 'turn',
    method: 'turn/start',
    params: { threadId: thread, input: [{ type: 'text', text, text_elements: [] }] },
  });
}

async function take(process: Process, line: JsonObject): Promise<RuntimeEnd | null> {
  const parsed = messageSchema.safeParse(line);
  if (!parsed.success) return null;
  const message = parsed.data;
  if (!('method' in message)) return answered(process, message);
  const { items } = process;
  if ('id' in message) {
    void answerRequest(process, message).catch(unanswered(process.context));
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
      // A thread that goes on begins by telling what its earlier turns have used.
      if (process.earlier !== null && message.params.turnId !== process.turn)
        process.counted ??= message.params.tokenUsage.total;
      else {
        items.nextTurn();
        reportUsage(process, message.params.tokenUsage);
      }
      return null;
    case 'turn/completed':
      return endOfTurn(process, message.params.turn);
  }
}

/** The answers to our own requests, which follow one another. */
function answered(
  process: Process,
  message: Extract<Message, { id: string } & ({ result: unknown } | { error: unknown })>,
): null {
  // A turn that has ended meanwhile cannot be interrupted any more.
  if (message.id === 'interrupt') return null;
  if ('error' in message)
    throw new CodedError('runtime_failed', `Codex refused to begin: ${message.error.message.slice(0, 500)}`);
  if (message.id === 'begin') {
    process.cli.send({ method: 'initialized' });
    process.cli.send(threadRequest(process.context.order, process.memory, process.earlier));
  }
  if (message.id === 'thread') {
    process.thread = message.result.thread?.id ?? null;
    startTurn(process);
  }
  if (message.id === 'turn') process.turn = message.result.turn?.id ?? null;
  return null;
}

async function answerRequest(
  process: Process,
  request: Extract<Message, { method: string; id: unknown }>,
): Promise<void> {
  const { cli, calls, items, hosted } = process;
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

/** Its own count, beside which the gateway's is shown. Its input holds what came from the cache. */
function reportUsage(
  process: Process,
  { total, last }: { readonly total: Tokens; readonly last: Tokens },
): void {
  process.counted ??= {
    inputTokens: total.inputTokens - last.inputTokens,
    cachedInputTokens: total.cachedInputTokens - last.cachedInputTokens,
    cacheWriteInputTokens: total.cacheWriteInputTokens - last.cacheWriteInputTokens,
    outputTokens: total.outputTokens - last.outputTokens,
  };
  const before = process.counted;
  const cacheReadTokens = Math.max(0, total.cachedInputTokens - before.cachedInputTokens);
  const cacheWriteTokens = Math.max(0, total.cacheWriteInputTokens - before.cacheWriteInputTokens);
  process.usage.report({
    inputTokens: Math.max(0, total.inputTokens - before.inputTokens - cacheReadTokens - cacheWriteTokens),
    outputTokens: Math.max(0, total.outputTokens - before.outputTokens),
    cacheReadTokens,
    cacheWriteTokens,
    costUsd: null,
  });
}

/** What the end of its turn means. */
function endOfTurn(
  { items, port }: Process,
  turn: { readonly status: string; readonly error?: { readonly message: string } | null | undefined },
): RuntimeEnd {
  if (turn.status === 'completed') return { reason: 'finished', message: items.lastWords() };
  return endOfGivingUp(port, `Codex gave up (${turn.status}). ${turn.error?.message ?? ''}`);
}
