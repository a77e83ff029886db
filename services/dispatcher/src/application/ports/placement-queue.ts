/** "Place this session": ids only. The generation makes a re-add neither vanish nor run twice. */
export interface PlacementJob {
  readonly sessionId: string;
  readonly generation: number;
}

/** A job whose slot is reserved. */
export interface ReservedJob extends PlacementJob {
  readonly placementClass: string;
  readonly serverId: string;
  /** The reservation's name. */
  readonly operation: string;
  /** Sentences on servers that failed to take the session at earlier looks. */
  readonly failures: readonly string[];
}

/** One queue a pool. Delivery only: the record says what is pending. */
export interface PlacementQueue {
  /** Adding what is there already changes nothing. */
  add(pool: string, jobs: readonly ReservedJob[]): Promise<void>;
  /** Which of the jobs the queue does not have in any state. */
  missing(pool: string, jobs: readonly PlacementJob[]): Promise<PlacementJob[]>;
  /** Jobs that nobody has begun. */
  waiting(pool: string): Promise<number>;
}
