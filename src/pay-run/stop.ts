import { EmployerTransaction } from '../database/database';
import { raise } from './attention.store';
import { Instruction, PlannedInstruction } from './instruction.entity';

/** Throws the switch that stops every submit of every employer. */
export async function stopEverything(tx: EmployerTransaction, reason: string): Promise<void> {
  await tx.query(
    `UPDATE service_switch SET submits_off = true, reason = $1, changed_at = clock_timestamp() WHERE NOT submits_off`,
    [reason],
  );
}

/** A submitted instruction holds something else than was approved: everything stops and a person is told. */
export async function totalsDiffer(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
): Promise<void> {
  await raise(tx, {
    kind: 'TOTAL_MISMATCH_AFTER_SUBMIT',
    subjectId: instruction.id,
    payRunId: instruction.payRunId,
    instructionId: instruction.id,
    bankReference: instruction.bankInstructionId,
    payments: planned.rowCount,
    amountMinor: planned.totalMinor,
    happened: 'After the submit the bank shows another count or sum than was approved.',
  });
  await stopEverything(tx, 'TOTAL_MISMATCH_AFTER_SUBMIT');
}

/** Takes back the stops a breach threw: of everything, of the employer and of one run. */
export async function resumeAll(tx: EmployerTransaction, payRunId: string | null): Promise<void> {
  await tx.query(
    `UPDATE service_switch SET submits_off = false, reason = NULL, changed_at = clock_timestamp() WHERE submits_off`,
  );
  await tx.query(`UPDATE employer SET stopped_at = NULL, stopped_reason = NULL WHERE id = $1`, [
    tx.employerId,
  ]);
  await tx.query(
    `UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, payRunId],
  );
  await tx.query(
    `UPDATE lease SET wake_at = least(wake_at, clock_timestamp()) WHERE employer_id = $1 AND kind <> 'FOLLOW'`,
    [tx.employerId],
  );
}
