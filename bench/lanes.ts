/** Calls `work` with 0 to `count` - 1, `atOnce` under way at once, until all are done. */
export async function inLanes(
  count: number,
  atOnce: number,
  work: (n: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let n = next++; n < count; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
