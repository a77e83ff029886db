import { z } from 'zod';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';

// Version 1 of the protocol as it was first spoken, written down once and never changed with the code: what a server that
// nobody has upgraded yet says, and how strictly it reads what it is told.

/** What it said of a server, and nothing else. */
export function firstStatus(status: ServerStatus): object {
  const { bootId, capacity, held, warm, driver, profiles, draining } = status;
  return { protocol: 1, bootId, capacity, held, warm, driver, profiles, draining };
}

const repository = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('bundle'),
    sha256: z.string(),
    commit: z.string(),
    name: z.string(),
    url: z.string(),
  }),
  z.object({ kind: z.literal('git'), url: z.string(), revision: z.string().optional() }),
  z.object({ kind: z.literal('path'), path: z.string(), revision: z.string().optional() }),
]);

const order = z.object({
  sessionId: z.string(),
  attempt: z.int().min(1),
  projectId: z.string(),
  runtime: z.enum(['native', 'claude-code', 'codex']),
  model: z.string(),
  surface: z.enum(['terminal', 'ide', 'api', 'trigger']),
  interactive: z.boolean(),
  instruction: z.string(),
  systemPrompt: z.string(),
  repository,
  tools: z.array(z.string()),
  continueAfterToolRejection: z.boolean(),
  commandMaxSeconds: z.int().min(1),
  commandMaxOutputBytes: z.int().min(1),
  profile: z.string(),
  relayToken: z.string(),
  leaseMs: z.int().min(1),
  startWithinMs: z.int().min(1),
});

/** How it read an order: what it did not know, it left out. @throws where it would have refused it */
export function readFirstOrder(body: unknown): SessionOrder {
  const read = order.parse(body);
  return { ...read, tools: read.tools as SessionOrder['tools'] };
}
