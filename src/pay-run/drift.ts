import { type BankClientError, readOf, sumIn } from '../bank/errors';
import type { EmployerTransaction } from '../database/database';
import { aboutInstruction, raiseUndecided } from './attention.store';
import type { Instruction, PlannedInstruction } from './instruction.entity';

/** A read that does not follow the interface is tried again after so long; a person is told meanwhile. */
export const DRIFT_PAUSE_MS = 30_000;

/**
 * A read of an instruction does not follow the interface: a person is told, with its status. Once it was read well, or has
 * ended, it has another, so that what was decided before does not hide a drift that comes back.
 */
export async function tellOfDrift(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  error: BankClientError,
): Promise<void> {
  await raiseUndecided(tx, {
    kind: 'CONTRACT_DRIFT',
    ...aboutInstruction(instruction, planned),
    bankReference: readOf(error, instruction.bankInstructionId),
    happened: `${error.message}, read while the instruction was ${instruction.status}.`,
    bankWords: sumIn(error),
  });
}
