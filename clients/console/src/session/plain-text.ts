import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';

/** Colours and weights of a terminal (SGR), which say nothing once they are left out. */
const paint = /\u001b\[[\d;:]{0,64}m/g;

/** Text of an agent, a repository or a command as it may be shown: no control character stays invisible. */
export function shown(text: string): string {
  return makeVisible(text.replace(paint, ''));
}

/** The same on one line. */
export function shownLine(text: string): string {
  return makeVisibleLine(text.replace(paint, ''));
}
