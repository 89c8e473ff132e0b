/** What is left of an employee id, an SQL expression, when a spreadsheet or a hand has written it otherwise. */
export function foldedId(id: string): string {
  return `ltrim(upper(replace(${id}, ' ', '')), '0')`;
}
