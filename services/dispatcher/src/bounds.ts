import type { BudgetDefaults } from '@lemniscate/shared/policy/policy-file.ts';
import type { DispatcherConfig } from './config.ts';

/** The bounds that a policy has if it does not write them, where the fleet sets others than the usual ones. */
export function budgetDefaultsOf(config: DispatcherConfig): BudgetDefaults {
  const set: Readonly<Record<keyof BudgetDefaults, number | string | undefined>> = {
    maxActions: config.LEMNISCATE_SESSION_MAX_ACTIONS,
    maxMinutes: config.LEMNISCATE_SESSION_MAX_MINUTES,
    maxExtensions: config.LEMNISCATE_SESSION_MAX_EXTENSIONS,
    maxTokens: config.LEMNISCATE_SESSION_MAX_TOKENS,
    maxCostUsd: config.LEMNISCATE_SESSION_MAX_COST_USD,
    maxCommands: config.LEMNISCATE_SESSION_MAX_COMMANDS,
    commandMaxSeconds: config.LEMNISCATE_COMMAND_MAX_SECONDS,
    commandMaxOutputBytes: config.LEMNISCATE_COMMAND_MAX_OUTPUT_BYTES,
  };
  return Object.fromEntries(Object.entries(set).filter(([, value]) => value !== undefined));
}

/** Bounds that the application works with. Milliseconds unless the name says otherwise. */
export function settingsOf(config: DispatcherConfig) {
  return {
    leaseMs: config.LEMNISCATE_LEASE_MS,
    graceMs: config.LEMNISCATE_GRACE_MS,
    maxLosses: config.LEMNISCATE_MAX_LOSSES,
    queueMaxWaitSeconds: config.LEMNISCATE_QUEUE_MAX_WAIT_SECONDS,
    maxBacklog: config.LEMNISCATE_QUEUE_MAX_BACKLOG,
    startingLimit: config.LEMNISCATE_SERVER_STARTING_LIMIT,
    agentStartsPerHour: config.LEMNISCATE_AGENT_STARTS_PER_HOUR,
    pauseAfterSeconds: config.LEMNISCATE_PAUSE_AFTER_SECONDS,
    maxPauseSeconds: config.LEMNISCATE_MAX_PAUSE_SECONDS,
    times: {
      leaseMs: config.LEMNISCATE_LEASE_MS,
      startTimeoutMs: config.LEMNISCATE_START_TIMEOUT_MS,
      checkpointMs: config.LEMNISCATE_CHECKPOINT_SECONDS * 1_000,
    },
    // A provider may be silent so long while it answers, and an exchange may take so long.
    idleMs: 90_000,
    exchangeMs: 30 * 60_000,
  };
}
