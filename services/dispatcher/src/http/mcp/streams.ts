import { z } from 'zod';

/**
 * What an event of a blocking call carries as its id. A client that lost the connection sends the last one back, and
 * whichever dispatcher takes it finds the session by its idempotency key in the record: nothing is kept in memory, so a
 * reconnect survives restarts and other replicas.
 */
const ticketSchema = z.strictObject({
  /** Idempotency key of the session that the call opens. */
  k: z.string().min(1).max(255),
  /** Id of the call, as the client gave it. */
  r: z.union([z.string().max(256), z.number()]),
  /** What the client wants progress under; null: it wants none. */
  p: z.union([z.string().max(256), z.number()]).nullable(),
  /** When the call arrived, milliseconds since 1970. */
  t: z.int(),
});

export interface CallTicket {
  readonly key: string;
  readonly requestId: string | number;
  readonly progressToken: string | number | null;
  readonly askedAt: number;
}

/** An event id; `number` keeps those of one call apart. */
export function writeTicket(ticket: CallTicket, number: number): string {
  const text = JSON.stringify({
    k: ticket.key,
    r: ticket.requestId,
    p: ticket.progressToken,
    t: ticket.askedAt,
  });
  return `${Buffer.from(text).toString('base64url')}.${number}`;
}

/**
 * Null: it is no event id of ours. Whoever sends it may have written it: a call from the future would be waited for without
 * end, so it came now at the latest.
 */
export function readTicket(eventId: string, now: number): CallTicket | null {
  const match = /^([A-Za-z0-9_-]{1,2000})\.\d{1,9}$/.exec(eventId);
  if (match?.[1] === undefined) return null;
  try {
    const ticket = ticketSchema.parse(JSON.parse(Buffer.from(match[1], 'base64url').toString('utf8')));
    return { key: ticket.k, requestId: ticket.r, progressToken: ticket.p, askedAt: Math.min(ticket.t, now) };
  } catch {
    return null;
  }
}

const createCallSchema = z.object({
  id: z.union([z.string().max(256), z.number()]),
  method: z.literal('tools/call'),
  params: z.object({
    name: z.literal('create_session'),
    arguments: z.object({ idempotency_key: z.string().max(255).optional() }).optional(),
    _meta: z.object({ progressToken: z.union([z.string().max(256), z.number()]).optional() }).optional(),
  }),
});

/** The ticket of a message that opens a session; null for every other one, whose answer is simply asked for again. */
export function ticketOf(message: unknown, newKey: () => string, now: number): CallTicket | null {
  const call = createCallSchema.safeParse(message);
  if (!call.success) return null;
  const { id, params } = call.data;
  return {
    key: params.arguments?.idempotency_key ?? newKey(),
    requestId: id,
    progressToken: params._meta?.progressToken ?? null,
    askedAt: now,
  };
}
