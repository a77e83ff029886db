import { closeRedis, connectRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import { createReservations } from '@lemniscate/dispatcher/adapters/redis/reservation.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';

const rounds = 1_000;

/** Milliseconds of one reservation and its release, one after the other, at a number of servers. */
export async function reservationCost(redisUrl: string, servers: number): Promise<number[]> {
  const redis = connectRedis(new URL(redisUrl), () => undefined);
  const ledger = createReservations(redis, `{ledger-${servers}:placement}`, seededRandom(servers));
  try {
    for (let from = 0; from < servers; from += 500)
      await Promise.all(
        Array.from({ length: Math.min(500, servers - from) }, (_, index) =>
          ledger.correct({
            serverId: `s${from + index}`,
            pool: 'default',
            capacity: 10,
            tokens: [],
            warm: 1,
            mirrors: [],
            starting: 0,
            startingLimit: 32,
            sessions: [],
            gone: [],
          }),
        ),
      );
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const operation = `s_${round}-g1-0`;
      const from = performance.now();
      await ledger.reserve({
        placementClass: 'default',
        wishes: [{ operation, mirror: 'none', pinned: null }],
        exclude: [],
      });
      times.push(performance.now() - from);
      await ledger.release(operation);
    }
    return times;
  } finally {
    await closeRedis(redis, 1_000);
  }
}
