/**
 * In SQL, a run of an employer ($1) and the runs whose payments it pays again: each is a successor, which has no file, of the
 * next. What one of these pays beside them was approved with them.
 */
export function repaidRuns(run: string): string {
  return `WITH RECURSIVE repaid AS (
      SELECT id, parent_run_id FROM pay_run WHERE employer_id = $1 AND id = ${run}
      UNION SELECT r.id, r.parent_run_id FROM repaid s
      JOIN pay_run r ON r.employer_id = $1 AND r.id = s.parent_run_id
      WHERE NOT EXISTS (SELECT FROM pay_file f WHERE f.employer_id = $1 AND f.pay_run_id = s.id))
    SELECT id FROM repaid`;
}
