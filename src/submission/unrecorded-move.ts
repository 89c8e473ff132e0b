import { EmployerTransaction } from '../database/database';
import { clearAttempt, isDecided, raise, raiseNaming } from '../pay-run/attention.store';
import { keepDifferences } from '../pay-run/difference';
import { isAskedAsForgotten, isSaidExecuted } from '../pay-run/forgotten-pay';
import { Instruction } from '../pay-run/instruction.entity';
import { UNRECORDED_MOVE, unrecordedMove } from '../pay-run/moved-instruction';
import { stopUnlessDecided } from '../pay-run/stop';
import { Work } from './work';

const GOES_ON_WITHOUT =
  'We have not submitted it, and nothing more of this run is sent: it waits for this instruction, which cannot be verified any more. The run goes on once it is amended to leave its payments out, or is cancelled; nobody of it is paid again before a person releases them.';

const SUBMITTED_OTHERWISE =
  'We have not submitted the instruction: somebody else has, and it was never seen whole as it was approved. Whoever decides about that submit has to know first which payments the bank executes.';

/**
 * An instruction of ours that is locked, and was not submitted, is past its submit at the bank: everything stops (rule 5),
 * until two people have decided it, however far the bank goes on. A run that is being submitted can only go on, so there
 * two people may take the submit over, and nothing else is asked about it any more. One that was not verified holds its
 * run up, of which people are told once they have decided that. The status is kept: the bank's ladder only climbs. While
 * people are asked about it as a submit that a restored database has forgotten, that explains it, and nothing else is asked.
 */
export async function tellOfUnrecordedMove(
  tx: EmployerTransaction,
  { instruction, planned, run }: Work,
  bankStatus: string,
): Promise<void> {
  const { employerId } = tx;
  await tx.manager.update(Instruction, { employerId, id: instruction.id }, { bankStatus });
  if (await isAskedAsForgotten(tx, instruction)) return;
  await keepDifferences(tx, instruction, planned, SUBMITTED_OTHERWISE);
  const breach = unrecordedMove(instruction, planned, bankStatus);
  await stopUnlessDecided(tx, breach, [UNRECORDED_MOVE]);
  if (run.status !== 'SUBMITTING') {
    if (instruction.status === 'BUILDING' && (await isDecided(tx, breach, [UNRECORDED_MOVE])))
      await raiseNaming(tx, { ...breach, kind: 'ROW_UNSEEN', certain: GOES_ON_WITHOUT }, [UNRECORDED_MOVE]);
    return;
  }
  if (await isSaidExecuted(tx, instruction)) return;
  await clearAttempt(tx, instruction.id, 'it was submitted by somebody else');
  await raise(tx, { ...breach, kind: 'UNRECORDED_SUBMIT' });
}
