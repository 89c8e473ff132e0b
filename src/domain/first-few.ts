/** How many a message names at most; of more their number is told. */
export const MOST_NAMED = 20;

/** The first `most` of some words, and as the last one, where there are more, how many: a list that stays short. */
export function firstFew(words: readonly string[], most: number): string[] {
  const more = words.length - most;
  return more > 0 ? [...words.slice(0, most), `${more} more`] : [...words];
}

/** The same as text: `a, b and 3 more`. */
export function textOfFirstFew(words: readonly string[], most: number): string {
  const more = words.length > most ? ` and ${words.length - most} more` : '';
  return words.slice(0, most).join(', ') + more;
}
