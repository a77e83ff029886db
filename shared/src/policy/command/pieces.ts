import type { CommandVerdict } from '../verdict.ts';
import type { Scope } from './scope.ts';
import { showMarks } from './syntax/marks.ts';

/** Longer pieces are cut in the report; the verdict was made on the whole. */
const maxShown = 300;

/** Notes what is said about one part. Where a free command covers the part, only a refusal still counts. */
export function note(scope: Scope, text: string, verdict: CommandVerdict, reason: string): void {
  const lifted = scope.covered && verdict === 'ask';
  const shown = showMarks(text.trim());
  scope.shared.pieces.push({
    text: shown.length > maxShown ? `${shown.slice(0, maxShown)}…` : shown,
    verdict: lifted ? 'allow' : verdict,
    reason: lifted ? 'part of a free command' : reason,
  });
}
