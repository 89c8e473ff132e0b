import { EmployerTransaction } from '../database/database';
import { aboutInstruction, clearAttempt, raise } from '../pay-run/attention.store';
import { isSaidExecuted } from '../pay-run/forgotten-pay';
import { Instruction } from '../pay-run/instruction.entity';
import { stopUnlessDecided } from '../pay-run/stop';
import { Work } from './work';

/**
 * An instruction of ours that is locked, and was not submitted, is past its submit at the bank: everything stops (rule 5),
 * until two people have decided this status. A run that is being submitted can only go on, so there two people may take
 * the submit over, and nothing else is asked about it any more. The status is kept: the bank's ladder only climbs.
 */
export async function tellOfUnrecordedMove(
  tx: EmployerTransaction,
  { instruction, planned, run }: Work,
  bankStatus: string,
): Promise<void> {
  const { employerId } = tx;
  await tx.manager.update(Instruction, { employerId, id: instruction.id }, { bankStatus });
  const about = {
    ...aboutInstruction(instruction, planned),
    happened: `Instruction ${instruction.bankInstructionId ?? ''}: its status is ${bankStatus} though it was never submitted.`,
  };
  await stopUnlessDecided(tx, { kind: 'INVARIANT_BREACH', ...about });
  if (run.status !== 'SUBMITTING' || (await isSaidExecuted(tx, instruction))) return;
  await clearAttempt(tx, instruction.id, 'it was submitted by somebody else');
  await raise(tx, { kind: 'UNRECORDED_SUBMIT', ...about });
}
