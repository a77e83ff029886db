import { readEnvironment, variable } from '@lemniscate/shared/config/environment.ts';
import type { SessionBounds } from '@lemniscate/shared/session/allowance.ts';
import { z } from 'zod';

/** What everybody expects; a setting that loosens or tightens it is announced. */
const usual = { maxActions: 150, maxMinutes: 45, maxExtensions: 5 } as const;

const boundVariables = z.object({
  LEMNISCATE_SESSION_MAX_ACTIONS: variable.integer(1, 100_000).optional(),
  LEMNISCATE_SESSION_MAX_MINUTES: variable.integer(1, 10_080).optional(),
  LEMNISCATE_SESSION_MAX_EXTENSIONS: variable.integer(0, 1_000).optional(),
});

/**
 * The bounds of a session that the terminal's variables name. The project's policy stays the upper bound.
 * @throws CodedError `configuration_invalid` for an unreadable value, never the default instead
 */
export function readBounds(env: Readonly<Record<string, string | undefined>>): SessionBounds {
  const {
    LEMNISCATE_SESSION_MAX_ACTIONS: maxActions,
    LEMNISCATE_SESSION_MAX_MINUTES: maxMinutes,
    LEMNISCATE_SESSION_MAX_EXTENSIONS: maxExtensions,
  } = readEnvironment(boundVariables, env);
  return {
    ...(maxActions === undefined ? {} : { maxActions }),
    ...(maxMinutes === undefined ? {} : { maxMinutes }),
    ...(maxExtensions === undefined ? {} : { maxExtensions }),
  };
}

/** A sentence for each bound that differs from the usual one. */
export function announceBounds(bounds: SessionBounds): string[] {
  return (Object.keys(usual) as (keyof typeof usual)[]).flatMap((name) => {
    const value = bounds[name];
    if (value === undefined || value === usual[name]) return [];
    const how = value < usual[name] ? 'tighter' : 'looser';
    return [`${name} is ${value} instead of ${usual[name]}: ${how}, where the project’s policy allows it.`];
  });
}
