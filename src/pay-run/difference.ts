import { EmployerTransaction } from '../database/database';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import {
  aboutInstruction,
  type Alarm,
  clear,
  type Open,
  openAbout,
  raise,
  raiseAnew,
} from './attention.store';
import type { Instruction, PlannedInstruction } from './instruction.entity';

const KIND = 'ECHO_MISMATCH';

/** The questions about what differs, each of its own: of payments that were never sent, and of those that were. */
export const ASKED_OF_DIFFERENCES = ['FOREIGN_RECORD', KIND] as const;

/** How an attempt at a planned instruction differs. */
export interface Differences extends Pick<Alarm, 'certain'> {
  kind: (typeof ASKED_OF_DIFFERENCES)[number];
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
    `WITH asked AS MATERIALIZED (
       SELECT a.happened, a.differing FROM instruction i
       JOIN attention a ON a.employer_id = i.employer_id AND a.instruction_id = i.id
       WHERE i.employer_id = $1 AND i.planned_instruction_id = $2 AND a.kind = $3
         AND (a.resolved_at IS NULL OR EXISTS (SELECT FROM attention_action d
           WHERE d.employer_id = a.employer_id AND d.attention_id = a.id AND d.confirmed_at IS NOT NULL)))
     SELECT words FROM unnest($4::text[]) WITH ORDINALITY AS n(words, place)
     WHERE NOT EXISTS (SELECT FROM asked, unnest(differing) AS told WHERE told = words)
       AND NOT EXISTS (SELECT FROM asked WHERE differing IS NULL AND strpos(happened, words) > 0)
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
  const happened = `${what}: ${textOfFirstFew(fresh, MOST_NAMED)}.`;
  await askMore(tx, instruction, planned, { ...about, subjectId }, { happened, differing: fresh });
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
  const asked = await openAbout(tx, { kind: KIND, subjectId: instruction.id });
  if (asked === undefined) return;
  await clear(tx, [KIND], instruction.id, 'it has ended: asked of all its attempts at once');
  await askMore(tx, instruction, planned, { kind: KIND, subjectId: planned.id, certain }, asked);
}

/** The text of a question, and all that it is about: each in its words, of which the text tells the first few. */
type Asked = Pick<Open, 'happened' | 'differing'>;

async function askMore(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  about: Pick<Alarm, 'kind' | 'subjectId' | 'certain'>,
  more: Asked,
): Promise<void> {
  const asked = await openAbout(tx, about);
  const { happened, differing } = asked === undefined ? more : together(asked, more);
  if (happened === asked?.happened) return;
  const bankReference = await attemptsIn(tx, planned, happened);
  const alarm = { ...aboutInstruction(instruction, planned), ...about, bankReference, happened, differing };
  await (asked === undefined ? raise(tx, alarm) : raiseAnew(tx, alarm));
}

function together(asked: Asked, more: Asked): Asked {
  if (asked.happened.endsWith(MORE)) return asked;
  const happened = `${asked.happened}${asked.happened.length > LONGEST ? MORE : ` ${more.happened}`}`;
  const differing = asked.differing && more.differing ? [...asked.differing, ...more.differing] : null;
  return { happened, differing };
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
