import type { ClaimedUsage, UsageClaim } from '../cli/usage-claim.ts';
import type { OutputOf, StreamedUsage } from './output.ts';

/**
 * What Claude Code counts. Its result tells it for the whole process; until then, and for one that is ended before it
 * has a result, it is what it shows of its answers as they stream.
 */
export interface OwnCount {
  onStream(output: OutputOf<'stream_event'>): void;
  onResult(output: OutputOf<'result'>): void;
}

const none: ClaimedUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: null,
};

export function createOwnCount(usage: UsageClaim): OwnCount {
  let answered = none;
  let answer = none;
  const add = (): ClaimedUsage => ({
    inputTokens: answered.inputTokens + answer.inputTokens,
    outputTokens: answered.outputTokens + answer.outputTokens,
    cacheReadTokens: answered.cacheReadTokens + answer.cacheReadTokens,
    cacheWriteTokens: answered.cacheWriteTokens + answer.cacheWriteTokens,
    costUsd: answered.costUsd,
  });
  return {
    onStream: ({ event }) => {
      if (event.type === 'message_start' && 'message' in event) {
        answered = add();
        answer = { ...none, ...shown((event.message as { usage?: StreamedUsage }).usage), outputTokens: 0 };
      }
      if (event.type !== 'message_delta' || !('usage' in event)) return;
      answer = { ...answer, ...shown(event.usage as StreamedUsage | undefined) };
      usage.report(add());
    },
    onResult: ({ modelUsage, total_cost_usd: cost }) => {
      const models = Object.values(modelUsage ?? {});
      const sum = (count: (model: (typeof models)[number]) => number): number =>
        models.reduce((total, model) => total + count(model), 0);
      answer = none;
      answered = {
        inputTokens: sum((model) => model.inputTokens),
        outputTokens: sum((model) => model.outputTokens),
        cacheReadTokens: sum((model) => model.cacheReadInputTokens),
        cacheWriteTokens: sum((model) => model.cacheCreationInputTokens),
        costUsd: cost ?? null,
      };
      usage.report(answered);
    },
  };
}

/** The counts that are named; the last word of each holds. */
function shown(usage: StreamedUsage | undefined): Partial<ClaimedUsage> {
  const {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: write,
  } = usage ?? {};
  return {
    ...(input === undefined ? {} : { inputTokens: input }),
    ...(output === undefined ? {} : { outputTokens: output }),
    ...(read === undefined ? {} : { cacheReadTokens: read }),
    ...(write === undefined ? {} : { cacheWriteTokens: write }),
  };
}
