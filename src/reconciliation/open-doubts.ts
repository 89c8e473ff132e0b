import { EmployerTransaction } from '../database/database';
import { BANK_STATUSES, isPastSubmit } from '../domain/bank-status';
import { INSTRUCTION_FOLLOWED, INSTRUCTION_GIVEN_UP, INSTRUCTION_UNSENT } from '../domain/instruction';
import { SUBMITTED_OR_NOT, UNSENT_OR_NOT } from '../pay-run/attention-actions';
import { AttentionKind } from '../pay-run/attention-words';
import { ENDED, IS_WATCHED } from '../pay-run/ended-reads';
import { REFUSED_TO_SHOW } from '../pay-run/refused-access';
import { RESTORED_UNCLEAR } from '../pay-run/stop';
import { NOT_FOLLOWED } from '../pay-run/waits-for-account';

/** What says that the bank may have done more, or something else, than any sum over our rows can show. */
const DOUBTS: readonly AttentionKind[] = [
  'TOTAL_MISMATCH_AFTER_SUBMIT',
  'TOTALS_UNSEEN',
  'FOREIGN_RECORD',
  'ENTRY_OF_THE_BANK',
  'CHARGE_BEARER_DIFFERS',
  'POSSIBLE_RETURN',
  'INVARIANT_BREACH',
  'UNRECORDED_SUBMIT',
  'SUBMIT_UNKNOWN',
  'SUBMIT_REFUSED',
  'ENDED_BY_BANK',
  'REPLACED_PAYMENT_MOVED',
];

/** How `ROW_UNSEEN` begins that asks of an instruction whether somebody else submitted it. */
const SUBMIT_UNCLEAR = [UNSENT_OR_NOT, SUBMITTED_OR_NOT];

const PAST_SUBMIT = BANK_STATUSES.filter(isPastSubmit);

const RESTORED_IS_OPEN = `EXISTS (SELECT FROM attention
  WHERE employer_id = $1 AND kind = 'RESTORED' AND resolved_at IS NULL)`;

/**
 * The kinds of such attention that are open, by run: while there is one, sums that agree explain nothing. After a restore
 * nothing is explained until people have answered for it. A difference told of a single payment is one found after the
 * submit; while an instruction is built it is told of the instruction. That rows are not seen is a doubt where it is told of
 * the run: of what had ended; or where nobody knows whether somebody else submitted them. What a status means is a doubt
 * where it is asked of what had ended: what is open no sum counts yet; an answer that cannot be used, where it is one of
 * what was submitted or given up. That our access is refused is one for a run of which what had ended is not read for it,
 * once that has lasted as long as `ROW_UNSEEN` takes; that its account was checked under another unit, while anything of
 * it would be read.
 *
 * Four doubts outlast what people decide: that the bank shows of a payment what contradicts its end, or people's word, of
 * which sums count what stood first; that something moved which was given up, or which we have not submitted; that
 * something was submitted without being in the record, or may have been until the run that a restore left unclear is
 * resumed, unless all that the bank has of it was taken back or counted; and a payment that the bank goes on to show
 * otherwise than it was sent, unless they have its word that it is not paid.
 */
export async function openDoubts(
  tx: EmployerTransaction,
  payRunIds: readonly string[],
): Promise<(payRunId: string) => readonly AttentionKind[]> {
  const rows = await tx.query<{ pay_run_id: string; kinds: AttentionKind[] }>(
    `WITH otherwise AS MATERIALIZED (
       SELECT (SELECT i.pay_run_id FROM instruction i WHERE i.employer_id = $1 AND i.id = b.instruction_id) AS pay_run_id,
         (SELECT p.status FROM payment p WHERE p.employer_id = $1 AND p.id = b.payment_id) AS status
       FROM bank_payment b WHERE b.employer_id = $1 AND b.shown_otherwise IS NOT NULL),
     unread AS MATERIALIZED (
       SELECT kind, subject_id, happened, refusals FROM attention
       WHERE employer_id = $1 AND resolved_at IS NULL
         AND (kind = 'CREDENTIALS' OR kind = 'ACCOUNT_UNUSABLE' AND strpos(happened, $10) > 0))
     SELECT pay_run_id, array_agg(DISTINCT kind ORDER BY kind) AS kinds FROM (
       SELECT pay_run_id, kind FROM attention
       WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND kind = 'CONTRADICTION'
       UNION ALL
       SELECT pay_run_id, kind FROM attention
       WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND resolved_at IS NULL
         AND (kind = ANY ($3) OR kind = 'ECHO_MISMATCH' AND payment_id IS NOT NULL
           OR kind = 'UNKNOWN_STATUS' AND subject_id <> instruction_id
           OR kind = 'ROW_UNSEEN' AND (subject_id = pay_run_id
             OR EXISTS (SELECT FROM unnest($5::text[]) AS asked WHERE starts_with(happened, asked)))
           OR kind = 'CONTRACT_DRIFT' AND EXISTS (SELECT FROM instruction i
             WHERE i.employer_id = $1 AND i.id = instruction_id
               AND (i.submitted_at IS NOT NULL OR i.status = ANY ($8))))
       UNION ALL
       SELECT i.pay_run_id, u.kind FROM unread u
       JOIN pay_run r ON r.employer_id = $1 AND r.id = ANY ($2)
       JOIN instruction i ON i.employer_id = $1 AND i.pay_run_id = r.id AND i.status = ANY ($8 || $9)
       JOIN lease l ON l.subject_id = i.id AND l.kind = 'FOLLOW' AND ${IS_WATCHED}
       WHERE CASE u.kind WHEN 'ACCOUNT_UNUSABLE' THEN u.subject_id = r.account_id
         ELSE l.missing = $12 AND l.missing_since <= clock_timestamp() - interval '1 day'
           AND (strpos(u.happened, $11) > 0
             OR u.refusals @> jsonb_build_array(jsonb_build_object('runId', r.id))) END
       UNION ALL
       SELECT unnest($2), 'RESTORED' WHERE ${RESTORED_IS_OPEN}
       UNION ALL
       SELECT pay_run_id, 'ECHO_MISMATCH' FROM otherwise WHERE pay_run_id = ANY ($2) AND status <> 'VOID'
       UNION ALL
       SELECT i.pay_run_id, 'INVARIANT_BREACH' FROM moved_instruction m
       JOIN instruction i ON i.employer_id = m.employer_id AND i.id = m.instruction_id
       WHERE m.employer_id = $1 AND i.pay_run_id = ANY ($2)
       UNION ALL
       SELECT pay_run_id, 'INVARIANT_BREACH' FROM instruction
       WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND status = ANY ($6) AND bank_status = ANY ($7)
       UNION ALL
       SELECT pay_run_id, 'UNRECORDED_SUBMIT' FROM forgotten_instruction
       WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND adopted_at IS NULL AND executed_payments IS NULL
       UNION ALL
       SELECT id, 'UNRECORDED_SUBMIT' FROM pay_run
       WHERE employer_id = $1 AND id = ANY ($2) AND stopped_reason = $4
         AND restore_leaves_in_doubt(employer_id, known_restores, created_at)) doubt GROUP BY pay_run_id`,
    [
      ...[tx.employerId, payRunIds, DOUBTS, RESTORED_UNCLEAR],
      ...[SUBMIT_UNCLEAR, INSTRUCTION_UNSENT, PAST_SUBMIT],
      ...[INSTRUCTION_GIVEN_UP, INSTRUCTION_FOLLOWED, NOT_FOLLOWED, REFUSED_TO_SHOW, ENDED],
    ],
  );
  const byRun = new Map(rows.map(({ pay_run_id, kinds }) => [pay_run_id, kinds]));
  return (payRunId) => byRun.get(payRunId) ?? [];
}

/** In SQL, whether the month in $2 is that in which something was found, or the one before or after. */
const isNear = (
  found: string,
) => `$2 IN (to_char(${found} - interval '1 month', 'YYYY-MM'), to_char(${found}, 'YYYY-MM'),
  to_char(${found} + interval '1 month', 'YYYY-MM'))`;

/**
 * The doubts of a month that are of none of its runs: a restore that nobody has answered for, and what may be of it, as found
 * in that month, or the one before or after: a submit of a run that the restore made the record forget, or what the bank shows
 * and nobody can tell whose it is.
 */
export async function doubtsOfPeriod(
  tx: EmployerTransaction,
  period: string,
): Promise<readonly AttentionKind[]> {
  const rows = await tx.query<{ kind: AttentionKind }>(
    `SELECT 'RESTORED' AS kind WHERE ${RESTORED_IS_OPEN}
     UNION ALL
     SELECT 'UNRECORDED_SUBMIT' WHERE EXISTS (SELECT FROM forgotten_instruction
         WHERE employer_id = $1 AND pay_run_id IS NULL AND ${isNear('found_at')})
       OR EXISTS (SELECT FROM restore_check
         WHERE employer_id = $1 AND unidentified > 0 AND ${isNear('passed_at')})`,
    [tx.employerId, period],
  );
  return rows.map(({ kind }) => kind);
}
