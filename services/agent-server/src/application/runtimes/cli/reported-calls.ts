import type { JsonObject } from '@lemniscate/shared/json.ts';
import type { ToolName } from '@lemniscate/shared/tools/catalogue.ts';
import { parseArguments } from '../../tool-calls/parse-arguments.ts';
import { brokenBound, takePermit } from '../../tool-calls/run-tool-call.ts';
import type { ToolCallOutcome } from '../../tool-calls/run-tool-call.ts';
import { createToolCall } from '../../tool-calls/tool-call.ts';
import type { ToolCall } from '../../tool-calls/tool-call.ts';
import { cut as shorten } from '../../text-stream.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { isPause } from '../../checkpoints/pause-wish.ts';
import { intermediateToolCallStates } from '@lemniscate/shared/tool-call/state.ts';
import type { RuntimeContext, RuntimeEnd } from '../runtime.ts';
import { stopsOnlyLoop } from '../stays.ts';
import { isInterrupt } from '../turn-interrupt.ts';
import { aboutCall } from './about-call.ts';
import type { CutShort } from './cut-short.ts';
import type { CliTalk } from './talk.ts';

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
  /** Calls that run. */
  calling(): number;
  cancelAll(message: string): void;
  /** The program is put away: what waits for a decision goes on waiting, everything else is canceled. */
  park(stopped: string, askedAgain: string): void;
  /** From now on every request is refused. */
  bar(message: string): void;
  /** Resolves when a decision or a broken bound ends the session; rejects when no decision could be had. */
  readonly ended: Promise<RuntimeEnd>;
}

/** @param talk knows the calls that waited when the program was put away */
export function createReportedCalls(context: RuntimeContext, talk: CliTalk, cut: CutShort): ReportedCalls {
  const { sink, clock, signal } = context;
  /** By the program's own id. */
  const calls = new Map<string, ToolCall>();
  const verdicts = new Map<string, Promise<CallVerdict>>();
  const began = new Map<string, number>();
  /** What those that are being decided or run want. */
  const wanted = new Map<string, { readonly digest: string; readonly about: string }>();
  /** Requests of which nothing is told yet, since each may be one that waited. */
  const heldBack = new Map<string, { readonly turn: number; readonly tool: string }>();
  const ended = Promise.withResolvers<RuntimeEnd>();
  ended.promise.catch(() => undefined);
  let barred: string | null = null;

  const callOf = (id: string, turn: number, tool: string): ToolCall => {
    const known = calls.get(id);
    if (known !== undefined) return known;
    heldBack.delete(id);
    const callId = talk.callIds.claim(id);
    const identity = { callId, turn, tool: shorten(tool, 128), reported: true } as const;
    const call = createToolCall((event) => void sink.emit(event), identity);
    calls.set(id, call);
    return call;
  };

  const decideOnce = async (
    id: string,
    turn: number,
    tool: string,
    mapped: MappedCall | null,
  ): Promise<CallVerdict> => {
    if (barred !== null) return refused(callOf(id, turn, tool), barred);
    if (mapped === null)
      return refused(callOf(id, turn, tool), `The tool ${tool} is not available in this session.`);
    const parsed = parseArguments(mapped.tool, JSON.stringify(mapped.input));
    if (!parsed.ok) return refused(callOf(id, turn, mapped.tool), parsed.message);
    const digest = argumentsDigest(parsed.input);
    const waited = calls.has(id) ? null : talk.waiting.take(mapped.tool, digest);
    if (waited !== null) calls.set(id, waited);
    const call = callOf(id, turn, mapped.tool);
    wanted.set(id, { digest, about: aboutCall(mapped.tool, parsed.input) });
    const request = { name: mapped.tool, input: parsed.input, reported: true };
    const outcome = await takePermit(context, call, request, cut.signal()).catch((error: unknown) => {
      // It goes on waiting, wherever the session then is.
      if (isPause(error)) throw error;
      call.cancel(signal.aborted ? 'The session was interrupted.' : whyCanceled(error));
      throw error;
    });
    if (outcome === null) {
      began.set(call.callId, clock.monotonicMs());
      return { allow: true };
    }
    endBy(outcome);
    return { allow: false, message: outcome.kind === 'end' ? outcome.message : outcome.text };
  };

  return {
    begin: (id, turn, tool) => {
      if (!calls.has(id) && talk.waiting.mayBe(tool)) heldBack.set(id, { turn, tool });
      else callOf(id, turn, tool);
    },
    decide: (id, turn, tool, mapped) => {
      const known = verdicts.get(id);
      if (known !== undefined) return known;
      const verdict = decideOnce(id, turn, tool, mapped).catch((error: unknown) => {
        if (!isPause(error) && !isInterrupt(error)) ended.reject(error);
        throw error;
      });
      verdicts.set(id, verdict);
      return verdict;
    },
    finish: async (id, result) => {
      const held = heldBack.get(id);
      const call = held === undefined ? calls.get(id) : callOf(id, held.turn, held.tool);
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
      if (verdicts.has(id) || !intermediateToolCallStates.includes(call.state())) return true;
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
    calling: () => [...calls.values()].filter((call) => call.state() === 'calling').length,
    cancelAll: (message) => {
      for (const call of calls.values()) call.cancel(message);
    },
    park: (stopped, askedAgain) => {
      for (const [id, call] of calls) {
        const what = wanted.get(id);
        if (what !== undefined && call.state() === 'generated') {
          talk.waiting.keep({ call, argumentsDigest: what.digest, about: what.about });
          continue;
        }
        if (what !== undefined && call.state() === 'calling') talk.stopped.push(what.about);
        call.cancel(call.state() === 'calling' ? stopped : askedAgain);
      }
      for (const known of [calls, verdicts, wanted, heldBack]) known.clear();
    },
    bar: (message) => {
      barred = message;
    },
    ended: ended.promise,
  };

  function endBy(outcome: ToolCallOutcome | null): void {
    if (outcome?.kind !== 'end') return;
    if (stopsOnlyLoop(context.order, talk, outcome)) context.interrupt.ask();
    else ended.resolve(outcome);
  }
}

const inBetween: readonly string[] = ['generated', 'calling'];

const whyCanceled = (error: unknown): string =>
  isInterrupt(error) ? 'A person interrupted the turn.' : 'The session could not go on.';

function refused(call: ToolCall, message: string): CallVerdict {
  call.become('errored', { message });
  return { allow: false, message };
}
