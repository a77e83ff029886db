import { fromProblem } from '@lemniscate/shared/errors/problem.ts';
import type { PlacementAnswer } from '../application/ports/agent-servers.ts';

/** What a server's answer to an order says. */
export function placementOf(status: number, body: unknown): PlacementAnswer {
  if (status === 202) return { kind: 'taken' };
  if (status === 429) return { kind: 'full' };
  const problem = fromProblem(body, status);
  return {
    kind: 'failed',
    how: `it answered ${status} ${problem.code}: ${problem.message}`,
    reachable: true,
  };
}
