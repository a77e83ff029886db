/** "Place this session": ids only. The generation makes a re-add neither vanish nor run twice. */
export interface PlacementJob {
  readonly sessionId: string;
  readonly generation: number;
}

/** One queue a pool. Delivery only: the record says what is pending. */
export interface PlacementQueue {
  /** Adding what is there already changes nothing. */
  add(pool: string, jobs: readonly PlacementJob[]): Promise<void>;
  /** Which of the jobs the queue does not have in any state. */
  missing(pool: string, jobs: readonly PlacementJob[]): Promise<PlacementJob[]>;
  /** Lets waiting jobs run now instead of at their time; unknown and running ones are left alone. */
  promote(pool: string, jobs: readonly PlacementJob[]): Promise<void>;
}
