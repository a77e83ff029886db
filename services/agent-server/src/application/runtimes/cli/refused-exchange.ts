import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { budgetIn, sentence } from '../native/model-exchange.ts';
import { asEndReason } from '../../tool-calls/run-tool-call.ts';
import type { RuntimeEnd } from '../runtime.ts';
import type { RefusedExchange } from './model-port.ts';

/** How a session ends whose program gave up after the gateway or the model had refused it. */
export function endOfRefusal({ status, text }: RefusedExchange): RuntimeEnd {
  const why = sentence(text) ?? `status ${status}`;
  if (status === 402) {
    const budget = budgetIn(text);
    const reason: EndReason = budget === null ? 'budget_cost' : asEndReason(budget);
    return { reason, message: why };
  }
  return { reason: 'model_failed', message: `The model refused the request (${status}): ${why}` };
}
