/** Words of the code itself, such as states or kinds, as they stand in a statement. */
export function words(all: readonly string[]): string {
  return all.map((word) => `'${word}'`).join(', ');
}
