import { z } from 'zod';

/**
 * Named places at which a process may be told to die: before and after each commit, Redis call and HTTP call. A tool of
 * the chaos harness; where nobody asks for it nothing is wrapped and nothing is called.
 */
export type CrashPoint = (name: string) => void;

/** What a process is told about its own death. */
export const crashPlanSchema = z.strictObject({
  /** The first hit of any of these is the end. */
  todo: z.array(z.string()),
  /** Share of all other hits that are the end. */
  chance: z.number().min(0).max(1),
  seed: z.int(),
  /** File to which each name is written when it is first passed (`seen NAME`) and before the end (`crashed NAME`). */
  log: z.string(),
});
export type CrashPlan = z.infer<typeof crashPlanSchema>;

/** What a life writes into its log first. */
export const bornLine = 'born';

/**
 * What a life's random deaths are drawn from: another life dies elsewhere, and the same one of another run at the same hit.
 * Nothing of the machine goes into it, no process id and no time.
 * @param log what was written by the lives before
 */
export function seedOfLife(seed: number, log: string): number {
  const lives = log.split('\n').filter((line) => line === bornLine).length;
  return seed + lives * 7_919;
}

/**
 * @param planNow what is asked at the moment of a hit: a plan may change while its process lives
 * @param effects `die` does not come back
 */
export function createCrashPoint(
  planNow: () => Pick<CrashPlan, 'todo' | 'chance'>,
  effects: { readonly random: () => number; readonly tell: (line: string) => void; readonly die: () => void },
): CrashPoint {
  const seen = new Set<string>();
  return (name) => {
    if (!seen.has(name)) {
      seen.add(name);
      effects.tell(`seen ${name}`);
    }
    const { todo, chance } = planNow();
    if (!todo.includes(name) && effects.random() >= chance) return;
    effects.tell(`crashed ${name}`);
    effects.die();
  };
}

type CallOf<Port> = {
  [Name in keyof Port & string]-?: NonNullable<Port[Name]> extends (...given: never[]) => unknown
    ? Name
    : never;
}[keyof Port & string];

/** Of each call of a port: `true`, it has its points, or a sentence why it needs none. A call that is new has to be in it. */
export type PointsOf<Port> = Readonly<Record<CallOf<Port>, true | string>>;

/**
 * The same port with a crash point before and after each call: `PREFIX.METHOD:before`, `PREFIX.METHOD:after`. What a
 * call throws passes; a call that fails has no after.
 * @param points a `PointsOf` the port: which of its calls reach outside
 */
export function aroundCalls<Port extends object>(
  point: CrashPoint,
  prefix: string,
  port: Port,
  points: Readonly<Record<string, true | string>>,
): Port {
  const wrapped: Partial<Port> = {};
  for (const method of Object.keys(points) as (keyof Port & string)[]) {
    const call = port[method];
    if (points[method] !== true || typeof call !== 'function') continue;
    const name = `${prefix}.${method}`;
    const around = (...given: unknown[]): unknown => {
      point(`${name}:before`);
      const answer: unknown = Reflect.apply(call, port, given);
      if (!(answer instanceof Promise)) {
        point(`${name}:after`);
        return answer;
      }
      return answer.then((value: unknown) => {
        point(`${name}:after`);
        return value;
      });
    };
    Object.assign(wrapped, { [method]: around });
  }
  return { ...port, ...wrapped };
}
