import { refusalOfReplacement } from '../../src/domain/replacement';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { replaceCandidates } from '../../src/pay-run/replaced.store';
import { PayOffice } from './pay-office';
import { RunAtBank } from './run-at-bank';
import { paymentIdsOf, salaryAgain } from './salary-again';

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
      const { company, run, further } = await salaryAgain(office, fate);
      await RunAtBank.ended(office, company, further, [back === null ? 'SETTLED' : 'RETURNED']);
      if (back !== null)
        await office.tamper('UPDATE payment SET returned_minor = $2 WHERE pay_run_id = $1', [
          further.id,
          back,
        ]);
      const refusals = async (of: PayRun) => {
        const ids = await paymentIdsOf(office, company, of);
        const candidates = await office.in(company, (tx) => replaceCandidates(tx, of.id, ids, ids.length));
        return candidates.map((one) => refusalOfReplacement(one, { byId: true, reason: true }));
      };
      if (back !== null) expect(await refusals(further)).toEqual(['RETURNED_IN_PART']);
      const [first] = await refusals(run);
      expect(first).toBeDefined();
    },
  );
});
