/**
 * Works through `items` in order with at most `atOnce` under way. When one answers `stop`, no further item is
 * begun; those under way are waited for.
 */
export async function inFlight<T>(
  items: readonly T[],
  atOnce: number,
  send: (item: T, index: number) => Promise<'go on' | 'stop'>,
): Promise<void> {
  let next = 0;
  let stopped = false;
  const lane = async () => {
    while (!stopped) {
      const index = next;
      next += 1;
      const item = items[index];
      if (item === undefined) return;
      if ((await send(item, index)) === 'stop') stopped = true;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
}
