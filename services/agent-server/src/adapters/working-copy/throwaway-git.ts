import type {
  SandboxDriver,
  SandboxMount,
  ThrowawayResult,
  ThrowawayRun,
} from '../../application/ports/sandbox-driver.ts';
import { gitEnvironment, sandboxConfigFile } from './git-environment.ts';

/** What a throwaway run of git needs beyond the hardened environment. */
export interface ThrowawayGitRun extends Omit<ThrowawayRun, 'env' | 'mounts'> {
  readonly mounts: readonly SandboxMount[];
  readonly protocols?: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
}

/** Runs git, or a script of git commands, in a throwaway sandbox with the hardened environment. */
export type ThrowawayGit = (run: ThrowawayGitRun) => Promise<ThrowawayResult>;

/** @param configFile file on the host with `gitConfigText()` */
export function createThrowawayGit(driver: SandboxDriver, configFile: string): ThrowawayGit {
  return ({ protocols = [], variables = {}, mounts, ...run }) =>
    driver.runThrowaway({
      ...run,
      mounts: [...mounts, { source: configFile, target: sandboxConfigFile, readOnly: true }],
      env: gitEnvironment(sandboxConfigFile, { protocols, extra: { HOME: '/tmp', ...variables } }),
    });
}
