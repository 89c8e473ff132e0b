import { EmployerTransaction } from '../database/database';
import {
  isBeforeSubmit,
  isUnclear,
  keepingStatusOf,
  mayBeSubmitted,
  NEVER_SHOWN,
  readBankStatus,
  statusesAskedOf,
} from '../domain/bank-status';
import { textOfFirstFew } from '../domain/first-few';
import { sumMinor } from '../domain/money';
import { ATTENTION_WORDS } from '../pay-run/attention-words';
import { subjectAfterEnd } from '../pay-run/named-subject';
import { showId } from '../http/prefixed-id';
import { aboutInstruction, ALL_ENDED, clear, openAbout, raiseNaming } from '../pay-run/attention.store';
import type { AskedRows } from '../pay-run/attention.entity';
import { Instruction } from '../pay-run/instruction.entity';
import { paidAgain } from '../pay-run/stop-successors';
import { alarmOfStatus, FollowedPayment } from './follow-plan';

/** Open payments of an instruction that share a status, or wait for what the instruction's own means. */
interface StatusGroup {
  status: string;
  payments: readonly FollowedPayment[];
  ofInstruction: boolean;
}

/** How late an instruction is, and what keeps it from being read now, in words; undefined where it was read. */
interface Lately {
  shouldHaveMoved: boolean;
  overdue: boolean;
  unread?: string;
}

/** What keeps an instruction from being read, or what is read of it from being recorded. */
export const UNREADABLE = 'Nothing can be read from the bank at present.';
export const UNRECORDABLE = 'What the bank shows of them cannot be recorded.';
export const IN_ANOTHER_UNIT =
  'Nothing of it is read at present, since BANK_AMOUNT_UNIT is not what its account was checked under.';

/** What the next documented status clears by itself. */
const PASSING = ['UNKNOWN_STATUS', 'BANK_ACTION_REQUIRED'] as const;

/** What an alarm says to people. */
const HAPPENED: Record<(typeof PASSING)[number], string> = {
  UNKNOWN_STATUS: 'The bank showed a status whose meaning is not documented',
  BANK_ACTION_REQUIRED: 'The bank waits for somebody to act',
};

/** Rows named in an attention; the report names them all. */
const ROWS_NAMED = 10;

/**
 * Asks once for each instruction, however many of its open payments share the status: about statuses nobody documents,
 * and about those in which the bank waits for a person; and, of payments that are `overdue`, about any that ended
 * nothing: the bank may show no more of them (a transfer within it may rest at SUBMITTED: States and transitions).
 * Where payments that `shouldHaveMoved` are all where they were before the submit, and nothing says why, the bank is
 * asked for whom it waits, or, where they are `unread`, whether it was executed. Cleared as soon as none is left.
 * @param payments of the instruction, in row order, as they stand
 */
export async function tellOfStatuses(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  { shouldHaveMoved, overdue, unread }: Lately,
): Promise<void> {
  const groups = openStatuses(instruction, payments);
  for (const kind of PASSING) {
    const { unclear, left } = alarmingOf(kind, groups, overdue);
    const alarming = [...unclear, ...left];
    if (alarming.length === 0) {
      const maySayNothing = kind === 'BANK_ACTION_REQUIRED' && shouldHaveMoved;
      if (maySayNothing && (await tellOfStandstill(tx, instruction, payments, unread))) continue;
      await clear(
        tx,
        [kind],
        instruction.id,
        openOf(payments).length === 0 ? ALL_ENDED : 'the bank went on to a documented status',
      );
      continue;
    }
    const alarm = {
      kind,
      ...aboutInstruction(instruction),
      happened: [
        ...told(HAPPENED[kind], unclear),
        ...told(OVERDUE, left),
        ...(left.length > 0 && unread !== undefined ? [unread] : []),
      ].join(' '),
      ...(unclear.length === 0 && ABOUT_OVERDUE),
      ...heldUp(alarming.flatMap(({ payments: those }) => those)),
      ...(kind === 'UNKNOWN_STATUS' && { isAboutAll: true, askedRows: alarming.map(rowsAsked) }),
    };
    const words = alarming.map(({ status }) => ` ${status} (`);
    if (unread === undefined && saysUnread((await openAbout(tx, alarm))?.happened))
      await clear(tx, [kind], instruction.id, 'the bank is read again: told anew');
    // Not by the rows that go: each time somebody would be asked again.
    await raiseNaming(tx, alarm, words, kind === 'UNKNOWN_STATUS' ? 'over' : 'decided');
  }
}

function saysUnread(happened = ''): boolean {
  return [UNREADABLE, UNRECORDABLE, IN_ANOTHER_UNIT].some((sentence) => happened.endsWith(sentence));
}

/** The groups that a kind asks about: those whose status says so, and, once overdue, all that are open. */
function alarmingOf(
  kind: (typeof PASSING)[number],
  groups: readonly StatusGroup[],
  overdue: boolean,
): { unclear: StatusGroup[]; left: StatusGroup[] } {
  return {
    unclear: groups.filter(({ status }) => alarmOfStatus(status) === kind),
    left: groups.filter(
      ({ status, ofInstruction }) =>
        kind === 'UNKNOWN_STATUS' && overdue && !ofInstruction && !isUnclear(status),
    ),
  };
}

const OVERDUE =
  'Two banking days after the execution date the bank does not show what became of payments, but only how far they got';

const ABOUT_OVERDUE = {
  certain:
    'They were submitted once and are never sent again. Nobody who shows such a status is paid again meanwhile.',
  askBank:
    'What became of the payments of customer instruction {ref} that show these statuses: was each of them paid, or is it certain that it never will be? Please confirm that in writing.',
};

/** A sentence that names each status and whose it is; none where there is none. */
function told(happened: string, groups: readonly StatusGroup[]): string[] {
  if (groups.length === 0) return [];
  const shown = groups.map(({ status, payments, ofInstruction }) => {
    return `${status} (${ofInstruction ? 'the instruction itself' : rowsOf(payments)})`;
  });
  return [`${happened}: ${shown.join(', ')}.`];
}

function rowsOf(payments: readonly FollowedPayment[]): string {
  const rows = payments.map(({ rowNo }) => String(rowNo));
  return `rows ${textOfFirstFew(rows, ROWS_NAMED)}`;
}

/**
 * Asks once for each instruction and undocumented status that the bank shows of payments which have ended, and anew for
 * more of them; apart of those that were paid, for whom nothing waits. Cleared as soon as none is left of it.
 * @param before the payments as they stood before the read
 */
export async function tellOfShownAfterEnd(
  tx: EmployerTransaction,
  instruction: Instruction,
  before: readonly FollowedPayment[],
  payments: readonly FollowedPayment[],
): Promise<void> {
  const now = shownAfterEnd(instruction, payments);
  for (const subjectId of shownAfterEnd(instruction, before).keys())
    if (!now.has(subjectId))
      await clear(tx, ['UNKNOWN_STATUS'], subjectId, 'the bank went on to a documented status');
  for (const [subjectId, those] of now) {
    const [{ shownStatus: status, status: end }] = those;
    const alarm = {
      kind: 'UNKNOWN_STATUS',
      ...aboutInstruction(instruction),
      subjectId,
      happened: `${HAPPENED.UNKNOWN_STATUS}, of payments that had ended as ${end}: ${status} (${rowsOf(those)}).`,
      ...heldUp(those),
      isAboutAll: true,
      askedRows: [rowsAsked({ status: status ?? '', payments: those })],
    } as const;
    const again = await aboutPaidAgain(tx, those);
    const happened = [alarm.happened, ...(again?.words ?? [])].join(' ');
    const known = ATTENTION_WORDS.UNKNOWN_STATUS.certain;
    const certain =
      end === 'SETTLED' ? (again?.certain ?? known) : [again?.certain ?? known, IF_PAID].join(' ');
    await raiseNaming(tx, { ...alarm, certain, happened }, [` ${status} (`, ...(again?.words ?? [])]);
  }
}

/** Of payments that ended unpaid: only that they stay so can be decided. */
const IF_PAID =
  'If the bank says that they were paid, leave this open: no other run pays whom none has paid yet.';

/** What is said where runs have paid some of them in the meantime; else the words of the kind say it. */
async function aboutPaidAgain(
  tx: EmployerTransaction,
  payments: readonly FollowedPayment[],
): Promise<{ words: string[]; certain: string } | undefined> {
  const ids = payments.map(({ paymentId }) => paymentId);
  const { payments: count, payRunIds } = await paidAgain(tx, ids);
  if (count === 0) return undefined;
  const runs = textOfFirstFew(
    payRunIds.map((id) => showId('run', id)),
    ROWS_NAMED,
  );
  const words = [`${count} of them were paid again since, or may have been, by ${runs}.`];
  const certain =
    'The status is stored as received and changed nothing. Who was paid again was paid twice if the status means that they had been. Nobody else who shows it is paid again meanwhile.';
  return { words, certain };
}

type SomePayments = [FollowedPayment, ...FollowedPayment[]];

/** By what stands for the instruction, the end they had and the status they show; without those that were decided. */
function shownAfterEnd(
  { id }: Instruction,
  payments: readonly FollowedPayment[],
): ReadonlyMap<string, SomePayments> {
  const groups = new Map<string, SomePayments>();
  for (const payment of payments) {
    const { shownStatus, decidedStatuses, status } = payment;
    if (shownStatus === null || decidedStatuses.includes(shownStatus)) continue;
    const subjectId = subjectAfterEnd(id, status, shownStatus);
    const group = groups.get(subjectId);
    if (group) group.push(payment);
    else groups.set(subjectId, [payment]);
  }
  return groups;
}

const PAST_CUT_OFF = 'The cut-off of the execution date passed, and ';

const STANDS_STILL = `${PAST_CUT_OFF}as far as the bank shows, no open payment of the submitted instruction has moved.`;

/**
 * Raises the alarm of what is open when no payment is known to have moved since the submit, as what was refused before it
 * is not; false when one is, or none is open, or the bank says why. While nothing can be read it asks for less, and anew
 * once that can, unless two people have decided more.
 */
async function tellOfStandstill(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  unread: string | undefined,
): Promise<boolean> {
  const { kind } = readBankStatus(instruction.bankStatus ?? '');
  const open = openOf(payments);
  if (open.length === 0 || kind === 'waiting' || kind === 'terminal') return false;
  if (payments.some(({ bankStatus }) => bankStatus !== null && mayBeSubmitted(bankStatus))) return false;
  const alarm = {
    kind: 'BANK_ACTION_REQUIRED',
    ...aboutInstruction(instruction),
    happened: `${STANDS_STILL} It does not say why: it may wait for an approval or a strong authentication.`,
    certain: 'It was submitted once and is never sent again. No other instruction pays these people.',
    ...heldUp(open),
  } as const;
  if (unread === undefined) await raiseNaming(tx, alarm, [STANDS_STILL]);
  else await raiseNaming(tx, { ...alarm, ...wasItExecuted(unread) }, [PAST_CUT_OFF]);
  return true;
}

function wasItExecuted(unread: string): { happened: string; askBank: string } {
  return {
    happened: `${PAST_CUT_OFF}no open payment of the submitted instruction is known to have moved. ${unread}`,
    askBank: 'Was customer instruction {ref} executed? If not, what does it wait for?',
  };
}

function heldUp(payments: readonly FollowedPayment[]): { payments: number; amountMinor: bigint } {
  return {
    payments: payments.length,
    amountMinor: sumMinor(payments.map(({ amountMinor }) => amountMinor)),
  };
}

/** What a decision may end, of a group: what comes to show its status later nobody has asked the bank about. */
function rowsAsked({ status, payments }: Pick<StatusGroup, 'status' | 'payments'>): AskedRows {
  return { status, rows: payments.map(({ rowNo }) => rowNo) };
}

function openOf(payments: readonly FollowedPayment[]): FollowedPayment[] {
  return payments.filter(({ status }) => status === 'SUBMITTED');
}

/** By the statuses that people are asked about: of the open payments, and of the instruction while that may keep them. */
function openStatuses({ bankStatus }: Instruction, payments: readonly FollowedPayment[]): StatusGroup[] {
  const open = openOf(payments);
  const own = open.map((payment) => payment.bankStatus);
  const asked = statusesAskedOf(bankStatus, own);
  const byStatus = new Map<string, FollowedPayment[]>();
  for (const [n, payment] of open.entries()) {
    const status = own[n] ?? NEVER_SHOWN;
    // It waits for what its instruction's means.
    if (status !== asked[n]) continue;
    const group = byStatus.get(status);
    if (group) group.push(payment);
    else byStatus.set(status, [payment]);
  }
  const groups = [...byStatus].map(([status, those]) => ({ status, payments: those, ofInstruction: false }));
  const keeping = keepingStatusOf(bankStatus, own);
  if (open.length === 0 || keeping === null) return groups;
  const left = open.filter((_, n) => isBeforeSubmit(own[n] ?? NEVER_SHOWN));
  return [...groups, { status: keeping, payments: left, ofInstruction: true }];
}
