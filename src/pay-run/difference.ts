import { EmployerTransaction } from '../database/database';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { aboutInstruction, type Alarm, clear, openText, raise, raiseAnew } from './attention.store';
import type { Instruction, PlannedInstruction } from './instruction.entity';

const KIND = 'ECHO_MISMATCH';

/** How an attempt at a planned instruction differs. */
export interface Differences extends Pick<Alarm, 'certain'> {
  kind: 'ECHO_MISMATCH' | 'FOREIGN_RECORD';
  /** What names the attempt, by `shownOtherwise` or `answeredOtherwise`. */
  what: string;
  /** Each in words that tell it from any other of the plan. */
  named: readonly string[];
}

/** As long as what is asked may grow, in characters: of what joins it then it is only said that there is more. */
const LONGEST = 4_000;
const MORE = ' Other payments differ as well.';

/** How what a read shows of an instruction begins, before what differs. */
export function shownOtherwise(instruction: Pick<Instruction, 'bankInstructionId'>): string {
  return `The bank shows ${nameOf(instruction)} than it was approved`;
}

/** How what was answered to its adds begins, before what differs. */
export function answeredOtherwise(instruction: Pick<Instruction, 'bankInstructionId'>): string {
  return `The bank answered adds to ${nameOf(instruction)} than they were sent`;
}

const OTHERWISE = 'otherwise';

function nameOf({ bankInstructionId }: Pick<Instruction, 'bankInstructionId'>): string {
  return `customer instruction ${bankInstructionId} ${OTHERWISE}`;
}

/**
 * Those of some differences of a planned instruction of which people are not asked in any of its attempts, and which no two
 * have decided; who is asked where a stranger comes from is not asked of rows. What they decided holds under a later
 * approval too: it let nothing go, and the bank shows the same.
 */
export async function untoldOf(
  tx: EmployerTransaction,
  { id }: Pick<PlannedInstruction, 'id'>,
  named: readonly string[],
): Promise<string[]> {
  const untold = await tx.query<{ words: string }>(
    `SELECT words FROM unnest($4::text[]) WITH ORDINALITY AS n(words, place)
     WHERE NOT EXISTS (
       SELECT FROM instruction i JOIN attention a ON a.employer_id = i.employer_id AND a.instruction_id = i.id
       WHERE i.employer_id = $1 AND i.planned_instruction_id = $2 AND a.kind = $3 AND strpos(a.happened, words) > 0
         AND (a.resolved_at IS NULL OR EXISTS (SELECT FROM attention_action d
           WHERE d.employer_id = a.employer_id AND d.attention_id = a.id AND d.confirmed_at IS NOT NULL)))
     ORDER BY place`,
    [tx.employerId, id, KIND, named],
  );
  return untold.map(({ words }) => words);
}

/**
 * Asks how an instruction differs, or differed that is given up before its run is submitted. It holds nothing and may be
 * fraud, so that it is one question about its subject until two people decide it, told anew with all where more differs.
 * What was never sent is another payment in each attempt.
 * @param subjectId the plan, unless a read of the attempt may still answer it
 */
export async function askOfDifferences(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  { what, named, ...about }: Differences,
  subjectId = planned.id,
): Promise<void> {
  const fresh = about.kind === 'FOREIGN_RECORD' ? named : await untoldOf(tx, planned, named);
  if (fresh.length === 0) return;
  await askMore(
    tx,
    instruction,
    planned,
    { ...about, subjectId },
    `${what}: ${textOfFirstFew(fresh, MOST_NAMED)}.`,
  );
}

/**
 * What is asked of an instruction while it is built, no read can answer once it has ended: it is asked of the plan.
 * @param certain where it was not given up to be built again
 */
export async function keepDifferences(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  certain?: string,
): Promise<void> {
  const asked = await openText(tx, { kind: KIND, subjectId: instruction.id });
  if (asked === undefined) return;
  await clear(tx, [KIND], instruction.id, 'it has ended: asked of all its attempts at once');
  await askMore(tx, instruction, planned, { kind: KIND, subjectId: planned.id, certain }, asked);
}

async function askMore(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  about: Pick<Alarm, 'kind' | 'subjectId' | 'certain'>,
  text: string,
): Promise<void> {
  const asked = await openText(tx, about);
  if (asked?.endsWith(MORE)) return;
  const longer = asked !== undefined && asked.length > LONGEST ? `${asked}${MORE}` : `${asked} ${text}`;
  const happened = asked === undefined ? text : longer;
  const bankReference = await attemptsIn(tx, planned, happened);
  const alarm = { ...aboutInstruction(instruction, planned), ...about, bankReference, happened };
  await (asked === undefined ? raise(tx, alarm) : raiseAnew(tx, alarm));
}

/** The bank's ids of the attempts that a text names: it is asked about each of them. */
async function attemptsIn(
  tx: EmployerTransaction,
  { id }: Pick<PlannedInstruction, 'id'>,
  happened: string,
): Promise<string | null> {
  const [named] = await tx.query<{ ids: string | null }>(
    `SELECT string_agg(bank_instruction_id, ', ' ORDER BY attempt) AS ids FROM instruction
     WHERE employer_id = $1 AND planned_instruction_id = $2 AND strpos($3, format('instruction %s ${OTHERWISE}', bank_instruction_id)) > 0`,
    [tx.employerId, id, happened],
  );
  return named?.ids ?? null;
}
