import type { TakenAgain } from '../domain/balance';
import { readById } from '../database/by-id';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import type { AskedLoss } from './attention.entity';
import { aboutInstruction, type Alarm } from './attention.store';
import { Instruction } from './instruction.entity';
import { stopUnlessDecided } from './stop';

/** What matters of the words below: that all were executed again is no news of one that was told by itself. */
const LOST_AGAIN = ' exactly as much again as ';

/**
 * Stops everything, and tells a person, for what the account lost again, of one instruction or of more of a run: of that
 * run, whoever looked, beside what totals show, which may be asked about at the same time. Another sum is another question.
 * Where several runs are asked at once, each question keeps that it is of the same loss.
 */
export async function accountLostAgain(tx: EmployerTransaction, all: readonly TakenAgain[]): Promise<void> {
  const loss = lossOf(all);
  for (const taken of all) {
    const { payRunId, instructionId, someOf, payments, amountMinor } = taken;
    const instruction =
      instructionId === undefined ? undefined : await readById(tx, Instruction, instructionId);
    const isOfOne = all.length === 1 && instruction !== undefined;
    const alarm = {
      kind: 'TOTAL_MISMATCH_AFTER_SUBMIT',
      ...(instruction && aboutInstruction(instruction)),
      subjectId: payRunId,
      payRunId,
      payments,
      amountMinor,
      beyond: { count: payments, totalMinor: amountMinor },
      loss,
      isAboutSum: true,
      ...(isOfOne
        ? ofOne(taken)
        : someOf.length > 0
          ? ofSome(taken, await namesOf(tx, someOf))
          : ofAll(taken)),
    } as const;
    await stopUnlessDecided(tx, alarm, [LOST_AGAIN]);
  }
}

/** Undefined where it is of one run, which alone is asked. */
function lossOf(all: readonly TakenAgain[]): AskedLoss | undefined {
  const [first, ...others] = all;
  if (first === undefined || others.length === 0) return undefined;
  const { count, amountMinor } = first.ofAll;
  return { id: newId(), payments: count, minor: String(amountMinor) };
}

/** What the bank calls instructions. */
async function namesOf(tx: EmployerTransaction, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `SELECT bank_instruction_id AS name FROM instruction WHERE employer_id = $1 AND id = ANY ($2) ORDER BY id`,
    [tx.employerId, ids],
  );
  return rows.map(({ name }) => name);
}

type Told = Pick<Alarm, 'happened' | 'certain' | 'askBank'>;

const EACH_ONCE = 'Each submit was sent once, and every payment is shown once. All submits are stopped.';

function ofOne({ times }: TakenAgain): Told {
  return {
    happened: `Its account lost, besides what the payments took,${LOST_AGAIN}this instruction pays${over(times)}: the bank may have executed its submit ${more(times)}, or another that people declared not executed, or something else was paid from it.`,
    certain: 'The submit was sent once, and every payment is shown once. All submits are stopped.',
    askBank: `Was customer instruction {ref} executed ${more(times)}, or one of ours that you said was not executed? The account lost its sum again${over(times)}: what was booked on it since? Please take back what was paid ${more(times)}.`,
  };
}

function ofSome({ times }: TakenAgain, names: readonly string[]): Told {
  return {
    happened: `Its account lost, besides what the payments took,${LOST_AGAIN}some instructions pay, of this run or of others paid from the account${over(times)}: the bank may have executed a submit ${more(times)}, or another that people declared not executed, or something else was paid from it. The balance alone cannot tell which.`,
    certain: EACH_ONCE,
    askBank: `Was any of our customer instructions ${textOfFirstFew(names, MOST_NAMED)} executed ${more(times)}, or one of ours that you said was not executed? The account lost the sum of one or several of them again${over(times)}: what was booked on it since? Please answer for each of them, and take back what was paid ${more(times)}.`,
  };
}

function ofAll({ times }: TakenAgain): Told {
  return {
    happened: `Its account lost, besides what the payments took,${LOST_AGAIN}all of them together${over(times)}: the bank may have executed every submit ${more(times)}, or others that people declared not executed, or something else was paid from it.`,
    certain: EACH_ONCE,
    askBank: `Were our customer instructions ({ref}) executed ${more(times)}, or any of ours that you said were not executed? The account lost their sum again${over(times)}: what was booked on it since? Please take back what was paid ${more(times)}.`,
  };
}

function over(times: number): string {
  return times === 1 ? '' : `, ${times} times over`;
}

function more(times: number): string {
  return times === 1 ? 'twice' : 'more than once';
}
