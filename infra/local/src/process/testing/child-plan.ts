import { join } from 'node:path';
import type { ProcessPlan } from '../managed-process.ts';

/** Plan of the fixture child with one of its behaviours, its log and record in `folder`. */
export function childPlan(
  folder: string,
  behaviour: 'serves' | 'fails' | 'silent' | 'stubborn',
  changes: Partial<ProcessPlan> = {},
): ProcessPlan {
  return {
    name: 'child',
    command: process.execPath,
    args: [join(import.meta.dirname, '../fixtures/child.ts'), behaviour],
    env: {},
    cwd: folder,
    logFile: join(folder, 'child.log'),
    records: folder,
    stopSignal: 'SIGTERM',
    deathSignal: 'KILL',
    stopGraceMs: 5_000,
    ready: { line: (line) => line === 'ready' },
    readyWithinMs: 20_000,
    ...changes,
  };
}
