import type { Row } from '../../test/support/pay-rows';
import type { Ledger } from '../../test/support/payroll';
import type { Finding } from '../table';

/** What the service says of each payment of a run, or of several that pay the same people, and the bank's own book. */
export interface Book {
  said: readonly { employeeId: string; status: string }[];
  ledger: Pick<Ledger, 'payees' | 'entriesSumMinor'>;
}

export interface Judged {
  paidTwice: boolean;
  paidUnapproved: boolean;
  /** The service says something else than the book. */
  differs: boolean;
}

/** How things stand at one moment. */
export interface Look extends Judged {
  /** Every run is final. */
  final: boolean;
  /** An attention about one of the runs, or about all, is open. */
  asked: boolean;
}

/** States in which the service says nothing final of a payment. */
const OPEN = ['READY', 'APPROVED', 'AT_BANK', 'SUBMITTED'];

/** Holds a run against the bank's book. @param approved everything that was ever approved: IBAN to cents */
export function judgeBook(
  { said, ledger }: Book,
  rows: readonly Row[],
  approved: ReadonlyMap<string, bigint>,
): Judged {
  const payees = new Map(ledger.payees.map((payee) => [payee.iban, payee] as const));
  const paidUnapproved = ledger.payees.some(({ iban, count, movedMinor }) => {
    const minor = approved.get(iban);
    return minor === undefined || BigInt(movedMinor) !== minor * BigInt(count);
  });
  const differs = rows.some(({ employeeId, iban }) => {
    const statuses = said.flatMap((one) => (one.employeeId === employeeId ? one.status : []));
    const paid = (payees.get(iban)?.count ?? 0) > 0;
    return statuses.some((status) => OPEN.includes(status)) ? false : paid !== statuses.includes('SETTLED');
  });
  const paidTwice = rows.some(({ iban }) => (payees.get(iban)?.count ?? 0) > 1);
  return { paidTwice, paidUnapproved: paidUnapproved || ledger.entriesSumMinor !== '0', differs };
}

/**
 * What a run came to. At rest, with its faults still on, and at the end, when people have decided and the bank was read
 * again, it must be final or asked about, and agree with the book or be asked about. What was asked and answered on the
 * way excuses only what it could have told: money that moved before it.
 */
export function conclusionOf(first: Look, last: Look, decided: boolean): Finding {
  const attention = first.asked || decided || last.asked;
  const { paidTwice, paidUnapproved } = last;
  return {
    paidTwice,
    paidUnapproved,
    silent: (!attention && (first.differs || paidTwice || paidUnapproved)) || (last.differs && !last.asked),
    stuck: [first, last].some(({ final, asked }) => !final && !asked),
    attention,
  };
}
