import { z } from 'zod';
import { storedEntrySchema } from './stored-entry.ts';

/** `GET /v1/audit/search`: entries of all chains that match, the newest first. */
export const auditSearchSchema = z.object({
  entries: z.array(storedEntrySchema),
  /** Who the pseudonyms in these entries are; null where that was erased. */
  people: z.record(z.string(), z.string().nullable()),
  /** `before` of the next page; null at the end of the span. */
  nextBefore: z.string().nullable(),
});
export type AuditSearch = z.infer<typeof auditSearchSchema>;

/** `GET /v1/audit/exporters`: how far each receiver is behind the log. */
export const exportersSchema = z.object({
  /** Entries that have a place in the log. */
  logSize: z.int(),
  lastEntryAt: z.string().nullable(),
  lastCheckpoint: z.object({ number: z.int(), size: z.int(), at: z.string() }).nullable(),
  sinks: z.array(
    z.object({
      name: z.string(),
      delivered: z.int(),
      behind: z.int(),
      /** How old the oldest entry is that it does not have, in seconds. */
      behindSeconds: z.number().nullable(),
      checkpoint: z.int(),
      deadLetters: z.int(),
      updatedAt: z.string(),
    }),
  ),
});
export type Exporters = z.infer<typeof exportersSchema>;
