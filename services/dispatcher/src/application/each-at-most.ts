/**
 * Works on all items, so many at once; the next one begins when any is done. When one throws no more begin, and the
 * first error is thrown once those under way are done.
 */
export async function eachAtMost<Item>(
  most: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const failed: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      if (failed.length > 0) return;
      await work(item).catch((error: unknown) => failed.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane));
  if (failed.length > 0) throw failed[0];
}
