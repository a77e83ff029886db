import type { SessionState } from '@lemniscate/shared/session/state.ts';
import type { IconName } from './icons.tsx';

export type Tone = 'grey' | 'blue' | 'green' | 'amber' | 'red' | 'violet';

/** How a state is told: by its word and its shape; the colour only helps. */
export const stateLooks: Readonly<Record<SessionState, { label: string; tone: Tone; icon: IconName }>> = {
  pending: { label: 'Queued', tone: 'grey', icon: 'clock' },
  starting: { label: 'Starting', tone: 'blue', icon: 'ring' },
  running: { label: 'Running', tone: 'blue', icon: 'play' },
  paused: { label: 'Paused', tone: 'violet', icon: 'pause' },
  completed: { label: 'Completed', tone: 'green', icon: 'check' },
  failed: { label: 'Failed', tone: 'red', icon: 'cross' },
  timeout: { label: 'Timed out', tone: 'amber', icon: 'clock' },
  user_stopped: { label: 'Stopped', tone: 'grey', icon: 'stop' },
};

/** States in which something still happens. */
export const liveStates: readonly SessionState[] = ['pending', 'starting', 'running', 'paused'];

/** A reason as a person reads it. */
export function reasonWords(reason: string): string {
  return reason.replaceAll('_', ' ');
}
