import { appendFileSync, readFileSync } from 'node:fs';
import { crashPlanSchema, createCrashPoint } from '@lemniscate/shared/crash-points.ts';
import type { CrashPoint } from '@lemniscate/shared/crash-points.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';

/** A plan may change: it is looked at this often. Milliseconds. */
const lookMs = 250;

/**
 * Reads the plan of LEMNISCATE_CRASH_POINTS, again and again; null where there is none, and then nothing is wrapped.
 * @throws where the file is no plan
 */
export function readCrashPoint(file: string | undefined): CrashPoint | null {
  if (file === undefined) return null;
  const read = () => crashPlanSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  let plan = read();
  setInterval(() => {
    plan = read();
  }, lookMs).unref();
  return createCrashPoint(() => plan, {
    // Another life, another place: the same seed alone would die at the same hit each time.
    random: seededRandom(plan.seed + process.pid),
    tell: (line) => appendFileSync(plan.log, `${line}\n`),
    die: () => void process.kill(process.pid, 'SIGKILL'),
  });
}
