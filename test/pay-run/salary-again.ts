import { grantRelease } from '../../src/pay-run/pay-release';
import type { PayRun } from '../../src/pay-run/pay-run.entity';
import type { Company, PayOffice } from './pay-office';
import { type Fate, RunAtBank } from './run-at-bank';

const KEY = { employeeId: 'E-1', period: '2026-11', kindOfPay: 'SALARY' };

/** A salary that came back beside a bonus of its file, and a run that pays it again by a row that replaces neither. */
export async function salaryAgain(
  office: PayOffice,
  bonus: Fate,
): Promise<{ company: Company; run: PayRun; further: PayRun }> {
  const company = await office.company();
  const grant = (reason: string) =>
    office.in(company, (tx) => grantRelease(tx, company.approver.personId, { ...KEY, reason }));
  await grant('a bonus');
  const paid = [10_000n, 200n].map((amountMinor, releaseSequence) => ({
    employeeId: 'E-1',
    amountMinor,
    releaseSequence,
  }));
  const run = await office.run(company, paid, { kindOfPay: 'SALARY' });
  await RunAtBank.ended(office, company, run, ['RETURNED', bonus]);
  await grant('the salary again');
  const again = { employeeId: 'E-1', amountMinor: 10_000n, releaseSequence: 2 };
  const terms = { kindOfPay: 'SALARY', sequence: 1, parentRunId: run.id };
  return { company, run, further: await office.run(company, [again], terms) };
}

/** The ids of the payments of a run, in row order. */
export async function paymentIdsOf(office: PayOffice, company: Company, { id }: PayRun): Promise<string[]> {
  const found = 'SELECT id FROM payment WHERE pay_run_id = $1 ORDER BY row_no';
  return (await office.query<{ id: string }>(company, found, [id])).map((one) => one.id);
}
