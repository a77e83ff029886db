/** How calls are gathered. */
export interface BatchBounds {
  /** Items of one batch at most. */
  readonly most: number;
  /** Batches under way at once: nobody stands behind a batch that waits for a lock or a disk. */
  readonly lanes: number;
  /**
   * A further lane is used once a batch has been under way for so long; absent: at once. One lane alone gathers batches that are
   * twice as large, and what a batch costs falls on twice as many.
   */
  readonly patienceMs?: number;
}

/**
 * Gathers calls that are made while others are under way, and does them together: group commit. Nobody waits for
 * company: a call that finds a free lane goes at the end of its turn of the event loop, alone or with those of the same
 * turn. Under load the batches grow by themselves, and what a transaction costs is shared among its items.
 * @param work answers each item in its place; what it throws, every item of the batch gets
 */
export function inBatches<Item, Result>(
  bounds: BatchBounds,
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: { readonly item: Item; readonly settle: PromiseWithResolvers<Result> }[] = [];
  const { most, lanes, patienceMs } = bounds;
  let busy = 0;
  let slow = 0;
  let planned = false;

  const hasLane = (): boolean => busy < (patienceMs === undefined ? lanes : Math.min(lanes, 1 + slow));

  const start = (): void => {
    planned = false;
    while (hasLane() && waiting.length > 0) void run(waiting.splice(0, most));
  };
  const run = async (batch: typeof waiting): Promise<void> => {
    busy += 1;
    let isSlow = false;
    const patience =
      patienceMs === undefined
        ? undefined
        : setTimeout(() => {
            isSlow = true;
            slow += 1;
            start();
          }, patienceMs);
    try {
      const results = await work(batch.map(({ item }) => item));
      if (results.length !== batch.length)
        throw new Error(`a batch of ${batch.length} was answered with ${results.length} results`);
      for (const [index, { settle }] of batch.entries()) settle.resolve(results[index] as Result);
    } catch (error) {
      for (const { settle } of batch) settle.reject(error);
    } finally {
      clearTimeout(patience);
      busy -= 1;
      if (isSlow) slow -= 1;
      start();
    }
  };
  return (item) => {
    const settle = Promise.withResolvers<Result>();
    waiting.push({ item, settle });
    if (hasLane() && !planned) {
      planned = true;
      setImmediate(start);
    }
    return settle.promise;
  };
}

/**
 * Answers callers who ask for the same thing at the same time with one call. It begins after each of its callers has
 * asked, never before: what it finds is as fresh as if each had asked alone.
 */
export function sharedCall<Key extends string, Found>(
  call: (key: Key) => Promise<Found>,
): (key: Key) => Promise<Found> {
  const together = inBatches<Key, PromiseSettledResult<Found>>(
    { most: 256, lanes: 2, patienceMs: 25 },
    async (keys) => {
      const distinct = [...new Set(keys)];
      const found = await Promise.allSettled(distinct.map(call));
      const byKey = new Map(distinct.map((key, index) => [key, found[index]]));
      return keys.map((key) => byKey.get(key) as PromiseSettledResult<Found>);
    },
  );
  return async (key) => unwrap(await together(key));
}

/** The value of what has settled, or its error thrown. */
export function unwrap<Value>(settled: PromiseSettledResult<Value>): Value {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}
