import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { createTextStream, cut } from '../../text-stream.ts';
import { askModel } from './model-exchange.ts';
import { createRequest } from './request.ts';
import type { TranscriptMessage } from './request.ts';
import type { StepContext } from './step-context.ts';

/** Of a dense text a token has fewer characters, of prose more; what the provider counts is known only afterwards. */
const charactersPerToken = 4;
/** This share of what may be sent stays word for word. */
const keptShare = 1 / 8;
/** The record of what was done is cut to this, oldest first. Lines, share of what may be sent, and characters at least. */
const maxRecord = 400;
const recordShare = 1 / 8;
const leastRecord = 2_000;
const summaryTokens = 4_096;
const summaryMs = 120_000;

const question =
  'The conversation has become too long and is now cut short. Write down for yourself what you need to go on: what you have found out, what you have changed and why, what failed, what was refused and by whom, and what is left to do. Name files and commands exactly. Do not repeat the task; it stays.';

/** Whether a request is too long to be sent as it is. */
export function isTooLong(
  request: string,
  { compactAtTokens }: Pick<SessionOrder, 'compactAtTokens'>,
): boolean {
  return compactAtTokens !== undefined && request.length > compactAtTokens * charactersPerToken;
}

/** Whether the provider found a request too long: its own count decides where ours was too low. */
export function wasTooLong(error: unknown): boolean {
  return (
    isCodedError(error, 'request_refused_by_gateway') &&
    /prompt is too long|context (length|window)|maximum context|too many tokens/i.test(error.message)
  );
}

/** What is dropped of a conversation and what stays. */
export interface CompactionPlan {
  /** All that was said before the model's first word, the repository's advice among it: it always stays. */
  readonly task: readonly TranscriptMessage[];
  readonly dropped: readonly TranscriptMessage[];
  readonly kept: readonly TranscriptMessage[];
}

/**
 * Where to cut: the end that stays begins with a message of the model, so that every request for a tool stays beside its
 * answer, on whichever side of the cut.
 * @returns null where nothing could be dropped
 */
export function planCompaction(
  transcript: readonly TranscriptMessage[],
  keep: number,
): CompactionPlan | null {
  const begin = transcript.findIndex(({ role }) => role === 'assistant');
  if (begin < 1) return null;
  let size = 0;
  let cutAt = -1;
  for (let index = transcript.length - 1; index > begin; index -= 1) {
    size += JSON.stringify(transcript[index]).length;
    if (transcript[index]?.role !== 'assistant') continue;
    if (size > keep && cutAt >= 0) break;
    cutAt = index;
    if (size > keep) break;
  }
  // the task and one exchange at least must lie before the cut, or nothing is won
  if (cutAt < begin + 2) return null;
  return {
    task: transcript.slice(0, begin),
    dropped: transcript.slice(begin, cutAt),
    kept: transcript.slice(cutAt),
  };
}

const heading = 'The conversation so far was cut short. What was done in it, as it is on record:';
const notesHeading = 'Your own notes about it:';
const nothingRun = '(nothing was run)';
const goOn = 'Go on with the task.';

/**
 * Puts a conversation together again: the task, what was done as it is on record, the model's own notes, the end. What an
 * earlier cut has left is taken up into the record, or a conversation that is cut again and again would grow all the same.
 * @param recordLength most characters of the record; the oldest lines are left out
 */
export function compactedTranscript(
  plan: CompactionPlan,
  notes: string,
  recordLength: number,
): TranscriptMessage[] {
  const content = plan.task.flatMap((message) => message.content);
  const earlier = readEarlier(content.at(-1));
  const lines = [...(earlier?.record ?? []), ...recordOf(plan.dropped)];
  const record = boundedRecord(lines, recordLength);
  // without new notes the old ones are better than none
  const known = notes === '' ? (earlier?.notes ?? '') : notes;
  const said = [
    heading,
    record.length === 0 ? nothingRun : record.join('\n'),
    ...(known === '' ? [] : [notesHeading, known]),
    goOn,
  ].join('\n\n');
  const task = earlier === null ? content : content.slice(0, -1);
  return [{ role: 'user', content: [...task, { type: 'text', text: said }] }, ...plan.kept];
}

/** What the block says that an earlier cut has put behind the task; null where it is none. */
function readEarlier(
  block: JsonObject | undefined,
): { readonly record: readonly string[]; readonly notes: string } | null {
  const text = String(block?.['text'] ?? '');
  if (!text.startsWith(`${heading}\n\n`) || !text.endsWith(`\n\n${goOn}`)) return null;
  const body = text.slice(heading.length + 2, -goOn.length - 2);
  const [record = '', notes = ''] = body.split(`\n\n${notesHeading}\n\n`, 2);
  return { record: record === nothingRun ? [] : record.split('\n'), notes };
}

function boundedRecord(lines: readonly string[], length: number): string[] {
  let left = length;
  const recent = lines.slice(-maxRecord);
  const from = recent.findLastIndex((line) => {
    left -= line.length + 1;
    return left < 0;
  });
  const kept = recent.slice(from + 1).filter((line) => line !== leftOut);
  return kept.length < lines.length ? [leftOut, ...kept] : kept;
}

const leftOut = '- (earlier ones are left out)';

/** One line a request: the tool, its subject, how it ended; decisions and what a person said are kept in their words. */
function recordOf(messages: readonly TranscriptMessage[]): string[] {
  const answers = new Map(
    messages.flatMap(({ content }) =>
      content.flatMap((block) =>
        block['type'] === 'tool_result' ? [[String(block['tool_use_id']), block] as const] : [],
      ),
    ),
  );
  return messages.flatMap(({ role, content }) =>
    content.flatMap((block): string[] => {
      if (role === 'user' && block['type'] === 'text')
        return [`- the person: ${cut(String(block['text']).replaceAll('\n', '⏎'), 4_000)}`];
      if (block['type'] !== 'tool_use') return [];
      return [lineOf(block, answers.get(String(block['id'])))];
    }),
  );
}

function lineOf(request: JsonObject, answer: JsonObject | undefined): string {
  const input = request['input'];
  const args = typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {};
  const subject = args['command'] ?? args['path'] ?? args['pattern'] ?? args['task'] ?? '';
  const what = `- ${String(request['name'])} ${cut(String(subject).replaceAll('\n', '⏎'), 200)}`;
  if (answer === undefined) return `${what}: no answer`;
  // what was refused, and by whom, must not be asked again for want of memory
  if (answer['is_error'] === true)
    return `${what}: failed: ${cut(textOf(answer).replaceAll('\n', ' '), 400)}`;
  return `${what}: done`;
}

function textOf({ content }: JsonObject): string {
  if (!Array.isArray(content)) return '';
  return content
    .map((block) =>
      typeof block === 'object' && block !== null && !Array.isArray(block) ? block['text'] : '',
    )
    .filter((text) => typeof text === 'string')
    .join(' ');
}

/**
 * Makes a conversation that has become too long short enough to go on. The model writes notes for itself in an exchange
 * of its own, without tools; if it cannot, the record alone has to do. No tool call changes its state by this.
 * @returns the conversation to go on with; the same where nothing can be dropped
 */
export async function compact(
  context: StepContext,
  transcript: readonly TranscriptMessage[],
  turn: number,
): Promise<TranscriptMessage[]> {
  const limit = (context.order.compactAtTokens ?? 0) * charactersPerToken;
  const plan = planCompaction(transcript, limit * keptShare);
  if (plan === null) return [...transcript];
  // On record before the exchange: where a compaction costs an action, it is counted when it begins.
  const told = context.sink.emit({ type: 'compaction', turn, messages: plan.dropped.length });
  await context.sink.acknowledged(told, context.signal);
  const notes = await writeNotes(context, [...plan.task, ...plan.dropped]);
  return compactedTranscript(plan, notes, Math.max(leastRecord, limit * recordShare));
}

async function writeNotes(context: StepContext, old: readonly TranscriptMessage[]): Promise<string> {
  const last = old.at(-1);
  const asked = { type: 'text', text: question };
  // what precedes the cut ends with answers to the model; the question joins them
  const messages: TranscriptMessage[] =
    last?.role === 'user'
      ? [...old.slice(0, -1), { role: 'user', content: [...last.content, asked] }]
      : [...old, { role: 'user', content: [asked] }];
  const request = createRequest(context.order, messages, { toolsBarred: true, maxTokens: summaryTokens });
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(summaryMs)]);
  const silent = createTextStream(context.sink, () => undefined);
  try {
    const message = await askModel({ ...context, signal, waiting: signal }, request, {
      onChange: async () => undefined,
      onVoid: () => silent.flush(),
    });
    const said = message.blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : []));
    return said.join('').trim();
  } catch (error) {
    context.signal.throwIfAborted();
    context.log.warn(
      { sessionId: context.order.sessionId, err: error },
      'a conversation is cut short without notes of the model',
    );
    return '';
  }
}
