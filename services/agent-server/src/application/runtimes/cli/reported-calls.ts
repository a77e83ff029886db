import type { JsonObject } from '@lemniscate/shared/json.ts';
import type { ToolName } from '@lemniscate/shared/tools/catalogue.ts';
import { parseArguments } from '../../tool-calls/parse-arguments.ts';
import { brokenBound, takePermit } from '../../tool-calls/run-tool-call.ts';
import type { ToolCallOutcome } from '../../tool-calls/run-tool-call.ts';
import { createToolCall } from '../../tool-calls/tool-call.ts';
import type { ToolCall } from '../../tool-calls/tool-call.ts';
import { cut } from '../../text-stream.ts';
import { createCallIds } from '../native/call-ids.ts';
import type { RuntimeContext, RuntimeEnd } from '../runtime.ts';

/** What a program's own tool does, in the words of our catalogue. */
export interface MappedCall {
  readonly tool: ToolName;
  readonly input: JsonObject;
}

/** What a program is told about a call that it wants to make. */
export type CallVerdict = { readonly allow: true } | { readonly allow: false; readonly message: string };

/** How a call ended, by the program's word. */
export interface ReportedResult {
  readonly isError: boolean;
  readonly text: string;
  readonly exitCode?: number | null;
}

/**
 * The calls that a program in the sandbox makes by itself. It says beforehand what it wants to do and is told whether
 * it may; that it then does that and nothing else is its word, so every decision here is marked `reported`.
 */
export interface ReportedCalls {
  /** The model begins to ask for a tool. */
  begin(id: string, turn: number, tool: string): void;
  /** The request is whole: asks for a permit, once for each call. Null: no tool of ours does what it asks. */
  decide(id: string, turn: number, tool: string, mapped: MappedCall | null): Promise<CallVerdict>;
  /** The program says how it ended. False: it did it without asking. */
  finish(id: string, result: ReportedResult): Promise<boolean>;
  /** The id under which a call is recorded; its own where it has never been heard of. */
  callIdOf(id: string): string;
  /** Calls that are being decided or run. */
  open(): number;
  cancelAll(message: string): void;
  /** Resolves when a decision or a broken bound ends the session; rejects when no decision could be had. */
  readonly ended: Promise<RuntimeEnd>;
}

export function createReportedCalls(context: RuntimeContext): ReportedCalls {
  const { sink, clock, signal } = context;
  const callIds = createCallIds();
  /** By the program's own id. */
  const calls = new Map<string, ToolCall>();
  const verdicts = new Map<string, Promise<CallVerdict>>();
  const began = new Map<string, number>();
  const ended = Promise.withResolvers<RuntimeEnd>();
  ended.promise.catch(() => undefined);

  const callOf = (id: string, turn: number, tool: string): ToolCall => {
    const known = calls.get(id);
    if (known !== undefined) return known;
    const identity = { callId: callIds.claim(id), turn, tool: cut(tool, 128), reported: true } as const;
    const call = createToolCall((event) => void sink.emit(event), identity);
    calls.set(id, call);
    return call;
  };

  const decideOnce = async (call: ToolCall, mapped: MappedCall | null): Promise<CallVerdict> => {
    if (mapped === null) return refused(call, `The tool ${call.tool} is not available in this session.`);
    const parsed = parseArguments(mapped.tool, JSON.stringify(mapped.input));
    if (!parsed.ok) return refused(call, parsed.message);
    const request = { name: mapped.tool, input: parsed.input, reported: true };
    const outcome = await takePermit(context, call, request, signal);
    if (outcome === null) {
      began.set(call.callId, clock.monotonicMs());
      return { allow: true };
    }
    if (outcome.kind === 'end') ended.resolve(outcome);
    return { allow: false, message: outcome.kind === 'end' ? outcome.message : outcome.text };
  };

  return {
    begin: callOf,
    decide: (id, turn, tool, mapped) => {
      const known = verdicts.get(id);
      if (known !== undefined) return known;
      const call = callOf(id, turn, mapped?.tool ?? tool);
      const verdict = decideOnce(call, mapped).catch((error: unknown) => {
        call.cancel(signal.aborted ? 'The session was interrupted.' : 'The session could not go on.');
        ended.reject(error);
        throw error;
      });
      verdicts.set(id, verdict);
      return verdict;
    },
    finish: async (id, result) => {
      const call = calls.get(id);
      if (call === undefined) return false;
      if (call.state() === 'calling') {
        const durationMs = clock.monotonicMs() - (began.get(call.callId) ?? clock.monotonicMs());
        const { exitCode } = result;
        const facts = { durationMs, preview: result.text, ...(exitCode === undefined ? {} : { exitCode }) };
        call.become(
          result.isError ? 'errored' : 'done',
          result.isError ? { ...facts, message: result.text } : facts,
        );
        endBy(await brokenBound(context.sandbox));
        return true;
      }
      // A refusal comes back as a result too. What ended before, or asked and waits, is known.
      if (verdicts.has(id)) return true;
      // The program refused its own model's request before it asked us, so nothing ran.
      if (result.isError) {
        call.become('errored', { message: result.text });
        return true;
      }
      // On record as done without a permit, which the duration says.
      call.become('errored', { message: 'It was not asked for.', durationMs: 0, preview: result.text });
      return false;
    },
    callIdOf: (id) => calls.get(id)?.callId ?? id,
    open: () => [...calls.values()].filter((call) => inBetween.includes(call.state())).length,
    cancelAll: (message) => {
      for (const call of calls.values()) call.cancel(message);
    },
    ended: ended.promise,
  };

  function endBy(outcome: ToolCallOutcome | null): void {
    if (outcome?.kind === 'end') ended.resolve(outcome);
  }
}

const inBetween: readonly string[] = ['generated', 'calling'];

function refused(call: ToolCall, message: string): CallVerdict {
  call.become('errored', { message });
  return { allow: false, message };
}
