import { isPayRunFinal, type PayRunStatus } from '../../src/domain/pay-run';
import type { Row } from '../../test/support/pay-rows';
import type { Ledger } from '../../test/support/payroll';
import { MONEY_MOVED } from '../model/verdict';
import type { Finding } from '../table';

/** What the service says of a run and, read after that, of each of its payments. */
export interface SaidOfRun {
  status: PayRunStatus;
  payments: readonly {
    employeeId: string;
    status: string;
    /** People were told that the bank has shown another end since: the first one stands, and they know of it. */
    contradicted?: boolean;
  }[];
}

/** What the service says of a run, or of several that pay the same people, and the bank's own book. */
export interface Book {
  runs: readonly SaidOfRun[];
  ledger: Pick<Ledger, 'payees' | 'entriesSumMinor'>;
}

export interface Judged {
  paidTwice: boolean;
  paidUnapproved: boolean;
  /** The service says something else than the book, or nothing final of a payment whose run is. */
  differs: boolean;
}

/** How things stand at one moment. */
export interface Look extends Judged {
  /** Of every run. */
  statuses: readonly PayRunStatus[];
  /** Every run is final. */
  final: boolean;
  /** An attention about one of the runs, or about all, is open. */
  asked: boolean;
  /** A submit of one of them is in doubt, and people have not decided it. */
  inDoubt: boolean;
  /** What is open and the desk refused to decide, whatever people tried, in words. */
  refused: readonly string[];
}

/** States in which the service says nothing final of a payment. */
const OPEN = ['READY', 'APPROVED', 'AT_BANK', 'SUBMITTED'];
/** All that a run may leave of its payments that was cancelled. */
const UNSENT = ['CANCELLED', 'EXCLUDED'];

/** Holds a run against the bank's book. @param approved everything that was ever approved: IBAN to cents */
export function judgeBook(
  { runs, ledger }: Book,
  rows: readonly Row[],
  approved: ReadonlyMap<string, bigint>,
): Judged {
  const payees = new Map(ledger.payees.map((payee) => [payee.iban, payee] as const));
  const paidUnapproved = ledger.payees.some(({ iban, count, movedMinor }) => {
    const minor = approved.get(iban);
    return minor === undefined || BigInt(movedMinor) !== minor * BigInt(count);
  });
  const differs = rows.some(({ employeeId, iban }) => {
    const mine = runs.flatMap(({ payments }) => payments.filter((one) => one.employeeId === employeeId));
    if (mine.some(({ contradicted }) => contradicted === true)) return false;
    const statuses = mine.map(({ status }) => status);
    const paid = (payees.get(iban)?.count ?? 0) > 0;
    return statuses.some((status) => OPEN.includes(status)) ? false : paid !== statuses.includes('SETTLED');
  });
  const paidTwice = rows.some(({ iban }) => (payees.get(iban)?.count ?? 0) > 1);
  return {
    paidTwice,
    paidUnapproved: paidUnapproved || ledger.entriesSumMinor !== '0',
    differs: differs || runs.some(leavesOpen),
  };
}

/** Whether a run is final and one of its payments is not. */
function leavesOpen({ status, payments }: SaidOfRun): boolean {
  if (status === 'CANCELLED') return payments.some((one) => !UNSENT.includes(one.status));
  return isPayRunFinal(status) && payments.some((one) => OPEN.includes(one.status));
}

/**
 * What a run came to. At rest, with its faults still on, and at the end, when people have decided and the bank was read
 * again, it must be final or asked about, and agree with the book or be asked about. What was asked and answered on the
 * way excuses only what it could have told: of money that moved and should not have, only what tells of such, and of what
 * was wrong at rest nothing that was asked later. What the desk refuses to decide to the end is left undecided.
 * @param raised the kinds of everything that was asked since it began: by the first look, and in all
 */
export function conclusionOf(
  first: Look,
  last: Look,
  decided: boolean,
  raised: { first: readonly string[]; all: readonly string[] },
): Finding {
  const { paidTwice, paidUnapproved } = last;
  return {
    paidTwice,
    paidUnapproved,
    silent: !isTold(first, raised.first) || (last.differs && !last.asked) || !isMoneyTold(last, raised.all),
    stuck: [first, last].some(isStuck),
    undecided: last.refused.length > 0,
    attention: first.asked || decided || last.asked,
  };
}

/** Whether people were told of whatever is wrong. @param raised the kinds of everything that was asked by then */
export function isTold(look: Look, raised: readonly string[]): boolean {
  return (!look.differs || look.asked || raised.length > 0) && isMoneyTold(look, raised);
}

/** A doubt that was decided tells nothing of what moved since. */
function isMoneyTold({ paidTwice, paidUnapproved, inDoubt }: Look, raised: readonly string[]): boolean {
  const tells = MONEY_MOVED.filter((kind) => kind !== 'SUBMIT_UNKNOWN');
  return !(paidTwice || paidUnapproved) || inDoubt || tells.some((kind) => raised.includes(kind));
}

export function isStuck({ final, asked }: Look): boolean {
  return !final && !asked;
}

/** What a run that is stuck stood at, at rest and at the end, in words; none where it is not. */
export function standingOf(first: Look, last: Look, raised: readonly string[]): string[] {
  const told = Object.entries({ 'at rest': first, 'at the end': last });
  if (!told.some(([, look]) => isStuck(look))) return [];
  const words = told.map(
    ([when, { statuses, asked }]) => `${when} ${statuses.join(', ')}${asked ? ' and asked about' : ''}`,
  );
  return [...words, `since it began ${raised.join(', ') || 'nothing'} was asked`];
}

/** In words, where one of the kinds is that an invariant broke. */
export function breachesOf(raised: readonly string[]): string[] {
  return raised.includes('INVARIANT_BREACH') ? ['an invariant broke'] : [];
}
