import type { Clock } from '@lemniscate/shared/clock.ts';
import type { ModelProvider } from '../ports/model-provider.ts';
import { createFairGate } from './fair-gate.ts';
import type { FairGate } from './fair-gate.ts';

/** The gates of all providers, each made when its provider is first asked. */
export type Gates = (provider: ModelProvider) => FairGate;

export function createGates(clock: Clock): Gates {
  const byName = new Map<string, FairGate>();
  return (provider) => {
    const gate = byName.get(provider.name) ?? createFairGate(provider.name, provider.limits ?? {}, clock);
    byName.set(provider.name, gate);
    return gate;
  };
}
