/** Asks for a slot for one session. */
export interface Wish {
  /** Names this wish: repeating it gives the same server again. `<session>-g<generation>-<try>`. */
  readonly operation: string;
  /** Which servers will do. */
  readonly placementClass: string;
  /** The repository's key in mirror caches; a server that has it is preferred among equals. */
  readonly mirror: string | null;
  /** Only this server will do. */
  readonly pinned: string | null;
}

/** A reservation that somebody believes to have. */
export interface Hold {
  readonly operation: string;
  readonly serverId: string;
}

/** Wishes of one pool, granted in order: of two classes that the same servers serve, the first one named goes first. */
export interface ReservationRequest {
  readonly wishes: readonly Wish[];
  /** Servers that will not do. */
  readonly exclude: readonly string[];
}

/** `empty`: the ledger knows no such server or pool at all, which is what a forgetful Redis looks like. */
export type Reservation =
  | { readonly kind: 'reserved'; readonly serverId: string }
  | { readonly kind: 'full' }
  | { readonly kind: 'empty' };

/** An unsettled reservation falls back after this long: longer than an order may take, so that it outlives none. */
export const reservationMs = 30_000;

/** What is true of a server according to the record and to the server itself. */
export interface ServerTruth {
  readonly serverId: string;
  /** Of two truths of a server the one that was read later has the larger number. */
  readonly report: number;
  readonly pool: string;
  readonly capacity: number;
  /** Words of `offerTokens`. */
  readonly tokens: readonly string[];
  readonly warm: number;
  /** Keys of repositories that it has at hand. */
  readonly mirrors: readonly string[];
  /** Sessions that start there, and how many may at once. */
  readonly starting: number;
  readonly startingLimit: number;
  /** Sessions that occupy it; a reservation of one of these is settled by this. */
  readonly sessions: readonly string[];
  /** Sessions that were on it within `reservationMs` and are gone: their reservations hold nothing any more. */
  readonly gone: readonly string[];
}

/**
 * The ledger of slots: hints that make placement quick and even. Right or wrong, it decides nothing that the record
 * does not decide again; every method may be repeated, and reservations expire.
 */
export interface Reservations {
  /** One answer for each wish, in one atomic step. */
  reserve(request: ReservationRequest): Promise<Reservation[]>;
  release(operation: string): Promise<void>;
  /**
   * Whether each hold still stands, in one atomic step. One that a forgetful Redis lost, or that expired, is taken again
   * while its server has room; one that stands elsewhere is not moved.
   * @throws CodedError `service_unreachable`
   */
  renew(holds: readonly Hold[]): Promise<boolean[]>;
  /**
   * Makes the ledger agree with the truth; unsettled reservations stay on top of it. One that was read before what the
   * ledger knows changes nothing.
   * @returns false, and nothing is changed, where Redis has forgotten everything: then only `rebuild` knows enough
   */
  correct(truth: ServerTruth): Promise<boolean>;
  /** False until the first `rebuild` after Redis has forgotten everything. */
  isWhole(): Promise<boolean>;
  /** Begins the ledger anew from what the record knows of every server. */
  rebuild(truths: readonly ServerTruth[]): Promise<void>;
  /** Takes a server out of the choice; what it holds stays counted for its return. */
  withdraw(serverId: string): Promise<void>;
  /** Nobody is sent there until its next word: it said that it is full. */
  fill(serverId: string): Promise<void>;
  /** A session starts no longer: the server may start another one. */
  running(serverId: string, sessionId: string): Promise<void>;
  /** Slots of a class that are free at the moment. */
  freeSlots(placementClass: string): Promise<number>;
  /** Which pools fill one server after the other instead of spreading, so that others can be switched off. */
  pack(pools: readonly string[]): Promise<void>;
}
