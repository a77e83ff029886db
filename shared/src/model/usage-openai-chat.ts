import { asObject, asObjects, asText } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import { deduplicate } from './usage.ts';
import type { ResponseUsage } from './usage.ts';
import type { UsageFold } from './usage-fold.ts';
import {
  countsOtherFees,
  isBelievable,
  openAiTier,
  readOpenAiTokens,
  saysError,
  unwrapBatchLine,
} from './usage-openai.ts';

const names = {
  input: 'prompt_tokens',
  output: 'completion_tokens',
  inputDetails: 'prompt_tokens_details',
  outputDetails: 'completion_tokens_details',
} as const;

interface Draft {
  readonly id: string | null;
  readonly model: string | null;
  readonly serviceTier: string | null;
  readonly usage: Json | undefined;
  /** The closing chunk (usage, no choices) or `[DONE]` was seen. */
  readonly closed: boolean;
}

/** Models that search before each answer: https://platform.openai.com/docs/guides/tools-web-search */
const searchModel = /-search-(?:preview|api)(?:-|$)/;

function toResponse(draft: Draft): ResponseUsage {
  return {
    responseId: draft.id,
    servedModel: draft.model,
    tier: openAiTier(draft.serviceTier),
    parts: draft.usage === undefined ? [] : [{ model: null, tokens: readOpenAiTokens(draft.usage, names) }],
    webSearches: draft.usage !== undefined && searchModel.test(draft.model ?? '') ? 1 : 0,
    otherFees: countsOtherFees(draft.usage),
    complete: draft.closed && draft.usage !== undefined && isBelievable(draft.usage, names),
  };
}

/** Lays a chunk over what was seen: usage is cumulative, the last one counts. */
function layOver(draft: Draft | undefined, chunk: Json): Draft {
  // Groq tells it in the last chunk, in a place of its own: https://console.groq.com/docs/api-reference
  const groq = asObject(asObject(chunk['x_groq'])?.['usage']);
  const usage = asObject(chunk['usage']) ?? groq;
  const isClosing = usage !== undefined && (groq !== undefined || asObjects(chunk['choices']).length === 0);
  return {
    id: draft?.id ?? asText(chunk['id']),
    model: asText(chunk['model']) ?? draft?.model ?? null,
    serviceTier: asText(chunk['service_tier']) ?? draft?.serviceTier ?? null,
    usage: usage ?? draft?.usage,
    closed: isClosing || draft?.closed === true,
  };
}

/** Usage of the OpenAI Chat Completions API: it comes with the closing chunk, and only if the request asked for it. */
export function createChatFold(): UsageFold {
  const finished: ResponseUsage[] = [];
  let current: Draft | undefined;
  let refused = false;
  const endStream = (): void => {
    if (current !== undefined) finished.push(toResponse(current));
    current = undefined;
  };
  const body = (answer: Json): void => {
    const completion = unwrapBatchLine(answer);
    const isServed = Array.isArray(completion['choices']) && !saysError(completion);
    if (asObject(completion['usage']) === undefined && !isServed) {
      refused ||= saysError(completion);
      return;
    }
    finished.push(toResponse({ ...layOver(undefined, completion), closed: true }));
  };
  return {
    event: (chunk) => {
      if (chunk['object'] === 'chat.completion') {
        body(chunk);
        return;
      }
      if (saysError(chunk)) refused ||= current === undefined;
      const id = asText(chunk['id']);
      // Some gateways begin with a chunk that has no id and says nothing.
      if (id === null && asObject(chunk['usage']) === undefined) return;
      if (current !== undefined && id !== null && current.id !== null && current.id !== id) endStream();
      current = layOver(current, chunk);
    },
    done: () => {
      if (current !== undefined) current = { ...current, closed: true };
      endStream();
    },
    endStream,
    body,
    refused: () => refused,
    responses: () => deduplicate(current === undefined ? finished : [...finished, toResponse(current)]),
  };
}
