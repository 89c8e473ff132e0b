import { EmployerTransaction } from '../database/database';
import { aboutInstruction, clear, openText, raise, raiseAnew } from './attention.store';
import type { Instruction, PlannedInstruction } from './instruction.entity';

const KIND = 'ECHO_MISMATCH';

/** Whether people are asked about any attempt of a planned instruction in these words, or two have decided that. */
export async function isDifferenceTold(
  tx: EmployerTransaction,
  { id }: Pick<PlannedInstruction, 'id'>,
  happened: string,
): Promise<boolean> {
  const told = await tx.query(
    `SELECT FROM instruction i JOIN attention a ON a.employer_id = i.employer_id AND a.instruction_id = i.id
     WHERE i.employer_id = $1 AND i.planned_instruction_id = $2 AND a.kind = $3 AND strpos(a.happened, $4) > 0
       AND (a.resolved_at IS NULL OR EXISTS (SELECT FROM attention_action d
         WHERE d.employer_id = a.employer_id AND d.attention_id = a.id AND d.confirmed_at IS NOT NULL))
     LIMIT 1`,
    [tx.employerId, id, KIND, happened],
  );
  return told.length > 0;
}

/**
 * Asks how an instruction differed that is given up before its run is submitted. It holds nothing and may be fraud, so
 * that it is one question about the plan until two people decide it, told anew where an attempt differs otherwise.
 */
export async function askOfDifference(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  happened: string,
): Promise<void> {
  if (await isDifferenceTold(tx, planned, happened)) return;
  const about = { kind: KIND, subjectId: planned.id } as const;
  const asked = await openText(tx, about);
  const alarm = { ...aboutInstruction(instruction, planned), ...about };
  await (asked === undefined
    ? raise(tx, { ...alarm, happened })
    : raiseAnew(tx, { ...alarm, happened: `${asked} ${happened}` }));
}

/** What is asked of an instruction while it is built, no read can answer once it is given up: it is asked of the plan. */
export async function keepDifference(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
): Promise<void> {
  const asked = await openText(tx, { kind: KIND, subjectId: instruction.id });
  if (asked === undefined) return;
  await clear(tx, [KIND], instruction.id, 'it was given up: asked of all its attempts at once');
  await askOfDifference(tx, instruction, planned, asked);
}
