import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { SinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import { chainFault } from '@lemniscate/shared/audit/verify.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { AuditVerification } from './audit-verify.ts';

/** What an export has of one session. */
export interface SessionExtent {
  readonly chain: string;
  /** Entries that were walked; behind an anchor those that come after it. */
  readonly entries: number;
  /** Whether its closing entry is there. */
  readonly closed: boolean;
  /** Whether a signed checkpoint covers its last entry; null where no public key was given. */
  readonly signed: boolean | null;
}

/** Looks for one session while the whole log is walked: only the whole log says what was signed. */
export interface SessionSearch {
  saw(line: SinkLine): void;
  /** The result of the walk with the session's extent; a session that is not there is a fault. */
  tell(result: AuditVerification): AuditVerification;
}

export function searchSession(session: string): SessionSearch {
  const chain = sessionChain(session);
  let entries = 0;
  let last: SinkLine | null = null;
  return {
    saw: (line) => {
      if (line.chain !== chain) return;
      entries += 1;
      last = line;
    },
    tell: (result) => {
      // what was not walked to its end cannot say that a session is missing
      if (!result.verified) return result;
      if (last === null)
        return { ...result, verified: false, faults: [chainFault(chain, 1, 'missing_chain')] };
      const signed = result.sealed === undefined ? null : last.index < result.sealed.covered;
      return { ...result, session: { chain, entries, closed: last.type === 'chain.closed', signed } };
    },
  };
}

/** One line for a person. */
export function describeSession(extent: SessionExtent | undefined): string {
  if (extent === undefined) return '';
  const { chain, entries, closed, signed } = extent;
  const seal = signed === null ? '' : signed ? ', signed' : ', not signed yet';
  return `${makeVisibleLine(chain)}: ${entries} ${entries === 1 ? 'entry' : 'entries'}, ${closed ? 'closed' : 'open'}${seal}\n`;
}
