/**
 * The protocol between dispatchers and agent servers. Neighbouring versions work side by side while a fleet is upgraded:
 * each leaves out what it does not know and does without what is not there. The number goes up when a server of the
 * version before could not do what it is told.
 */
export const protocolVersion = 1;

/** The oldest version that this one still works with; a server below gets no sessions and says why. */
export const oldestProtocol = 1;
