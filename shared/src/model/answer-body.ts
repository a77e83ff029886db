/** Takes a piece of an answer. A promise: the next piece waits until the receiver has room again. */
export type TakeBytes = (bytes: Uint8Array) => Promise<void> | null;

/** The bytes of an answer, read by one reader once. Both ways end in all cases: with the answer, or by throwing. */
export interface AnswerBody extends AsyncIterable<Uint8Array> {
  /**
   * Hands each piece over in the moment it arrives, without a turn of the event loop or a promise a piece (200 streams
   * of 50 pieces a second: a third less processor time than iterating). Absent where iterating costs nothing more.
   */
  deliver?(take: TakeBytes): Promise<void>;
}
