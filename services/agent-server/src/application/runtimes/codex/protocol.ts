import { z } from 'zod';

const change = z.looseObject({
  path: z.string().min(1).max(4096),
  kind: z.looseObject({ type: z.string(), move_path: z.string().nullish() }),
  diff: z.string(),
});
export type FileChange = z.infer<typeof change>;

const item = z.looseObject({
  type: z.string(),
  id: z.string().min(1).max(200),
  text: z.string().optional(),
  status: z.string().optional(),
  aggregatedOutput: z.string().nullish(),
  exitCode: z.int().nullish(),
  changes: z.array(change).max(1000).optional(),
});
export type Item = z.infer<typeof item>;

const count = z.int().min(0).max(1_000_000_000_000).catch(0);
const tokens = z.looseObject({
  inputTokens: count,
  cachedInputTokens: count,
  cacheWriteInputTokens: count,
  outputTokens: count,
});
export type Tokens = z.infer<typeof tokens>;

const failure = z.looseObject({ message: z.string() });

/**
 * What `codex app-server` says, one JSON object a line, as far as we act on it: answers, notifications and requests of
 * its own. All of it is a claim of the sandbox.
 */
export const messageSchema = z.union([
  z.object({ method: z.literal('item/started'), params: z.object({ item }) }),
  z.object({ method: z.literal('item/completed'), params: z.object({ item }) }),
  z.object({
    method: z.literal('item/agentMessage/delta'),
    params: z.object({ itemId: z.string(), delta: z.string() }),
  }),
  z.object({
    method: z.literal('item/commandExecution/outputDelta'),
    params: z.object({ itemId: z.string(), delta: z.string() }),
  }),
  z.object({
    method: z.literal('thread/tokenUsage/updated'),
    params: z.object({
      turnId: z.string().optional(),
      tokenUsage: z.object({ total: tokens, last: tokens }),
    }),
  }),
  z.object({
    method: z.literal('turn/completed'),
    params: z.object({ turn: z.looseObject({ status: z.string(), error: failure.nullish() }) }),
  }),
  z.object({
    method: z.literal('item/commandExecution/requestApproval'),
    id: z.union([z.int(), z.string()]),
    params: z.looseObject({ itemId: z.string().min(1).max(200), command: z.string().nullish() }),
  }),
  z.object({
    method: z.literal('item/fileChange/requestApproval'),
    id: z.union([z.int(), z.string()]),
    params: z.looseObject({ itemId: z.string().min(1).max(200), grantRoot: z.string().nullish() }),
  }),
  /** Any other request of its own, which gets an error. */
  z.object({ method: z.string(), id: z.union([z.int(), z.string()]), params: z.unknown() }),
  z.object({
    id: z.string(),
    result: z.looseObject({
      thread: z.looseObject({ id: z.string() }).optional(),
      turn: z.looseObject({ id: z.string() }).optional(),
    }),
  }),
  z.object({ id: z.string(), error: failure }),
]);
export type Message = z.infer<typeof messageSchema>;
