/** Whether a live payment `p` was submitted, or may have been: its instruction has an attempt that is not proven unsent. */
export const SENT = `(p.status IN ('SUBMITTED', 'SETTLED') OR EXISTS (
  SELECT FROM planned_instruction n
  JOIN submit_attempt t ON t.employer_id = n.employer_id AND t.planned_instruction_id = n.id
  WHERE n.employer_id = p.employer_id AND n.pay_run_id = p.pay_run_id AND p.row_no BETWEEN n.first_row AND n.last_row
    AND p.status = 'AT_BANK' AND t.outcome IS DISTINCT FROM 'PROVEN_UNSENT'))`;
