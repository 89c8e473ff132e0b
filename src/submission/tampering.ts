import { EmployerTransaction } from '../database/database';
import { raise } from '../pay-run/attention.store';
import { NOTHING_TO_ASK } from '../pay-run/attention-words';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { stopEmployer } from '../pay-run/stop';

/** The payments of an instruction are not those that were planned. */
export class RowsChanged extends Error {}

/** The stored rows are not what was approved: nothing more of this employer is sent, and a person is told. */
export async function reportTampering(
  tx: EmployerTransaction,
  planned: PlannedInstruction,
  instructionId?: string,
): Promise<void> {
  await stopEmployer(tx, 'INVARIANT_BREACH');
  const ofPlan = { employerId: tx.employerId, id: instructionId };
  const instruction = instructionId ? await tx.manager.findOneBy(Instruction, ofPlan) : null;
  const bankReference = instruction?.bankInstructionId;
  await raise(tx, {
    kind: 'INVARIANT_BREACH',
    subjectId: planned.id,
    payRunId: planned.payRunId,
    instructionId,
    bankReference,
    askBank: bankReference ? undefined : NOTHING_TO_ASK,
    happened: `The stored payments of rows ${planned.firstRow} to ${planned.lastRow} are not those that were approved.`,
    payments: planned.rowCount,
    amountMinor: planned.totalMinor,
  });
}
