/** What a simulated server logs of a session that ended by a fault of its own or of an answer that it does not know. */
export const brokenOff = 'a simulated session broke off';
