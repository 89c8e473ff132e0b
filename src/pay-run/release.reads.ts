import { EmployerTransaction } from '../database/database';
import { RELEASE_IS_UNUSED, RELEASE_STANDS, RELEASE_USED_BY } from './pay-release';

/** A release with who made it, the payment that uses it, and who withdrew it: the service itself after a restore. */
export interface ReleaseRow {
  id: string;
  employee_id: string;
  period: string;
  kind_of_pay: string;
  sequence: number;
  reason: string;
  released_at: Date;
  released_by: string;
  releaser_name: string;
  stands: boolean;
  payment_id: string | null;
  pay_run_id: string | null;
  withdrawn_at: Date | null;
  withdrawn_by: string | null;
  withdrawer_name: string | null;
  withdrawn_reason: string | null;
}

/** What a list of releases is narrowed to; unused is what a withdrawal takes back. */
export interface ReleaseFilter {
  before?: string;
  period?: string;
  unused: boolean;
}

/** Releases of further pay, the newest first: their ids grow with time. */
export function listReleases(
  tx: EmployerTransaction,
  { before, period, unused }: ReleaseFilter,
  limit: number,
): Promise<ReleaseRow[]> {
  return tx.query<ReleaseRow>(
    `SELECT r.id, r.employee_id, r.period, r.kind_of_pay, r.sequence, r.reason, r.released_at, r.released_by,
       h.name AS releaser_name, ${RELEASE_STANDS} AS stands, used.payment_id, used.pay_run_id,
       r.withdrawn_at, r.withdrawn_by, w.name AS withdrawer_name, r.withdrawn_reason
     FROM (
       SELECT * FROM pay_release r
       WHERE r.employer_id = $1 AND ($2::text IS NULL OR r.period = $2) AND ($3::uuid IS NULL OR r.id < $3)
         AND (NOT $4 OR ${RELEASE_IS_UNUSED})
       ORDER BY r.id DESC LIMIT $5) AS r
     JOIN person h ON h.id = r.released_by
     LEFT JOIN person w ON w.id = r.withdrawn_by
     LEFT JOIN LATERAL (${RELEASE_USED_BY}) AS used ON true
     ORDER BY r.id DESC`,
    [tx.employerId, period ?? null, before ?? null, unused, limit],
  );
}
