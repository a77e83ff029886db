import type { RuntimeName } from '@lemniscate/shared/protocol/session-order.ts';
import { runtimeRegistry } from './registry.ts';
import { runtimeContract } from './runtime-contract.ts';

for (const runtime of Object.keys(runtimeRegistry) as RuntimeName[]) {
  if (runtime === 'native') runtimeContract({ runtime });
  else for (const cliTools of ['own', 'hosted'] as const) runtimeContract({ runtime, cliTools });
}
