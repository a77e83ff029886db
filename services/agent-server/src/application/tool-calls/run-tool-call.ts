import { isSandboxTool, isToolName, toolNames } from '@lemniscate/shared/tools/catalogue.ts';
import type { SandboxToolName, ToolArguments, ToolName } from '@lemniscate/shared/tools/catalogue.ts';
import { modelToolName } from '@lemniscate/shared/tools/remote-tool.ts';
import type { RemoteToolDefinition } from '@lemniscate/shared/tools/remote-tool.ts';
import { maxShownChange } from '@lemniscate/shared/protocol/session-event.ts';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import { endReasons } from '@lemniscate/shared/session/end.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { isPause } from '../checkpoints/pause-wish.ts';
import type { EventSink } from '../event-sink.ts';
import type { Lease } from '../lease.ts';
import type { Sandbox } from '../ports/sandbox-driver.ts';
import { createTextStream, cut } from '../text-stream.ts';
import { tools } from '../tools/registry.ts';
import type { Tool, ToolContext, ToolResult } from '../tools/tool.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { parseArguments, readArguments } from './parse-arguments.ts';
import type { PermitDecision, PermitDesk } from './permit-desk.ts';
import type { ToolCall } from './tool-call.ts';

/** Either the loop goes on and the model is told, or the session has to end. */
export type ToolCallOutcome =
  | { readonly kind: 'resume'; readonly isError: boolean; readonly text: string }
  | { readonly kind: 'end'; readonly reason: EndReason; readonly message: string };

export interface ToolCallDeps {
  readonly sink: EventSink;
  readonly permits: PermitDesk;
  readonly lease: Lease;
  readonly sandbox: Sandbox;
  readonly clock: Clock;
  readonly commandMaxSeconds: number;
  readonly commandMaxOutputBytes: number;
  /** Tools of the agent's MCP servers, which are carried out elsewhere. */
  readonly remoteTools?: readonly RemoteToolDefinition[];
  /** Aborted, beside the call's own signal, when a session that waits for a decision is to be put away. */
  readonly waiting?: AbortSignal;
}

/**
 * Takes one whole request from `generating` to its end: strict parse, permit, execution. Both a result and an error
 * let the loop go on. After a stop the call is `canceled` and the signal's reason is thrown.
 */
export async function runToolCall(
  deps: ToolCallDeps,
  call: ToolCall,
  argumentsText: string,
  signal: AbortSignal,
): Promise<ToolCallOutcome> {
  try {
    signal.throwIfAborted();
    const remote = deps.remoteTools ?? [];
    if (remote.some(({ name }) => name === call.tool))
      return await callRemote(deps, call, argumentsText, signal);
    if (!isToolName(call.tool)) {
      const names = [...toolNames, ...remote.map(({ name }) => modelToolName(name))];
      return errored(
        call,
        `There is no tool ${JSON.stringify(cut(call.tool, 100))}. The tools are ${names.join(', ')}.`,
      );
    }
    const parsed = parseArguments(call.tool, argumentsText);
    if (!parsed.ok) return errored(call, parsed.message);
    return await decideAndRun(deps, call, call.tool, parsed.input, signal);
  } catch (error) {
    if (isPause(error)) return whenPaused(call, error);
    call.cancel(signal.aborted ? 'The session was interrupted.' : 'The session could not go on.');
    throw error;
  }
}

const stoppedByPause =
  'This was stopped because the session was paused; it may have done part of its work. Look, and do it again if needed.';

/** A call that runs is stopped and the model is told; one that waits goes on waiting, wherever the session then is. */
function whenPaused(call: ToolCall, pause: unknown): ToolCallOutcome {
  if (call.state() !== 'calling') throw pause;
  call.cancel(stoppedByPause);
  return { kind: 'resume', isError: true, text: stoppedByPause };
}

async function decideAndRun(
  deps: ToolCallDeps,
  call: ToolCall,
  name: ToolName,
  input: JsonObject,
  signal: AbortSignal,
): Promise<ToolCallOutcome> {
  const permitted = await takePermit(deps, call, { name, input, reported: false }, signal);
  if (permitted !== null) return permitted;
  if (!isSandboxTool(name)) return carriedOut(call, notCarriedOut(name));
  // The registry's key and the schema's name are the same, which the compiler cannot see through the union.
  const tool = tools[name] as Tool<SandboxToolName>;
  const typed = input as ToolArguments<SandboxToolName>;
  return finished(deps, call, signal, (context) => tool.run(typed, context));
}

/** The gateway's side carries it out with its permit; nothing of it happens here. */
async function callRemote(
  deps: ToolCallDeps,
  call: ToolCall,
  argumentsText: string,
  signal: AbortSignal,
): Promise<ToolCallOutcome> {
  const read = readArguments(argumentsText);
  if (!read.ok) return errored(call, read.message);
  const permitted = await takePermit(
    deps,
    call,
    { name: call.tool, input: read.input, reported: false },
    signal,
  );
  return permitted ?? carriedOut(call, notCarriedOut(call.tool));
}

/** What a permit is asked for. */
export interface PermittedCall {
  /** Of a built-in tool, or `server/tool`. */
  readonly name: string;
  readonly input: JsonObject;
  /** A program in the sandbox says that it will do this, and does it itself: its word is all that there is. */
  readonly reported: boolean;
}

/**
 * Takes a call whose arguments are whole from `generating` through its decision to `calling`. Null: it may run now.
 */
export async function takePermit(
  deps: Pick<ToolCallDeps, 'sink' | 'permits' | 'lease' | 'waiting'>,
  call: ToolCall,
  { name, input, reported }: PermittedCall,
  signal: AbortSignal,
): Promise<ToolCallOutcome | null> {
  // Already there when it waited through a pause.
  if (call.state() === 'generating')
    call.become('generated', { title: makeVisibleLine(titleOf(name, input)), ...shownChange(name, input) });
  const proposal = {
    callId: call.callId,
    turn: call.turn,
    tool: name,
    arguments: input,
    argumentsDigest: argumentsDigest(input),
    ...(reported ? { reported } : {}),
  };
  let waited = false;
  const decision = await deps.permits.ask(proposal, deps.waiting ?? signal, () => {
    waited = true;
    deps.sink.emit({ type: 'phase', phase: 'waiting' });
  });
  if (waited) deps.sink.emit({ type: 'phase', phase: 'working' });
  if (decision.verdict !== 'go') return withoutPermit(call, decision);
  await deps.lease.hold(signal);
  call.become('calling', { decidedBy: decision.decidedBy });
  return decision.result === undefined ? null : carriedOut(call, decision.result);
}

/** What an edit puts instead of what, for whoever watches; long ones are seen in the diff. */
function shownChange(name: string, input: JsonObject) {
  const { path, old_text: oldText, new_text: newText, content } = input;
  const after = name === 'edit_file' ? newText : content;
  if (!['edit_file', 'write_file'].includes(name) || typeof path !== 'string' || typeof after !== 'string')
    return {};
  const before = name === 'edit_file' && typeof oldText === 'string' ? { oldText } : {};
  const texts = [path, after, ...Object.values(before)];
  if (texts.some((text) => text.length > maxShownChange)) return {};
  return Object.fromEntries(
    Object.entries({ path, ...before, newText: after }).map(([member, text]) => [
      member,
      text.toWellFormed(),
    ]),
  );
}

function titleOf(name: string, input: JsonObject): string {
  if (!isToolName(name)) return `${name} ${cut(JSON.stringify(input), 500)}`;
  if (isSandboxTool(name)) return (tools[name] as Tool<SandboxToolName>).title(input);
  const about = input['task'] ?? input['text'] ?? input['status'] ?? input['object'];
  return typeof about === 'string' ? `${name}: ${cut(about, 500)}` : name;
}

/** A dispatcher that does not know the tool permits it like any other; nothing here can run it. */
const notCarriedOut = (name: string) => ({
  isError: true,
  text:
    name === 'delegate'
      ? 'No sub-agent was started. Do this part yourself.'
      : `${name} was not carried out. Go on without it.`,
});

/** The dispatcher has carried the call out and says what the model is told. */
function carriedOut(
  call: ToolCall,
  { isError, text }: { readonly isError: boolean; readonly text: string },
): ToolCallOutcome {
  const facts = { preview: cut(text, 4000) };
  call.become(isError ? 'errored' : 'done', isError ? { ...facts, message: cut(text, 4000) } : facts);
  return { kind: 'resume', isError, text };
}

async function finished(
  deps: ToolCallDeps,
  call: ToolCall,
  signal: AbortSignal,
  run: (context: ToolContext) => Promise<ToolResult>,
): Promise<ToolCallOutcome> {
  const began = deps.clock.monotonicMs();
  const output = createOutput(deps.sink, call.callId, signal);
  const result = await run({
    sandbox: deps.sandbox,
    signal,
    commandMaxSeconds: deps.commandMaxSeconds,
    commandMaxOutputBytes: deps.commandMaxOutputBytes,
    output: output.write,
  }).finally(output.flush);
  const { isError, text, ...claims } = result;
  const facts = { ...claims, durationMs: deps.clock.monotonicMs() - began, preview: text };
  call.become(isError ? 'errored' : 'done', isError ? { ...facts, message: text } : facts);
  return (await brokenBound(deps.sandbox)) ?? { kind: 'resume', isError, text };
}

/** A sandbox can survive a bound that one of its commands broke; the session still ends there, cleanly and on record. */
export async function brokenBound(sandbox: Sandbox): Promise<ToolCallOutcome | null> {
  const counters = await sandbox.counters();
  if (counters === null) return null;
  const { memoryKills, processRefusals } = counters;
  if ((memoryKills ?? 0) > 0) {
    return {
      kind: 'end',
      reason: 'sandbox_memory',
      message: 'A command used more memory than the sandbox may.',
    };
  }
  if ((processRefusals ?? 0) > 0) {
    return {
      kind: 'end',
      reason: 'sandbox_processes',
      message: 'A command started more processes than the sandbox may.',
    };
  }
  return null;
}

/**
 * The live output of both streams. While nothing is in flight their pieces keep their order; under load what each has
 * gathered leaves together, or else a program that writes one byte here and one there would make an event of each.
 */
function createOutput(sink: EventSink, callId: string, signal: AbortSignal) {
  const streamOf = (stream: 'stdout' | 'stderr') =>
    createTextStream(sink, (text) => sink.emit({ type: 'output', callId, stream, text }));
  const streams = { stdout: streamOf('stdout'), stderr: streamOf('stderr') };
  const flush = () => {
    streams.stdout.flush();
    streams.stderr.flush();
  };
  return {
    write: async (stream: 'stdout' | 'stderr', text: string): Promise<void> => {
      if (sink.idle()) {
        streams.stdout.send();
        streams.stderr.send();
      }
      await streams[stream].write(text, signal);
    },
    flush,
  };
}

function withoutPermit(
  call: ToolCall,
  decision: Exclude<PermitDecision, { verdict: 'go' }>,
): ToolCallOutcome {
  const { message } = decision;
  switch (decision.verdict) {
    case 'forbidden':
      call.become(decision.state, { decidedBy: decision.decidedBy, message });
      return { kind: 'resume', isError: true, text: message };
    case 'rejected':
      call.become('canceled', { decidedBy: decision.decidedBy, message });
      if (decision.endsLoop) return { kind: 'end', reason: decision.reason, message };
      return { kind: 'resume', isError: true, text: message };
    case 'stop':
      call.become('canceled', { message });
      return { kind: 'end', reason: asEndReason(decision.reason), message };
  }
}

/** An end reason that the dispatcher named; one that this version does not know ends the session as our fault. */
export function asEndReason(text: string): EndReason {
  return endReasons.find((reason) => reason === text) ?? 'runtime_failed';
}

function errored(call: ToolCall, message: string): ToolCallOutcome {
  call.become('errored', { message });
  return { kind: 'resume', isError: true, text: message };
}
