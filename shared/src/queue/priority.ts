import type { Surface } from '../protocol/session-order.ts';
import { surfaceRules } from '../session/surface.ts';

/** How urgent a session is among those of its own project. */
export const priorities = ['high', 'normal', 'low'] as const;
export type Priority = (typeof priorities)[number];

/**
 * Classes age: a session's place in its project's queue is its birth plus the delay of its class, so that a low one goes
 * before a high one that came half an hour after it. The place never changes, hence an index keeps the order. Classes
 * order a project's own sessions and no others: calling everything urgent takes nothing from another project.
 */
const delaySeconds = { high: 0, normal: 300, low: 1_800 } as const satisfies Readonly<
  Record<Priority, number>
>;

/** Seconds by which a class comes later. */
export function queueDelaySeconds(priority: Priority): number {
  return delaySeconds[priority];
}

/** A person who sits and waits comes before a program that does not. */
export function usualPriority(interactive: boolean, surface: Surface): Priority {
  return interactive ? 'high' : surfaceRules[surface].usualPriority;
}
