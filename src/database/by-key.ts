/**
 * The row of a table of employers with an id, to be joined `ON true` in a statement whose $1 is the employer, where no
 * other is named. A join by equality may compare each row with each, where the planner expects only few: statistics do
 * not know what just came. This is sought by its key for each row before it.
 */
export function byKey(table: string, id: string, employer = '$1'): string {
  return `LATERAL (SELECT * FROM ${table} WHERE employer_id = ${employer} AND id = ${id} LIMIT 1)`;
}
