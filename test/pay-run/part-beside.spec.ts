import { refusalOfReplacement } from '../../src/domain/replacement';
import { grantRelease } from '../../src/pay-run/pay-release';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { replaceCandidates } from '../../src/pay-run/replaced.store';
import { PayOffice } from './pay-office';
import { RunAtBank } from './run-at-bank';

const KEY = { employeeId: 'E-1', period: '2026-11', kindOfPay: 'SALARY' };
let office: PayOffice;
beforeAll(async () => {
  office = await PayOffice.open();
});
afterAll(() => office?.close());

describe.each([
  ['a bonus of the same file stands', 'SETTLED'],
  ['a bonus of the same file came back, too', 'RETURNED'],
] as const)('a salary that came back, where %s, paid again by a row that replaces neither', (_, fate) => {
  it.each([[null], [1n]])(
    'is paid by no successor while its payee may have kept what that paid (%s cents are back)',
    async (back) => {
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
      await RunAtBank.ended(office, company, run, ['RETURNED', fate]);
      await grant('the salary again');
      const again = { employeeId: 'E-1', amountMinor: 10_000n, releaseSequence: 2 };
      const terms = { kindOfPay: 'SALARY', sequence: 1, parentRunId: run.id };
      const further = await office.run(company, [again], terms);
      await RunAtBank.ended(office, company, further, [back === null ? 'SETTLED' : 'RETURNED']);
      if (back !== null)
        await office.tamper('UPDATE payment SET returned_minor = $2 WHERE pay_run_id = $1', [
          further.id,
          back,
        ]);
      const idsOf = async (of: PayRun) =>
        (
          await office.query<{ id: string }>(
            company,
            'SELECT id FROM payment WHERE pay_run_id = $1 ORDER BY row_no',
            [of.id],
          )
        ).map(({ id }) => id);
      const refusals = async (of: PayRun) => {
        const ids = await idsOf(of);
        const candidates = await office.in(company, (tx) => replaceCandidates(tx, of.id, ids, ids.length));
        return candidates.map((one) => refusalOfReplacement(one, { byId: true, reason: true }));
      };
      if (back !== null) expect(await refusals(further)).toEqual(['RETURNED_IN_PART']);
      const [first] = await refusals(run);
      expect(first).toBeDefined();
    },
  );
});
