import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { DiffSummary } from '@lemniscate/shared/repository/diff.ts';

/** What one chaos session has to do: a chain of digests whose end anybody can compute who knows the seed. */
export interface ChaosWork {
  readonly seed: number;
  readonly steps: number;
  /** No server takes it: each fails the order, and it ends without capacity. */
  readonly isRefused?: boolean;
}

/** The instruction that carries the work to whoever does it. */
export function instructionOf({ seed, steps, isRefused = false }: ChaosWork): string {
  return `chaos seed=${seed} steps=${steps}${isRefused ? ' refused' : ''}: write the end of the chain to answer.txt`;
}

/** @returns null where the text carries none */
export function readWork(text: string): ChaosWork | null {
  const found = /chaos seed=(\d+) steps=(\d+)( refused)?/.exec(text);
  if (found === null) return null;
  return { seed: Number(found[1]), steps: Number(found[2]), isRefused: found[3] !== undefined };
}

/** Where somebody stands in the work: what a checkpoint holds. */
export const progressSchema = z.object({ step: z.int().min(0), value: z.string() });
export type Progress = z.infer<typeof progressSchema>;

export function beginning({ seed }: ChaosWork): Progress {
  return { step: 0, value: digest(`seed ${seed}`) };
}

/** One step. Each needs the value of the one before, so a step that is lost or done twice shows at the end. */
export function nextStep({ step, value }: Progress): Progress {
  return { step: step + 1, value: digest(`${step + 1} ${value}`) };
}

/** The right value at the end. */
export function answerOf(work: ChaosWork): string {
  let at = beginning(work);
  while (at.step < work.steps) at = nextStep(at);
  return at.value;
}

/** The diff that adds `answer.txt` with a value. */
export function diffOf(value: string): { readonly patch: Buffer; readonly summary: DiffSummary } {
  const patch = Buffer.from(
    [
      'diff --git a/answer.txt b/answer.txt',
      'new file mode 100644',
      'index 0000000000000000000000000000000000000000..1111111111111111111111111111111111111111',
      '--- /dev/null',
      '+++ b/answer.txt',
      '@@ -0,0 +1 @@',
      `+${value}`,
      '',
    ].join('\n'),
  );
  return {
    patch,
    summary: {
      sha256: createHash('sha256').update(patch).digest('hex'),
      bytes: patch.length,
      baseCommit: '0'.repeat(40),
      baseTree: '0'.repeat(40),
      files: [{ path: 'answer.txt', change: 'added', insertions: 1, deletions: 0, flags: [] }],
      insertions: 1,
      deletions: 0,
    },
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
