/** Asks for a slot. */
export interface ReservationRequest {
  /** Names this wish: repeating it gives the same server again. `<session>-g<generation>-<try>`. */
  readonly operation: string;
  readonly pool: string;
  /** Only this server will do. */
  readonly pinned: string | null;
  /** Servers that this round has tried. */
  readonly exclude: readonly string[];
}

/** `empty`: the ledger knows no such server or pool at all, which is what a forgetful Redis looks like. */
export type Reservation =
  | { readonly kind: 'reserved'; readonly serverId: string }
  | { readonly kind: 'full' }
  | { readonly kind: 'empty' };

/** What is true of a server according to the record and to the server itself. */
export interface ServerTruth {
  readonly serverId: string;
  readonly pool: string;
  readonly capacity: number;
  /** Sessions that occupy it; a reservation of one of these is settled by this. */
  readonly sessions: readonly string[];
}

/**
 * The ledger of slots: hints that make placement quick and even. Right or wrong, it decides nothing that the record
 * does not decide again; every method may be repeated, and reservations expire.
 */
export interface Reservations {
  reserve(request: ReservationRequest): Promise<Reservation>;
  release(operation: string): Promise<void>;
  /** Makes the ledger agree with the truth; unsettled reservations stay on top of it. */
  correct(truth: ServerTruth): Promise<void>;
  /** Takes a server out of the choice; what it holds stays counted for its return. */
  withdraw(serverId: string): Promise<void>;
  /** Slots that are free at the moment. */
  freeSlots(pool: string): Promise<number>;
}
