import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { someText } from '../json-walk.ts';
import type { Transaction } from '../ports/transaction.ts';
import { logPage } from './log-page.ts';
import type { Segments } from './segments.ts';

/** Events that one request looks at: the answer then says where to go on. */
const maxExamined = 4_096;
const pageSize = 256;

/**
 * Events of a session that hold a text, in ascending order. It reads the log as it is kept, output included, and stops
 * at the limit or when it has looked at enough for one request.
 * @throws CodedError `session_unknown`, `storage_failed`
 */
export async function searchLog(
  deps: { readonly database: Transaction; readonly segments: Segments },
  sessionId: string,
  { text, after, limit }: { readonly text: string; readonly after: number; readonly limit: number },
): Promise<{ events: PositionedEvent[]; nextAfter: number | null; nextBefore: null }> {
  const wanted = text.toLowerCase();
  const found: PositionedEvent[] = [];
  let from = after;
  for (let examined = 0; examined < maxExamined; examined += pageSize) {
    const page = await logPage(deps, sessionId, { after: from }, pageSize);
    for (const event of page.events) {
      if (!someText(event.event, (one) => one.toLowerCase().includes(wanted))) continue;
      found.push(event);
      if (found.length === limit) return { events: found, nextAfter: event.position, nextBefore: null };
    }
    if (page.nextAfter === null) return { events: found, nextAfter: null, nextBefore: null };
    from = page.nextAfter;
  }
  return { events: found, nextAfter: from, nextBefore: null };
}
