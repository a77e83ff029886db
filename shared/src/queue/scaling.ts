/** A server as far as scaling looks at it. */
export interface PoolServer {
  readonly id: string;
  /** Slots that may be used now; 0: out of the rotation. */
  readonly usable: number;
  /** Sessions that it holds. */
  readonly held: number;
  /** An operator empties it: it does not count and is no candidate. */
  readonly drained: boolean;
}

/** What a scaler may follow. */
export interface ScalingAdvice {
  readonly wantedSlots: number;
  readonly wantedServers: number;
  readonly action: 'out' | 'in' | 'stay';
  /** Which servers to drain when scaling in, the emptiest first. */
  readonly drain: string[];
}

/** Room beyond what is in use and what waits, so that the next session starts at once. */
const headroom = 0.15;
/** Below this share in use servers are given back; between here and full nothing moves, or it would swing. */
const scaleInBelow = 0.6;

/** How many slots and servers a pool wants. Sessions that wait count as slots: each needs one before its bound passes. */
export function adviseScaling(servers: readonly PoolServer[], waiting: number): ScalingAdvice {
  const inUse = servers.filter(({ drained }) => !drained);
  const slots = inUse.reduce((sum, { usable }) => sum + usable, 0);
  const held = inUse.reduce((sum, server) => sum + server.held, 0);
  const wantedSlots = Math.ceil((held + waiting) * (1 + headroom));
  const sizes = inUse.map(({ usable }) => usable).filter((usable) => usable > 0);
  const size = sizes.length === 0 ? 1 : Math.max(1, Math.round(slots / sizes.length));
  const wantedServers = Math.ceil(wantedSlots / size);
  if (wantedSlots > slots) return { wantedSlots, wantedServers, action: 'out', drain: [] };
  const drain = waiting === 0 && held < slots * scaleInBelow ? emptiest(inUse, slots, wantedSlots) : [];
  return { wantedSlots, wantedServers, action: drain.length > 0 ? 'in' : 'stay', drain };
}

/** As many of the emptiest as can go while what is wanted still fits, and never all of them. */
function emptiest(servers: readonly PoolServer[], slots: number, wanted: number): string[] {
  const order = servers
    .filter(({ usable }) => usable > 0)
    .sort(
      (left, right) => left.held - right.held || right.usable - left.usable || (left.id < right.id ? -1 : 1),
    );
  const chosen: string[] = [];
  let left = slots;
  for (const server of order.slice(0, -1)) {
    if (left - server.usable < Math.max(1, wanted)) break;
    left -= server.usable;
    chosen.push(server.id);
  }
  return chosen;
}
