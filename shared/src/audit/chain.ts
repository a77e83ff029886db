import { hash } from 'node:crypto';
import { CodedError } from '../errors/coded-error.ts';
import type { JsonValue } from '../json.ts';
import { writeCanonical } from './canonical-write.ts';
import { checkDraft } from './catalogue.ts';
import { entryDigest } from './digest.ts';
import { openingType } from './entry.ts';
import type { AuditDraft, ChainedEntry } from './entry.ts';

/** Where a chain stands: the place and digest of its last entry. `seq` 0 means that it is not open yet. */
export interface ChainHead {
  readonly chain: string;
  readonly seq: number;
  readonly digest: Uint8Array;
  readonly closed: boolean;
}

/**
 * Largest body in bytes. Syslog receivers and Sentinel cut or refuse larger events; lists that make a body larger are
 * replaced by their count and digest, which whoever holds the list can check.
 */
export const largestBody = 64 * 1024;

/** The head of a chain that nobody has opened. */
export function unopened(chain: string): ChainHead {
  return { chain, seq: 0, digest: new Uint8Array(), closed: false };
}

/**
 * Gives drafts their places behind a head, in order. A chain other than a session's opens by itself; `chain.closed`
 * gets the count of the chain's entries.
 * @param at RFC 3339 with milliseconds, the time of all of them
 * @throws CodedError `audit_chain_broken` when the chain is closed, not opened, or opened a second time;
 *   `internal` when a draft does not fit the catalogue
 */
export function extendChain(
  head: ChainHead,
  drafts: readonly AuditDraft[],
  at: string,
): { entries: ChainedEntry[]; head: ChainHead } {
  const entries: ChainedEntry[] = [];
  let last = head;
  for (const draft of openedBy(head, drafts)) {
    const entry = nextEntry(last, draft, at);
    entries.push(entry);
    last = { chain: head.chain, seq: entry.seq, digest: entry.digest, closed: draft.type === 'chain.closed' };
  }
  return { entries, head: last };
}

function openedBy(head: ChainHead, drafts: readonly AuditDraft[]): readonly AuditDraft[] {
  const first = drafts[0];
  if (head.seq > 0 || first === undefined || openingType(head.chain) !== 'chain.opened') return drafts;
  return [{ type: 'chain.opened', subject: first.subject, body: {} }, ...drafts];
}

function nextEntry(head: ChainHead, draft: AuditDraft, at: string): ChainedEntry {
  if (head.closed) throw broken(head, `is closed and takes no ${draft.type}`);
  const opens = draft.type === openingType(head.chain);
  if (head.seq === 0 && !opens) throw broken(head, `is not open: its first entry cannot be ${draft.type}`);
  if (head.seq > 0 && (opens || draft.type === 'chain.opened')) throw broken(head, 'is open already');
  const seq = head.seq + 1;
  const body = envelopeBytes(checkDraft(draft), at, seq);
  const digest = entryDigest(head.chain, seq, head.digest, body);
  return { chain: head.chain, seq, prev: head.digest, digest, body, type: draft.type, at };
}

function envelopeBytes(draft: AuditDraft, at: string, seq: number): Uint8Array {
  const body: Readonly<Record<string, JsonValue>> =
    draft.type === 'chain.closed' ? { ...draft.body, entries: String(seq) } : draft.body;
  const envelope = {
    v: 1,
    type: draft.type,
    at,
    subject: draft.subject,
    ...(draft.attempt === undefined ? {} : { attempt: draft.attempt }),
    ...(draft.server === undefined ? {} : { server: draft.server }),
  };
  const whole = writeCanonical({ ...envelope, body });
  if (whole.length <= largestBody) return whole;
  const cut = writeCanonical({ ...envelope, body: withoutLists(body) });
  if (cut.length <= largestBody) return cut;
  throw new CodedError(
    'internal',
    `The audit entry ${draft.type} has ${cut.length} bytes, more than ${largestBody}.`,
  );
}

function withoutLists(body: Readonly<Record<string, JsonValue>>): Record<string, JsonValue> {
  const members = Object.entries(body).map(([key, value]): [string, JsonValue] => {
    if (!Array.isArray(value)) return [key, value];
    return [key, { items: value.length, sha256: hash('sha256', writeCanonical(value), 'hex') }];
  });
  return Object.fromEntries(members);
}

function broken(head: ChainHead, what: string): CodedError {
  return new CodedError('audit_chain_broken', `The audit chain ${head.chain} ${what}.`, {
    chain: head.chain,
  });
}
