import { z } from 'zod';

/** What the reporter tells of one test, or of a file's end: one JSON text a line. */
export const testEventSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('test'),
    outcome: z.enum(['passed', 'failed', 'skipped']),
    /** Names from the outermost suite to the test. */
    path: z.array(z.string()),
    file: z.string().optional(),
    durationMs: z.number(),
    /** Why it was skipped. */
    reason: z.string().optional(),
    /** The error with its causes and stack, as printed. */
    error: z.string().optional(),
  }),
  z.object({ kind: z.literal('output'), file: z.string().optional(), text: z.string() }),
  z.object({
    kind: z.literal('file'),
    file: z.string(),
    passed: z.int(),
    failed: z.int(),
    durationMs: z.number(),
  }),
]);
export type TestEvent = z.infer<typeof testEventSchema>;
export type TestOutcome = Extract<TestEvent, { kind: 'test' }>;
