import { asObject, asObjects, asText } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import { deduplicate } from './usage.ts';
import type { ResponseUsage } from './usage.ts';
import type { UsageFold } from './usage-fold.ts';
import { isBelievable, openAiTier, readOpenAiTokens, saysError, unwrapBatchLine } from './usage-openai.ts';

const names = {
  input: 'input_tokens',
  output: 'output_tokens',
  inputDetails: 'input_tokens_details',
} as const;
// A response that was cut by its own bound (`incomplete`) is final as well: its usage is what is billed.
const finalStates = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

function countSearches(response: Json): number {
  return asObjects(response['output']).filter((item) => item['type'] === 'web_search_call').length;
}

/** One snapshot of a response; undefined when it ended without usage, which is not billed. */
function readSnapshot(response: Json): ResponseUsage | undefined {
  const usage = asObject(response['usage']);
  const status = asText(response['status']);
  const isFinal = status === null || finalStates.has(status);
  if (usage === undefined && isFinal && status !== 'completed' && status !== 'incomplete') return undefined;
  return {
    responseId: asText(response['id']),
    servedModel: asText(response['model']),
    tier: openAiTier(asText(response['service_tier'])),
    parts: usage === undefined ? [] : [{ model: null, tokens: readOpenAiTokens(usage, names) }],
    webSearches: countSearches(response),
    complete: isFinal && usage !== undefined && isBelievable(usage, names),
  };
}

/** Usage of the OpenAI Responses API: it comes with the closing event only. */
export function createResponsesFold(): UsageFold {
  const seen = new Map<string, ResponseUsage>();
  const anonymous: ResponseUsage[] = [];
  let refused = false;
  const note = (response: Json): void => {
    const read = readSnapshot(response);
    const id = asText(response['id']);
    if (read === undefined) {
      refused = true;
      if (id !== null && seen.get(id)?.complete === false) seen.delete(id);
      return;
    }
    if (id === null) {
      anonymous.push(read);
      return;
    }
    const kept = seen.get(id);
    if (kept?.complete !== true || read.complete) seen.set(id, read);
  };
  const body = (answer: Json): void => {
    const response = unwrapBatchLine(answer);
    if (asObject(response['usage']) !== undefined || asText(response['status']) !== null) note(response);
    else refused ||= saysError(response);
  };
  return {
    event: (event) => {
      const response = asObject(event['response']);
      if (response !== undefined && asText(event['type'])?.startsWith('response.') === true) note(response);
      else if (event['object'] === 'response') body(event);
      else refused ||= saysError(event);
    },
    done: () => undefined,
    endStream: () => undefined,
    body,
    refused: () => refused,
    responses: () => deduplicate([...seen.values(), ...anonymous]),
  };
}
