import { EmployerTransaction } from '../database/database';
import { isPastSubmit, isUndocumented } from '../domain/bank-status';
import type { Instruction } from './instruction.entity';
import { RunOfKey } from './pay-key';

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
