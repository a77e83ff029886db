import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { bornLine, crashPlanSchema, createCrashPoint, seedOfLife } from '@lemniscate/shared/crash-points.ts';
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
  const livesBefore = existsSync(plan.log) ? readFileSync(plan.log, 'utf8') : '';
  appendFileSync(plan.log, `${bornLine}\n`);
  return createCrashPoint(() => plan, {
    random: seededRandom(seedOfLife(plan.seed, livesBefore)),
    tell: (line) => appendFileSync(plan.log, `${line}\n`),
    die: () => void process.kill(process.pid, 'SIGKILL'),
  });
}
