import { closeRedis, connectRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import { createReservations } from '@lemniscate/dispatcher/adapters/redis/reservation.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';

const rounds = 1_000;

/**
 * Milliseconds of one reservation, by the number of servers. The ledgers take turns, one reservation each: what else the
 * machine does meanwhile falls on all of them alike.
 */
export async function reservationCosts(
  redisUrl: string,
  serverCounts: readonly number[],
): Promise<readonly number[][]> {
  const redis = connectRedis(new URL(redisUrl), () => undefined);
  try {
    const ledgers: Ledger[] = [];
    for (const servers of serverCounts) ledgers.push(await openLedger(redis, servers));
    const times = serverCounts.map((): number[] => []);
    for (let round = 0; round < rounds; round += 1)
      for (const [index, ledger] of ledgers.entries()) {
        const operation = `s_${round}-g1-0`;
        const from = performance.now();
        await ledger.reserve({
          wishes: [{ operation, placementClass: 'default', mirror: 'none', pinned: null }],
          exclude: [],
        });
        times[index]?.push(performance.now() - from);
        await ledger.release(operation);
      }
    return times;
  } finally {
    await closeRedis(redis, 1_000);
  }
}

type Ledger = ReturnType<typeof createReservations>;

async function openLedger(redis: Parameters<typeof createReservations>[0], servers: number): Promise<Ledger> {
  const ledger = createReservations(redis, `{ledger-${servers}:placement}`, seededRandom(servers));
  await ledger.rebuild(
    Array.from({ length: servers }, (_, index) => ({
      serverId: `s${index}`,
      pool: 'default',
      capacity: 10,
      tokens: [],
      warm: 1,
      mirrors: [],
      starting: 0,
      report: 1,
      startingLimit: 32,
      sessions: [],
      gone: [],
    })),
  );
  return ledger;
}
