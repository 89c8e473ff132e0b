import type { Row } from '../../test/support/pay-rows';
import type { Ledger } from '../../test/support/payroll';

/** What the service says of each payment of a run, and the bank's own book. */
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
  const statuses = new Map(said.map(({ employeeId, status }) => [employeeId, status] as const));
  const differs = rows.some(({ employeeId, iban }) => {
    const status = statuses.get(employeeId) ?? 'absent';
    const paid = (payees.get(iban)?.count ?? 0) > 0;
    return OPEN.includes(status) ? false : paid !== (status === 'SETTLED');
  });
  const paidTwice = rows.some(({ iban }) => (payees.get(iban)?.count ?? 0) > 1);
  return { paidTwice, paidUnapproved: paidUnapproved || ledger.entriesSumMinor !== '0', differs };
}
