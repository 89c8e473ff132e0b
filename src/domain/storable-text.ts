/** What PostgreSQL cannot hold in a text: U+0000, and halves of surrogate pairs. */
const UNSTORABLE = /\0|\p{Surrogate}/gu;

/** Whether the database can hold a text as it is. */
export function isStorable(text: string): boolean {
  return text.search(UNSTORABLE) < 0;
}

/** The text with U+FFFD for what the database cannot hold. */
export function withoutUnstorable(text: string): string {
  return text.replace(UNSTORABLE, '\uFFFD');
}
