import type { RuntimeName } from '@lemniscate/shared/protocol/session-order.ts';
import { runtimeRegistry } from './registry.ts';
import { runtimeContract } from './runtime-contract.ts';

for (const name of Object.keys(runtimeRegistry) as RuntimeName[]) runtimeContract(name);
