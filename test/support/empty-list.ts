/** A list of the bank that holds nothing. */
export async function* emptyList(): AsyncGenerator<never, void, undefined> {
  yield* await Promise.resolve([]);
}
