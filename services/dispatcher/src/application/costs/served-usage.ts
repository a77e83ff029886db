import type { ResponseUsage } from '@lemniscate/shared/model/usage.ts';

/** What an exchange was priced by, as its usage row keeps it: with it and a book its cost can be told again. */
export interface ServedUsage {
  /** When it began, in milliseconds of the epoch: prices are dated. */
  readonly at: number;
  /** What was billed; empty where nothing is known, or where another row has the response. */
  readonly responses: readonly ResponseUsage[];
}
