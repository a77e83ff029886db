import type { CommandVerdict } from '../verdict.ts';
import type { Scope } from './scope.ts';
import type { Piece } from './judgement.ts';
import { showMarks } from './syntax/marks.ts';

/** Longer pieces are cut in the report; the verdict was made on the whole. */
const maxShown = 300;

/** Notes what is said about one part. Where a free command covers the part, only a refusal still counts. */
export function note(scope: Scope, text: string, verdict: CommandVerdict, reason: string): void {
  const lifted = scope.covered && verdict === 'ask';
  scope.shared.pieces.push({
    text: shownText(text),
    verdict: lifted ? 'allow' : verdict,
    reason: lifted ? 'part of a free command' : reason,
  });
}

/** Notes that a rule wants an approval; neither a free command nor a second reading takes that back. */
export function noteGuarded(scope: Scope, text: string, reason: string): void {
  const piece: Piece = { text: shownText(text), verdict: 'ask', reason };
  scope.shared.pieces.push(piece);
  scope.shared.guarded.add(piece);
}

function shownText(text: string): string {
  const shown = showMarks(text.trim());
  return shown.length > maxShown ? `${shown.slice(0, maxShown)}…` : shown;
}
