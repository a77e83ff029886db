/** A server as the model of the ledger knows it. */
export interface LedgerServer {
  /** Slots. */
  readonly capacity: number;
}

/**
 * The rule of placement without Redis: at random among the least loaded that have room, and of up to `sample` of those
 * the one that has most at hand. The dispatcher runs it as one Lua script on what all dispatchers share
 * (`reserve.lua`); this is the same rule for models in virtual time, and a test holds the two against each other.
 * Servers are numbers, in the order in which they were given.
 */
export interface SlotLedger {
  /** @returns the server that has a slot less from now on; null: all are full */
  reserve(mirror: number): number | null;
  release(server: number): void;
  /** Out of the choice until it is restored; what it holds stays counted. */
  withdraw(server: number): void;
  restore(server: number): void;
  taken(server: number): number;
  /** Slots that could be reserved now. */
  free(): number;
}

/** What a server has at hand: looked at in the moment of the choice. */
export interface AtHand {
  hasWarm(server: number): boolean;
  hasMirror(server: number, mirror: number): boolean;
}

/** Servers that are looked at for what they have at hand: more would cost more than it finds. */
export const sampledServers = 16;

/** @param random uniform in [0, 1) */
export function createSlotLedger(
  servers: readonly LedgerServer[],
  atHand: AtHand,
  random: () => number,
): SlotLedger {
  const scores = [...new Set(servers.flatMap(({ capacity }) => scoresOf(capacity)))].sort(
    (left, right) => left - right,
  );
  const placeOf = new Map(scores.map((score, place) => [score, place]));
  const full = placeOf.get(1) ?? scores.length;
  // Servers of each score, in no order; where each stands, so that it leaves in constant time.
  const buckets: number[][] = scores.map(() => []);
  const bucketOf = new Int32Array(servers.length);
  const spotOf = new Int32Array(servers.length);
  const counts = new Int32Array(servers.length);
  const isIn = new Uint8Array(servers.length).fill(1);
  let room = 0;

  const capacityOf = (server: number): number => servers[server]?.capacity ?? 0;
  const enter = (server: number): void => {
    const place = placeOf.get(Math.min(1, (counts[server] ?? 0) / capacityOf(server))) ?? full;
    const bucket = buckets[place];
    if (bucket === undefined) return;
    bucketOf[server] = place;
    spotOf[server] = bucket.length;
    bucket.push(server);
  };
  const leave = (server: number): void => {
    const bucket = buckets[bucketOf[server] ?? 0];
    const last = bucket?.pop();
    if (bucket === undefined || last === undefined || last === server) return;
    const spot = spotOf[server] ?? 0;
    bucket[spot] = last;
    spotOf[last] = spot;
  };
  const freeOf = (server: number): number => Math.max(0, capacityOf(server) - (counts[server] ?? 0));
  const choose = (bucket: readonly number[], mirror: number): number => {
    const start = Math.floor(random() * bucket.length);
    let [best, most] = [bucket[start] ?? 0, -1];
    for (let look = 0; look < Math.min(sampledServers, bucket.length); look += 1) {
      const server = bucket[(start + look) % bucket.length] ?? 0;
      // A copy of the repository saves more than a sandbox that is booted already.
      const points = (atHand.hasWarm(server) ? 1 : 0) + (atHand.hasMirror(server, mirror) ? 2 : 0);
      if (points > most) [best, most] = [server, points];
      if (most === 3) break;
    }
    return best;
  };
  for (let server = 0; server < servers.length; server += 1) {
    enter(server);
    room += freeOf(server);
  }
  const change = (server: number, by: number): void => {
    const before = freeOf(server);
    if (isIn[server] === 1) leave(server);
    counts[server] = Math.max(0, (counts[server] ?? 0) + by);
    if (isIn[server] === 0) return;
    enter(server);
    room += freeOf(server) - before;
  };
  return {
    reserve: (mirror) => {
      const bucket = buckets.slice(0, full).find(({ length }) => length > 0);
      if (bucket === undefined) return null;
      const server = choose(bucket, mirror);
      change(server, 1);
      return server;
    },
    release: (server) => change(server, -1),
    withdraw: (server) => {
      if (isIn[server] === 0) return;
      leave(server);
      isIn[server] = 0;
      room -= freeOf(server);
    },
    restore: (server) => {
      if (isIn[server] === 1) return;
      isIn[server] = 1;
      enter(server);
      room += freeOf(server);
    },
    taken: (server) => counts[server] ?? 0,
    free: () => room,
  };
}

function scoresOf(capacity: number): number[] {
  return Array.from({ length: capacity + 1 }, (_, taken) => taken / capacity);
}
