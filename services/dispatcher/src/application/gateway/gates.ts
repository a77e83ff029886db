import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Log } from '../ports/log.ts';
import type { ModelProvider } from '../ports/model-provider.ts';
import type { SharedRooms } from '../ports/provider-room.ts';
import { createFairGate } from './fair-gate.ts';
import type { FairGate } from './fair-gate.ts';

/** The gates of all providers, each made when its provider is first asked. */
export type Gates = (provider: ModelProvider) => FairGate;

export interface GatesDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly newHolder: () => string;
  /** Null: this process has each provider for itself. */
  readonly sharedRooms: SharedRooms | null;
}

export function createGates({ sharedRooms, ...deps }: GatesDeps): Gates {
  const byName = new Map<string, FairGate>();
  return ({ name, limits = {} }) => {
    const shared = sharedRooms === null ? {} : { shared: sharedRooms(name, limits) };
    const gate = byName.get(name) ?? createFairGate({ name, limits, ...shared, ...deps });
    byName.set(name, gate);
    return gate;
  };
}
