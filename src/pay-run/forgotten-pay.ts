import { EmployerTransaction } from '../database/database';
import { isPastSubmit, isUndocumented } from '../domain/bank-status';
import { MOST_MONTHS_AHEAD } from '../domain/hold';
import { MAX_DAYS_AHEAD } from '../employer/pay-limits';
import type { Instruction } from './instruction.entity';
import { RunOfKey } from './pay-key';
import type { PayRun } from './pay-run.entity';

/**
 * Whether the payments of a run `r` count as paid whatever their state: a restored database has forgotten a submit of it, or
 * it was in that and is cancelled, be it because the bank said that it had paid them; or what was given up of it has moved.
 */
export const MAY_HAVE_PAID = `(EXISTS (SELECT FROM forgotten_instruction f
    WHERE f.employer_id = r.employer_id AND f.pay_run_id = r.id AND f.adopted_at IS NULL)
  OR EXISTS (SELECT FROM moved_instruction m
    JOIN instruction i ON i.employer_id = m.employer_id AND i.id = m.instruction_id
    WHERE m.employer_id = r.employer_id AND i.pay_run_id = r.id)
  OR r.status = 'CANCELLED' AND r.known_restores < known_restores())`;

/** In SQL, how far ahead the date of an execution may be. */
const AHEAD = `make_interval(days => ${MAX_DAYS_AHEAD})`;

/** Until when what a restore found may be executed: on the date that the bank showed, or else as long after it was found. */
const executedUntil = (ahead: string) =>
  `greatest(f.found_at, coalesce(f.execution_date, f.found_at + ${ahead}))`;

/** As that, as late as a date may be. */
const EXECUTED_UNTIL = executedUntil(AHEAD);

/**
 * In SQL, whether a restored database may have forgotten a run of a period that the bank executed or will: of a month before
 * that in which the bank may execute what was forgotten, of that or the next, or as far ahead of these as pay may be. Where
 * the doubt is of known runs alone, only one of the month of such a run. By what the bank shows, and no record knows, of its
 * accounts any employer may have: one of them may have been another's before. One that was made later may itself have been
 * forgotten: it may also have by what nobody can tell whose it is.
 */
export function mayHaveForgotten(employer: string, period: string): string {
  return `EXISTS (SELECT FROM employer e
    CROSS JOIN LATERAL (SELECT to_date(${period}, 'YYYY-MM') - make_interval(months => ${1 + MOST_MONTHS_AHEAD}) AS begins) AS span
    WHERE e.id = ${employer} AND (
      EXISTS (SELECT FROM database_restore d WHERE d.nth > e.known_restores AND d.noticed_at + ${AHEAD} > begins
        AND NOT EXISTS (SELECT FROM restore_check c WHERE c.employer_id = e.id AND c.restore_id = d.id
          AND c.passed_at IS NOT NULL AND (NOT c.needs_evidence OR NOT c.may_lack_runs AND NOT EXISTS (
            SELECT FROM pay_run r
            WHERE r.employer_id = e.id AND r.period = ${period} AND r.known_restores < d.nth))))
      OR EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = e.id AND f.pay_run_id IS NULL
        AND f.adopted_at IS NULL AND ${EXECUTED_UNTIL} > begins)
      OR EXISTS (SELECT FROM forgotten_debit f JOIN employer_account a ON a.iban_hash = f.debtor_hash
        WHERE a.employer_id = e.id AND ${EXECUTED_UNTIL} > begins)
      OR EXISTS (SELECT FROM database_restore d WHERE d.nth <= e.known_restores
        AND (d.bank_read_at IS NULL AND d.noticed_at + ${AHEAD} > begins
          OR EXISTS (SELECT FROM forgotten_debit f WHERE f.restore_id = d.id AND f.debtor_hash IS NULL
            AND ${EXECUTED_UNTIL} > begins)))))`;
}

/**
 * Whether a restored database may have forgotten a submit of the run `r`, or of another that paid its people: that the record
 * has none proves nothing.
 */
export const MAY_BE_SUBMITTED = `(restore_leaves_in_doubt(r.employer_id, r.known_restores, r.created_at)
  OR repays_forgotten(r.employer_id, r.id))`;

/** As `MAY_BE_SUBMITTED`, of one run. */
export async function mayBeSubmitted(tx: EmployerTransaction, payRunId: string): Promise<boolean> {
  const [run] = await tx.query<{ may: boolean }>(
    `SELECT ${MAY_BE_SUBMITTED} AS may FROM pay_run r WHERE r.employer_id = $1 AND r.id = $2`,
    [tx.employerId, payRunId],
  );
  return run?.may ?? true;
}

/** Whether the bank may have executed since a moment, from the account of a run, what a restored database has forgotten. */
export async function mayHaveTaken(
  tx: EmployerTransaction,
  { id, accountId }: Pick<PayRun, 'id' | 'accountId'>,
  since: Date,
): Promise<boolean> {
  // A balance tells of others, too: what bears no date is not believed to be dated far ahead. A bank may book it days later.
  const taken = `${executedUntil("interval '31 days'")} + interval '2 days' > $3`;
  const forgotten = await tx.query(
    `SELECT FROM forgotten_instruction f WHERE f.employer_id = $1 AND f.adopted_at IS NULL
       AND f.executed_minor IS DISTINCT FROM 0 AND ${taken}
     UNION ALL SELECT FROM pay_run r WHERE r.employer_id = $1 AND r.id = $4
       AND restore_leaves_in_doubt(r.employer_id, r.known_restores, r.created_at)
     UNION ALL SELECT FROM forgotten_debit f WHERE ${taken} AND (f.debtor_hash IS NULL
       OR f.debtor_hash IN (SELECT a.iban_hash FROM employer_account a WHERE a.employer_id = $1 AND a.id = $2))
     LIMIT 1`,
    [tx.employerId, accountId, since, id],
  );
  return forgotten.length > 0;
}

/** The other runs of a period that may have paid. */
export async function runsThatMayHavePaid(
  tx: EmployerTransaction,
  { id, period }: Pick<RunOfKey, 'id' | 'period'>,
): Promise<string[]> {
  const runs = await tx.query<{ id: string }>(
    `SELECT r.id FROM pay_run r WHERE r.employer_id = $1 AND r.period = $2 AND r.id <> $3 AND ${MAY_HAVE_PAID}`,
    [tx.employerId, period, id],
  );
  return runs.map((run) => run.id);
}

/**
 * Those of some payments that ended unpaid whom another run may have paid all the same: one that a restored database has
 * forgotten or that is cancelled after it, or one of which nobody knows whom it paid.
 */
export async function mayBePaidByAnother(
  tx: EmployerTransaction,
  paymentIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const paid = await tx.query<{ id: string }>(
    `SELECT p.id FROM payment p WHERE p.employer_id = $1 AND p.id = ANY ($2)
       AND may_be_paid_by_another(p.employer_id, p.id, p.release_sequence)`,
    [tx.employerId, paymentIds],
  );
  return new Set(paid.map(({ id }) => id));
}

/** Whether the run pays whom a submit that is not in the record, of it or of another run, may have paid. */
export async function repaysForgotten(tx: EmployerTransaction, payRunId: string): Promise<boolean> {
  const [run] = await tx.query<{ repays: boolean }>('SELECT repays_forgotten($1, $2) AS repays', [
    tx.employerId,
    payRunId,
  ]);
  return run?.repays ?? true;
}

/**
 * Whether two people said on the bank's written word that an instruction was executed, which could not be taken into the
 * record: it is asked about no more, and nobody of it is paid again.
 */
export async function isSaidExecuted(
  tx: EmployerTransaction,
  { bankInstructionId }: Pick<Instruction, 'bankInstructionId'>,
): Promise<boolean> {
  const said = await tx.query(
    `SELECT FROM forgotten_instruction WHERE employer_id = $1 AND bank_instruction_id = $2 AND action_id IS NOT NULL
       AND adopted_at IS NULL`,
    [tx.employerId, bankInstructionId],
  );
  return said.length > 0;
}

/** Whether a restored database has forgotten a submit of the run that was neither taken back nor decided. */
export async function hasForgotten(tx: EmployerTransaction, payRunId: string): Promise<boolean> {
  const forgotten = await tx.query(
    `SELECT FROM forgotten_instruction WHERE employer_id = $1 AND pay_run_id = $2 AND action_id IS NULL
       AND adopted_at IS NULL`,
    [tx.employerId, payRunId],
  );
  return forgotten.length > 0;
}

/** Whether a restored database has forgotten that an instruction was, or may have been, submitted, and nobody has decided it. */
export async function isAskedAsForgotten(
  tx: EmployerTransaction,
  instruction: Pick<Instruction, 'bankInstructionId'>,
): Promise<boolean> {
  return (await foundAs(tx, instruction)) !== undefined;
}

/** As `isAskedAsForgotten`, of what the restore found as submitted: nobody released its payments in the belief that it was not. */
export async function isFoundSubmitted(
  tx: EmployerTransaction,
  instruction: Pick<Instruction, 'bankInstructionId'>,
): Promise<boolean> {
  return isPastSubmit((await foundAs(tx, instruction)) ?? '');
}

/** The status in which a restore found what is asked about and not decided. */
export async function foundAs(
  tx: EmployerTransaction,
  { bankInstructionId }: Pick<Instruction, 'bankInstructionId'>,
): Promise<string | undefined> {
  const [found] = await tx.query<{ status: string }>(
    `SELECT bank_status AS status FROM forgotten_instruction
     WHERE employer_id = $1 AND bank_instruction_id = $2 AND action_id IS NULL AND adopted_at IS NULL`,
    [tx.employerId, bankInstructionId],
  );
  return found?.status;
}

/**
 * Whether another run can pay, or has paid, whom an instruction was to pay that a restore found in a status that no document
 * names: people released further payments since, in a run made since or held until then, as if it was not submitted.
 */
export async function isReleasedSince(tx: EmployerTransaction, bankInstructionId: string): Promise<boolean> {
  const released = await tx.query<{ status: string }>(
    `SELECT f.bank_status AS status FROM forgotten_instruction f
     WHERE f.employer_id = $1 AND f.bank_instruction_id = $2 AND f.restore_id IS NOT NULL AND EXISTS (
       SELECT FROM payment o
       JOIN payment p ON p.employer_id = o.employer_id AND p.period = o.period AND p.kind_of_pay = o.kind_of_pay
         AND p.employee_id = o.employee_id AND p.live AND p.release_sequence > o.release_sequence
         AND p.pay_run_id <> o.pay_run_id
       JOIN pay_run r ON r.employer_id = p.employer_id AND r.id = p.pay_run_id
       WHERE o.employer_id = f.employer_id AND o.pay_run_id = f.pay_run_id
         AND (r.created_at > f.found_at OR EXISTS (SELECT FROM pay_hold h
           WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id AND h.row_no = p.row_no
             AND h.outcome = 'RELEASED' AND h.decided_at > f.found_at)))`,
    [tx.employerId, bankInstructionId],
  );
  return released.some(({ status }) => isUndocumented(status));
}
