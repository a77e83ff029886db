import { addTokens, tokensOf } from '@lemniscate/shared/model/usage.ts';
import type { ResponseUsage } from '@lemniscate/shared/model/usage.ts';
import { chat, usageAttributes } from '@lemniscate/shared/telemetry/gen-ai.ts';
import type { Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';

/** The span of one exchange with a provider. */
export interface ExchangeSpan {
  end(
    metered: { readonly responses: readonly ResponseUsage[]; readonly complete: boolean },
    refused: boolean,
  ): void;
}

export function traceExchange(
  tracer: Tracer | null,
  parent: string | null,
  { sessionId }: AttemptClaim,
  { provider, model }: { readonly provider: string; readonly model: string },
): ExchangeSpan | null {
  if (tracer === null) return null;
  const span = tracer.start({ ...chat({ sessionId, provider, model }), kind: 'client', parent });
  return {
    end: ({ responses, complete }, refused) => {
      span.set(usageAttributes(addTokens(...responses.map(tokensOf))));
      if (refused) span.fail('refused');
      else if (!complete) span.fail('cut');
      span.end();
    },
  };
}
