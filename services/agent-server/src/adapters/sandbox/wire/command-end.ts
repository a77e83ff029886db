import { z } from 'zod';
import type { SandboxCommandEnd } from '../../../application/ports/sandbox-driver.ts';

/** The end record as a sandbox claims it: parsed before anything is believed. Milliseconds and bytes. */
const commandEndSchema = z.object({
  exitCode: z.int().min(0).max(255).nullable(),
  signal: z
    .string()
    .regex(/^SIG[A-Z0-9+]{1,12}$/)
    .nullable(),
  cause: z.enum(['exited', 'timeout', 'canceled']),
  durationMs: z.number().nonnegative(),
  outputBytes: z.int().nonnegative(),
  droppedBytes: z.int().nonnegative(),
});

/** @throws when the bytes are not an end record */
export function parseCommandEnd(payload: Buffer): SandboxCommandEnd {
  return commandEndSchema.parse(JSON.parse(payload.toString('utf8')));
}
