import { findById, readById } from '../database/by-id';
import type { EmployerTransaction } from '../database/database';
import { EmployerAccount } from '../employer/employer.entity';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { planOf } from '../pay-run/instruction.store';
import { PayRun } from '../pay-run/pay-run.entity';
import { knownAtBank, type KnownAtBank } from './follow.store';

/** An instruction with what is needed to follow it. */
export interface Followed {
  instruction: Instruction;
  planned: PlannedInstruction;
  run: PayRun;
  account: EmployerAccount;
  known: KnownAtBank[];
}

/** Reads an instruction with what is needed to follow it. */
export async function loadFollowed(
  tx: EmployerTransaction,
  instructionId: string,
): Promise<Followed | undefined> {
  const instruction = await findById(tx, Instruction, instructionId);
  if (!instruction) return undefined;
  const [run, planned, known] = await Promise.all([
    readById(tx, PayRun, instruction.payRunId),
    planOf(tx, instruction),
    knownAtBank(tx, instruction),
  ]);
  const account = await readById(tx, EmployerAccount, run.accountId);
  return { instruction, planned, run, account, known };
}
