import type pc from 'picocolors';

/** The colours of a view, or their absence. */
export type ViewColours = ReturnType<typeof pc.createColors>;
