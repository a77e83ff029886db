import type { Log } from '../ports/log.ts';

/**
 * Tells the ledger of slots what the record has decided already. Where that fails the caller has its answer all the same, for
 * what it asked for is done: the next look at the servers, within seconds, tells the ledger again.
 * @param what was decided, for the log
 */
export async function tellLedger(log: Log, what: string, tell: () => Promise<void>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    log.warn(
      { err: error },
      `the ledger of slots was not told that ${what}; the next look at the servers does it`,
    );
  }
}
