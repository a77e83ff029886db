import { z } from 'zod';
import { jsonValueSchema } from '../json.ts';

const days = z.int().min(1).max(36_500).nullable();

/** What is kept how long, in days after a session's end where nothing else is said; null: for ever. */
export const retentionRulesSchema = z.strictObject({
  /** Everything of the session but what the audit log, the costs and the counts say of it. */
  sessions: days.default(null),
  /** Events and output. */
  logs: days.default(null),
  /** Offered and decided diffs. */
  diffs: days.default(null),
  /** Checkpoints of the workspace that a session resumes from. */
  snapshots: days.default(null),
  /** Retained content: off, or so many days. */
  content: z.int().min(1).max(36_500).nullable().default(null),
  /** Objects with their comments: counted from the last thing that happened to them. */
  objects: days.default(null),
  /** Files of agents' memories: counted from when they were last written. */
  memory: days.default(null),
});
export type RetentionRules = z.infer<typeof retentionRulesSchema>;

export const noRules: RetentionRules = {
  sessions: null,
  logs: null,
  diffs: null,
  snapshots: null,
  content: null,
  objects: null,
  memory: null,
};

export const holdSchema = z.object({
  id: z.string(),
  scope: z.enum(['project', 'session']),
  of: z.string(),
  placedBy: z.string(),
  placedAt: z.string(),
});
export type Hold = z.infer<typeof holdSchema>;

/** How many rows and objects of which store were removed. */
export const removedSchema = z.record(z.string(), z.int());
export type Removed = z.infer<typeof removedSchema>;

/**
 * A part of a session's retained content, opened: what the audit log does not say. The first part has what people said and
 * what came of it, those behind it the session's events, output and all, in order.
 */
export const contentPartSchema = z.object({
  instruction: z.string().optional(),
  messages: z.array(z.object({ number: z.int(), text: z.string() })).optional(),
  approvals: z.array(z.object({ call: z.string(), arguments: jsonValueSchema })).optional(),
  /** The patch in base64; null where there is none or it lies in an object of its own. */
  patch: z.string().nullable().optional(),
  events: z.array(z.unknown()).optional(),
});
export type ContentPart = z.infer<typeof contentPartSchema>;
