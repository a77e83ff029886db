import { flaggedPattern } from '../flagged-path.ts';
import { joinPath } from './paths/path-kind.ts';
import { noteGuarded } from './pieces.ts';
import { spend } from './scope.ts';
import type { Scope } from './scope.ts';
import { fitsPattern, isKnown, mark } from './syntax/marks.ts';

/** Longest and deepest path that is compared; no working copy has one beyond, so one that is may be anything. */
const longest = 4096;
const deepest = 64;
/** What a comparison costs besides the square of its depth, so that many deep paths end in time. */
const stepsOfPath = 10;

/**
 * Notes the first of the paths that is under dedicated control.
 * @returns whether there is one
 */
export function noteFlagged(scope: Scope, text: string, paths: readonly string[]): boolean {
  const { flagged } = scope.shared.rules;
  if (flagged.length === 0) return false;
  for (const path of paths) {
    const place = joinPath(path, scope.cwd);
    const depth = place.split('/').length;
    spend(scope.shared, stepsOfPath + Math.min(depth, deepest) ** 2);
    const pattern = place.length > longest || depth > deepest ? flagged[0] : patternOf(flagged, place);
    if (pattern === undefined) continue;
    noteGuarded(scope, text, `writes a file under dedicated control (${pattern})`);
    return true;
  }
  return false;
}

/** A place that is known only when it runs may be any; a folder stands for what is in it. */
function patternOf(flagged: readonly string[], path: string): string | undefined {
  if (path.startsWith(mark.unknown)) return flagged[0];
  const found = flaggedPattern(flagged, readable(path)) ?? flaggedPattern(flagged, `${readable(path)}/_`);
  if (found !== undefined || isKnown(path)) return found;
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const name = path.slice(folder.length);
  return flagged.find((pattern) => {
    const wanted = pattern.slice(pattern.lastIndexOf('/') + 1).replace(/[*?[\]]/g, '');
    if (wanted === '' || !fitsPattern(name, wanted)) return false;
    return flaggedPattern([pattern], readable(folder) + wanted) !== undefined;
  });
}

/** The path with a plain letter for each mark; the home directory is like any absolute one. */
function readable(path: string): string {
  return path.replace(mark.home, '/home/').replace(/[\uE000-\uE007]/g, 'x');
}
