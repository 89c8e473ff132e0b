import type { BankInstruction, BankPayment } from '../bank/records';
import type { EmployerTransaction } from '../database/database';
import { isOtherDate } from '../domain/shown-date';
import {
  aboutInstruction,
  type Alarm,
  isDecided,
  type Open,
  openAbout,
  raise,
  raiseAnew,
} from '../pay-run/attention.store';
import { ATTENTION_WORDS } from '../pay-run/attention-words';
import type { Instruction } from '../pay-run/instruction.entity';
import { rowsById } from '../pay-run/match';
import type { FollowedPayment } from './follow-plan';
import type { Followed } from './followed';

/** What a read showed of a submitted instruction, and of its payments, as they stand after it. */
interface Shown {
  shown?: BankInstruction;
  seen: readonly BankPayment[];
  payments: readonly FollowedPayment[];
}

/**
 * What the bank executes on another day than was approved is told once of a run: it may do so with all its instructions.
 * Where it does so otherwise with another of them, that joins what is asked. Nothing is stopped for it, and no sum is in
 * doubt. Of payments only an earlier day is told: they may take longer.
 */
export async function tellOfDates(
  tx: EmployerTransaction,
  { run, planned, instruction }: Followed,
  read: Shown,
): Promise<void> {
  const differs = differenceOf(read, run.executionDate);
  if (differs === undefined) return;
  const { happenedOf, ...asks } = differs;
  const sent = { ...SENT_AS_APPROVED, ...asks, happened: happenedOf('a submitted instruction') };
  const takenOver = { ...TAKEN_OVER, happened: happenedOf('an instruction taken over as submitted') };
  const words = (await isTakenOver(tx, instruction)) ? takenOver : sent;
  const about = { ...aboutInstruction(instruction, planned), subjectId: run.id };
  const alarm = { kind: 'DATE_DIFFERS', ...about, ...words } as const;
  const open = await openAbout(tx, alarm);
  if (open && (open.happened.includes(alarm.happened) || open.happened.length > LONGEST)) return;
  // Of how many payments it was decided is no matter: it is one day for all of them.
  if (await isDecided(tx, { ...alarm, payments: 0 }, [alarm.happened])) return;
  if (open === undefined) return raise(tx, alarm);
  const ofSeveral = { instructionId: undefined, payments: run.rowCount, amountMinor: run.totalMinor };
  await raiseAnew(tx, { ...alarm, ...together(open, alarm), ...ofSeveral });
}

type Told = Pick<Open, 'happened' | 'certain' | 'askBank'>;

/** All that is asked of a run, each once. */
function together(open: Told, more: Told & Pick<Alarm, 'bankReference'>): Told {
  const askBank = more.askBank.replaceAll('{ref}', String(more.bankReference));
  return {
    happened: `${open.happened} ${more.happened}`,
    certain: open.certain === more.certain ? open.certain : SOME_TAKEN_OVER,
    askBank: open.askBank.includes(askBank) ? open.askBank : `${open.askBank} ${askBank}`,
  };
}

/** As long as what is asked may grow, in characters: who has read of so many days asks the bank about all. */
const LONGEST = 4_000;

const WHEN_PAID = 'On which day is our account debited, and on which is each payee paid?';

const SENT_AS_APPROVED = ATTENTION_WORDS.DATE_DIFFERS;

const TAKEN_OVER = {
  certain:
    'Its submit was not in the record, and was taken over as the bank shows it: with which date it was submitted is not known. It is never sent again, and nothing is held back.',
  askBank: `With which execution date was customer instruction {ref} submitted, and by whom? ${WHEN_PAID}`,
};

const SOME_TAKEN_OVER =
  'Some were submitted once, with the date that was approved. The submit of others was not in the record, and was taken over as the bank shows it: with which date those were submitted is not known. None is ever sent again, and nothing is held back.';

/** Whether somebody else submitted it, or a restored database had forgotten that it was. */
async function isTakenOver(
  tx: EmployerTransaction,
  { bankInstructionId }: Pick<Instruction, 'bankInstructionId'>,
): Promise<boolean> {
  const taken = await tx.query(
    `SELECT FROM forgotten_instruction
     WHERE employer_id = $1 AND bank_instruction_id = $2 AND adopted_at IS NOT NULL`,
    [tx.employerId, bankInstructionId],
  );
  return taken.length > 0;
}

const WHY_EARLY = `Why were payments of customer instruction {ref} settled before the execution date it was sent with? ${WHEN_PAID}`;

interface Difference extends Pick<Alarm, 'askBank'> {
  /** In words, of an instruction that was sent, or taken over: the same of the other is another question. */
  happenedOf: (which: string) => string;
}

/** How it differs, and what the bank is asked where that is not what the kind asks. */
function differenceOf({ shown, seen, payments }: Shown, approved: string): Difference | undefined {
  const early = seen.flatMap(({ bankPaymentId, bareSettlementDate: day }) =>
    day !== undefined && day < approved ? [{ bankPaymentId, day }] : [],
  );
  // Hardly ever is there one, and each read comes by here.
  if (early.length > 0) {
    const paid = rowsById(payments.filter(({ status }) => status === 'SETTLED'));
    const [first] = early.flatMap(({ bankPaymentId, day }) => (paid.has(bankPaymentId) ? [day] : [])).sort();
    if (first !== undefined)
      return {
        happenedOf: (which) =>
          `The bank shows payments of ${which} as settled on ${first}, before the execution date ${approved} that was approved.`,
        askBank: WHY_EARLY,
      };
  }
  const date = shown?.executionDate ?? approved;
  if (!isOtherDate(date, approved)) return undefined;
  return {
    happenedOf: (which) =>
      `The bank shows the execution date ${date} for ${which} that was approved for ${approved}.`,
  };
}
