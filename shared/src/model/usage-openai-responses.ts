import { asObject, asObjects, asText } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import { deduplicate, isFuller } from './usage.ts';
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
  input: 'input_tokens',
  output: 'output_tokens',
  inputDetails: 'input_tokens_details',
  outputDetails: 'output_tokens_details',
} as const;
// A response that was cut by its own bound (`incomplete`) is final as well: its usage is what is billed.
const finalStates = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

/** Whether a call of a provider's tool ran; one that failed has no fee. */
const ran = (item: Json): boolean => item['status'] !== 'failed';

/**
 * Searches have a fee; opening a page and finding in it, which are calls of the same tool, have none. Calls that tell
 * no action are searches. https://platform.openai.com/docs/pricing, "Built-in tools"
 */
function searchesTheWeb(item: Json): boolean {
  const action = asObject(item['action']);
  return item['type'] === 'web_search_call' && (action === undefined || action['type'] === 'search');
}

/** Calls that are billed by container or by image and not by number. */
const otherwiseBilled = new Set(['code_interpreter_call', 'image_generation_call']);

function readFees(response: Json): Pick<ResponseUsage, 'webSearches' | 'fileSearches' | 'otherFees'> {
  const calls = asObjects(response['output']).filter(ran);
  return {
    webSearches: calls.filter(searchesTheWeb).length,
    fileSearches: calls.filter((item) => item['type'] === 'file_search_call').length,
    otherFees:
      calls.some((item) => otherwiseBilled.has(asText(item['type']) ?? '')) ||
      countsOtherFees(asObject(response['usage'])),
  };
}

/**
 * One snapshot of a response; undefined when it failed without usage, which is not billed. One that was cancelled is:
 * what it used until then is not told, so its numbers are a lower bound.
 */
function readSnapshot(response: Json): ResponseUsage | undefined {
  const usage = asObject(response['usage']);
  const status = asText(response['status']);
  const isFinal = status === null || finalStates.has(status);
  if (usage === undefined && status === 'failed') return undefined;
  return {
    responseId: asText(response['id']),
    servedModel: asText(response['model']),
    tier: openAiTier(asText(response['service_tier'])),
    parts: usage === undefined ? [] : [{ model: null, tokens: readOpenAiTokens(usage, names) }],
    ...readFees(response),
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
    if (kept === undefined || isFuller(read, kept)) seen.set(id, read);
  };
  const body = (answer: Json): void => {
    const response = unwrapBatchLine(answer);
    const isServed = response['object'] === 'response' || asText(response['status']) !== null;
    if (isServed || asObject(response['usage']) !== undefined) note(response);
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
