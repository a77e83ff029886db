// The clock of everything that runs out for a session: it stands still while no dispatcher reaches PostgreSQL.

/** In a statement: what deadlines are compared with. */
export const fleetNow = '(SELECT fleet_now())';

/**
 * In a statement: the moment since which the fleet was watched for so long. What began before it has lasted longer than that,
 * absences not counted.
 * @param span an expression of the type interval
 */
export const fleetAgo = (span: string): string => `fleet_ago(${span})`;
