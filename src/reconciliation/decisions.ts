import { EmployerTransaction } from '../database/database';
import { CountAndSum } from '../domain/reconciliation';

/** What two people decided a status of the bank to mean for payments of a run, and what it rests on. */
export interface Decision extends CountAndSum {
  actionId: string;
  action: 'PAID' | 'NOT_PAID';
  /** As received, and nobody documents. */
  bankStatus: string;
  reason: string;
  /** The bank's written word. */
  evidence: string;
  proposedBy: string;
  proposedByName: string;
  confirmedBy: string;
  confirmedByName: string;
  confirmedAt: Date;
}

interface Row {
  action_id: string;
  action: Decision['action'];
  bank_status: string;
  reason: string;
  evidence: string;
  proposed_by: string;
  proposed_by_name: string;
  confirmed_by: string;
  confirmed_by_name: string;
  confirmed_at: Date;
  count: number;
  amount_minor: string;
}

/** The decisions on payments of a run, oldest first: of one that showed several statuses each that was decided. */
export async function decisionsOf(tx: EmployerTransaction, payRunId: string): Promise<Decision[]> {
  const rows = await tx.query<Row>(
    `SELECT a.id AS action_id, a.action, d.bank_status, a.reason, a.evidence, a.proposed_by, a.confirmed_by,
       one.name AS proposed_by_name, other.name AS confirmed_by_name, a.confirmed_at, count(*)::int AS count,
       sum(p.amount_minor) AS amount_minor
     FROM payment_decision d
     JOIN payment p ON p.employer_id = d.employer_id AND p.id = d.payment_id AND p.pay_run_id = $2
     JOIN attention_action a ON a.employer_id = d.employer_id AND a.id = d.action_id
     JOIN person one ON one.id = a.proposed_by
     JOIN person other ON other.id = a.confirmed_by
     WHERE d.employer_id = $1
     GROUP BY a.employer_id, a.id, one.name, other.name, d.bank_status ORDER BY a.confirmed_at, a.id, d.bank_status`,
    [tx.employerId, payRunId],
  );
  return rows.map((row) => ({
    actionId: row.action_id,
    action: row.action,
    bankStatus: row.bank_status,
    reason: row.reason,
    evidence: row.evidence,
    proposedBy: row.proposed_by,
    proposedByName: row.proposed_by_name,
    confirmedBy: row.confirmed_by,
    confirmedByName: row.confirmed_by_name,
    confirmedAt: row.confirmed_at,
    count: row.count,
    amountMinor: BigInt(row.amount_minor),
  }));
}
