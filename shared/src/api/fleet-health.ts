import { z } from 'zod';

/** What waits for a server: `GET /v1/fleet/queue`. */
export const queueReportSchema = z.object({
  waiting: z.int(),
  /** Seconds that the oldest has waited; null: nothing waits. */
  oldestSeconds: z.number().nullable(),
  projects: z.array(
    z.object({
      project: z.string(),
      waiting: z.int(),
      running: z.int(),
      oldestSeconds: z.number().nullable(),
    }),
  ),
});
export type QueueReport = z.infer<typeof queueReportSchema>;

const latencySchema = z.object({
  p50: z.number().nullable(),
  p95: z.number().nullable(),
  p99: z.number().nullable(),
});

/** How sessions began and ended in a span: `GET /v1/fleet/starts`. Milliseconds. */
export const startReportSchema = z.object({
  sinceHours: z.int(),
  started: z.int(),
  /** From the order to a server, and from there to work. */
  queued: latencySchema,
  starting: latencySchema,
  hours: z.array(
    z.object({
      at: z.string(),
      started: z.int(),
      queuedP95: z.number().nullable(),
      startingP95: z.number().nullable(),
      ended: z.int(),
      failed: z.int(),
    }),
  ),
  /** Ends by their reason, the most frequent first; what a person wanted is among them. */
  reasons: z.array(z.object({ state: z.string(), reason: z.string(), sessions: z.int() })),
  /** Attempts that were lost or refused. */
  attempts: z.array(z.object({ state: z.string(), server: z.string(), attempts: z.int() })),
});
export type StartReport = z.infer<typeof startReportSchema>;
