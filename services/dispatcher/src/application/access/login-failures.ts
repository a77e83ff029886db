import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Log } from '../ports/log.ts';
import type { Database } from '../ports/transaction.ts';

/** Failures of one address that are answered as such within a window; the next ones are refused unseen. */
export const failuresPerWindow = 20;
const windowMs = 60_000;
/** Addresses that are told apart; beyond them all others share one account. */
const maxAddresses = 10_000;
/** Entries that one window may write beside each address' first: an attacker must not fill the log. */
const entriesPerWindow = 100;
const everybodyElse = 'other addresses';

export interface LoginFailureDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: string;
}

/** Counts failed logins by address, slows them down and puts them into the audit log. */
export interface LoginFailures {
  /** @throws CodedError `rate_limited` */
  admit(address: string): void;
  /** Notes a failure. The first of an address in a window is recorded at once, the others as a count at its end. */
  failed(address: string, reason: string): void;
  /** Writes what is counted and not yet recorded. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface Account {
  count: number;
  recorded: number;
  reason: string;
}

export function createLoginFailures(deps: LoginFailureDeps): LoginFailures {
  let accounts = new Map<string, Account>();
  let opened = deps.clock.monotonicMs();
  let entries = 0;
  let writing: Promise<void> = Promise.resolve();

  const write = (address: string, reason: string, count: number): void => {
    entries += 1;
    const place = deps.audit.commit('address', address);
    deps.log.warn({ address, addressCommitment: place, reason, count }, 'logins were refused');
    writing = writing
      .then(() =>
        deps.database.transaction((tx) =>
          deps.audit.append(tx, fleetChain, [
            { type: 'login.refused', subject: deps.self, body: { reason, count, addressCommitment: place } },
          ]),
        ),
      )
      .catch((error: unknown) => deps.log.error({ err: error }, 'a refused login could not be recorded'));
  };
  const turnWindow = (): void => {
    const past = accounts;
    accounts = new Map();
    opened = deps.clock.monotonicMs();
    entries = 0;
    for (const [address, { count, recorded, reason }] of past)
      if (count > recorded && entries < entriesPerWindow) write(address, reason, count - recorded);
  };
  const turnIfOver = (): void => {
    if (deps.clock.monotonicMs() - opened >= windowMs) turnWindow();
  };
  /** Beyond the bound all others share one account, also where it is looked at. */
  const nameOf = (address: string): string =>
    accounts.has(address) || accounts.size < maxAddresses ? address : everybodyElse;
  const timer = setInterval(turnIfOver, windowMs / 4).unref();
  const flush = async (): Promise<void> => {
    turnWindow();
    await writing;
  };

  return {
    admit: (address) => {
      turnIfOver();
      const account = accounts.get(nameOf(address));
      if (account === undefined || account.count < failuresPerWindow) return;
      account.count += 1;
      const left = Math.ceil((opened + windowMs - deps.clock.monotonicMs()) / 1_000);
      throw new CodedError(
        'rate_limited',
        `Too many logins of this address failed. Try again in ${left} seconds with a login that is valid.`,
        { retryAfterSeconds: Math.max(1, left) },
      );
    },
    failed: (address, reason) => {
      turnIfOver();
      const name = nameOf(address);
      const account = accounts.get(name) ?? { count: 0, recorded: 0, reason };
      accounts.set(name, account);
      account.count += 1;
      account.reason = reason;
      if (account.recorded > 0 || entries >= entriesPerWindow) return;
      account.recorded = 1;
      write(name, reason, 1);
    },
    flush,
    close: async () => {
      clearInterval(timer);
      await flush();
    },
  };
}
