import { EmployerTransaction } from '../database/database';
import { PAY_RUN_FINALS } from '../domain/pay-run';
import { aboutInstruction } from './attention.store';
import { Instruction, PlannedInstruction } from './instruction.entity';
import { tellOfPaidAlready } from './paid-already';
import { stopUnlessDecided } from './stop';

/**
 * What was given up is past its submit at the bank: everything stops until two people have decided it. Whom it may have
 * paid stays written down, so that no run pays them again by that decision: those that would are stopped and can be
 * amended or cancelled.
 * @param bankStatus a status past the submit, of it or of one of its payments
 */
export async function tellOfMovedTombstone(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  bankStatus: string,
): Promise<void> {
  await keepMoved(tx, instruction, bankStatus);
  await stopUnlessDecided(tx, {
    kind: 'INVARIANT_BREACH',
    ...aboutInstruction(instruction, planned),
    happened: `An instruction that was ${instruction.status.toLowerCase()} has moved at the bank. Nobody of it is paid again by any run before it leaves them out, or a person released them.`,
  });
}

/**
 * Writes down that what was given up has moved, once: of other attempts the rows may have been submitted since, or may be
 * left out and their run resumed. People are asked about each run that would pay them again.
 */
export async function keepMoved(
  tx: EmployerTransaction,
  { id }: Instruction,
  bankStatus: string,
): Promise<void> {
  const kept = await tx.query(
    `INSERT INTO moved_instruction (employer_id, instruction_id, bank_status) VALUES ($1, $2, $3)
     ON CONFLICT DO NOTHING RETURNING instruction_id`,
    [tx.employerId, id, bankStatus],
  );
  if (kept.length === 0) return;
  const runs = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run WHERE employer_id = $1 AND status <> ALL ($2) AND repays_forgotten(employer_id, id)
     ORDER BY id FOR NO KEY UPDATE`,
    [tx.employerId, PAY_RUN_FINALS],
  );
  await tx.query(
    `UPDATE pay_run SET stopped_at = clock_timestamp(), stopped_reason = 'POSSIBLE_DUPLICATE_PAY'
     WHERE employer_id = $1 AND id = ANY ($2) AND stopped_at IS NULL`,
    [tx.employerId, runs.map((run) => run.id)],
  );
  for (const run of runs) await tellOfPaidAlready(tx, run.id);
}
