import type { EmployerTransaction } from '../database/database';
import { instructionOfRun, type InstructionOfRun } from '../pay-run/instruction.store';
import { knownAtBank, type KnownAtBank } from './follow.store';

/** An instruction with what is needed to follow it. */
export interface Followed extends InstructionOfRun {
  known: KnownAtBank[];
}

/** Reads an instruction with what is needed to follow it. */
export async function loadFollowed(
  tx: EmployerTransaction,
  instructionId: string,
): Promise<Followed | undefined> {
  const found = await instructionOfRun(tx, instructionId);
  return found && { ...found, known: await knownAtBank(tx, found.instruction) };
}
