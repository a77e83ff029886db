import { isatty } from 'node:tty';
import pc from 'picocolors';

/** Whether what is written to a descriptor may be coloured: it is a terminal and nobody has asked for none. */
export function mayColour(descriptor: number): boolean {
  return isatty(descriptor) && !process.env['NO_COLOR'];
}

/** Colours for stdout; picocolors itself would colour the logs of CI. */
export const colours = pc.createColors(mayColour(1));
