import { createMint } from '../../application/placement/mint-attempt.ts';
import type { MintedAttempt } from '../../application/placement/mint-attempt.ts';
import type { OrderTimes } from '../../application/placement/session-order.ts';
import type { PlacementJob } from '../../application/ports/placement-queue.ts';
import type { TestRecord } from './record.ts';

/** Mints attempts of sessions that have a slot on the server: nothing here forgets one. */
export function createTestMint(record: TestRecord, times: OrderTimes) {
  const mint = createMint({
    ...record,
    times,
    newRelayToken: () => record.newId('request'),
    reservations: { renew: (holds) => Promise.resolve(holds.map(() => true)) },
  });
  return async (job: PlacementJob, serverId: string): Promise<MintedAttempt | null> => {
    const minted = await mint(job, { serverId, operation: `${job.sessionId}-g${job.generation}-0` });
    if (minted === 'unheld') throw new Error('the slot is held');
    return minted;
  };
}
