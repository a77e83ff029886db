import pc from 'picocolors';

/** Colours for stdout; none where it is no terminal (picocolors itself colours the logs of CI). */
export const colours = pc.createColors(process.stdout.isTTY && !process.env['NO_COLOR']);
