import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { tokenHash } from './token-hash.ts';

/** Links that carry a login over into a browser. */
export interface BrowserLinks {
  /** A code for the login: good once, for minutes. */
  offer(token: string): { readonly code: string; readonly expiresAt: string };
  /** The login's token. @throws CodedError `unauthenticated` for a code that is unknown, used or too old */
  redeem(code: string): string;
}

/** Long enough to start a fleet, read what it says and open the link. */
const linkMs = 15 * 60_000;
/** Codes that are kept; the oldest give way, and their people ask for another. */
const maxLinks = 1_000;

/**
 * Codes live in this process alone and are known by their digests. They carry the local login of one machine, where
 * there is one dispatcher; a restart takes them along, and another link is one command away.
 */
export function createBrowserLinks(clock: Clock, newSecret: () => string): BrowserLinks {
  const links = new Map<string, { readonly token: string; readonly until: number }>();
  const keyOf = (code: string): string => tokenHash(code).toString('base64');
  return {
    offer: (token) => {
      const code = `lmk_${newSecret()}`;
      const until = clock.now().getTime() + linkMs;
      links.set(keyOf(code), { token, until });
      const [oldest] = links.keys();
      if (links.size > maxLinks && oldest !== undefined) links.delete(oldest);
      return { code, expiresAt: new Date(until).toISOString() };
    },
    redeem: (code) => {
      const key = keyOf(code);
      const link = links.get(key);
      links.delete(key);
      if (link !== undefined && link.until > clock.now().getTime()) return link.token;
      throw new CodedError(
        'unauthenticated',
        'This link was used already, or it is too old. Run "npx lemniscate console" for a new one.',
      );
    },
  };
}
