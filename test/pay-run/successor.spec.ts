import { refusalOfReplacement } from '../../src/domain/replacement';
import { grantRelease } from '../../src/pay-run/pay-release';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { replaceCandidates } from '../../src/pay-run/replaced.store';
import { Company, PayOffice } from './pay-office';
import { RunAtBank } from './run-at-bank';

describe('two payments of an employee that came back', () => {
  let office: PayOffice;
  let company: Company;
  let run: PayRun;
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office?.close());

  const furtherPay = (reason: string) =>
    office.in(company, (tx) =>
      grantRelease(tx, company.approver.personId, {
        employeeId: 'E-1',
        period: '2026-11',
        kindOfPay: 'SALARY',
        reason,
      }),
    );
  beforeEach(async () => {
    company = await office.company();
    await furtherPay('a bonus');
    const paid = [100n, 200n].map((amountMinor, releaseSequence) => ({
      employeeId: 'E-1',
      amountMinor,
      releaseSequence,
    }));
    run = await office.run(company, paid, { kindOfPay: 'SALARY' });
    await RunAtBank.ended(office, company, run, ['RETURNED', 'RETURNED']);
  });

  const paidBack = async (): Promise<string[]> => {
    const sql = 'SELECT id FROM payment WHERE pay_run_id = $1 ORDER BY row_no';
    return (await office.query<{ id: string }>(company, sql, [run.id])).map(({ id }) => id);
  };
  const refusals = async () => {
    const ids = await paidBack();
    const candidates = await office.in(company, (tx) => replaceCandidates(tx, run.id, ids, ids.length));
    return candidates.map((one) => refusalOfReplacement(one, { byId: true, reason: true }));
  };
  const places = () =>
    office.query(company, 'SELECT release_sequence AS place FROM payment WHERE pay_run_id <> $1 ORDER BY 1', [
      run.id,
    ]);

  it('are paid again by one successor, also where one further payment was allowed beforehand', async () => {
    await furtherPay('one of the two');
    const successor = await office.successor(company, run, await paidBack(), { reason: 'a new account' });
    expect(successor.rowCount).toBe(2);
    expect(await places()).toEqual([{ place: 2 }, { place: 3 }]);
  });

  it('are paid again by a successor each, and by no more', async () => {
    const [first, second] = await paidBack();
    await office.successor(company, run, [first!], { reason: 'a new account' });
    expect(await refusals()).toEqual(['PAYMENT_ALREADY_REPLACED', undefined]);
    await office.successor(company, run, [second!], { reason: 'a new account', sequence: 2 });
    expect(await refusals()).toEqual(['PAYMENT_ALREADY_REPLACED', 'PAYMENT_ALREADY_REPLACED']);
    expect(await places()).toEqual([{ place: 2 }, { place: 3 }]);
  });

  it('are not paid again beside further pay that replaces none of them', async () => {
    await furtherPay('both at once');
    const again = { employeeId: 'E-1', amountMinor: 300n, releaseSequence: 2 };
    await office.run(company, [again], { kindOfPay: 'SALARY', sequence: 1, parentRunId: run.id });
    expect(await refusals()).toEqual(['EMPLOYEE_PAID_OTHERWISE', 'EMPLOYEE_PAID_OTHERWISE']);
  });
});
