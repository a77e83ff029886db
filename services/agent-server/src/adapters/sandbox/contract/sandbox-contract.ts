import { describeCliWalls } from './cli-contract.ts';
import { describeIsolation } from './isolation-contract.ts';
import { describeCommands } from './commands-contract.ts';
import { describeLife } from './life-contract.ts';
import { describeLimits } from './limit-contract.ts';
import { describeStaying } from './loopback-contract.ts';
import { describeShells } from './shell-contract.ts';
import { describeToolchains } from './toolchain-contract.ts';
import type { ContractSubject } from './harness.ts';

/** What every sandbox driver must do and withstand. Call it from the driver's integration test. */
export function describeSandboxContract(subject: ContractSubject): void {
  describeCommands(subject);
  describeShells(subject);
  describeToolchains(subject);
  describeLife(subject);
  describeStaying(subject);
  describeLimits(subject);
  describeIsolation(subject);
  describeCliWalls(subject);
}
