import type { BankPayment } from '../../src/bank/records';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentSource } from '../../src/settlement/payment-source';
import { eventually } from '../support/eventually';
import { passThrough } from '../support/payments-shown';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const FAILS = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')!.iban;

describe('a proposal that was withdrawn after the backup', () => {
  let payroll: Payroll;
  let restoring: Restoring;
  afterEach(async () => {
    jest.restoreAllMocks();
    await restoring.close();
  });

  /** The bank shows what failed as ARCHIVED from now on. */
  const archives = () => {
    jest.restoreAllMocks();
    const { app } = payroll.services.at(-1)!;
    const [source, reads] = [app.get(PaymentSource), app.get(BankReads)];
    const { paymentsOf } = source;
    const instead = (seen: readonly BankPayment[]) =>
      seen.map((one) => (one.status === 'FAILED' ? { ...one, status: 'ARCHIVED' } : one));
    passThrough(reads, instead);
    jest
      .spyOn(source, 'paymentsOf')
      .mockImplementation(async (...asked) => instead(await paymentsOf.apply(source, asked)));
  };

  it('is not carried out on one person’s word after the restore', async () => {
    restoring = await Restoring.start();
    payroll = restoring.payroll;
    const rows = payRows(4).map((row, n) => (n === 0 ? { ...row, iban: FAILS } : row));
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
    archives();
    await eventually(async () => {
      await restoring.change('UPDATE lease SET wake_at = now() WHERE holder IS NULL');
      return (await payroll.attention()).some(({ kind }) => kind === 'UNKNOWN_STATUS');
    }, 30_000);
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const proposal = { action: 'NOT_PAID', reason: 'the bank wrote', evidence: 'letter 4711' };
    expect((await payroll.propose(path, proposal)).status).toBe(201);
    await payroll.letRest('FOLLOW');
    await restoring.backUp();
    archives();
    // The bank took its letter back: so does who proposed it.
    expect((await payroll.as('operator').delete(`${path}/actions`)).status).toBe(204);

    await restoring.restore();
    archives();
    expect(await restoring.answered()).toContain('What was proposed is withdrawn');
    expect(await restoring.resume()).toBe('RESUMED');
    expect((await payroll.as('second').get(path)).data.decisions).toMatchObject([
      { action: 'NOT_PAID', confirmedAt: null, withdrawnAt: expect.any(String) },
    ]);
    // It may be proposed anew, and two people decide.
    expect((await payroll.propose(path, proposal)).status).toBe(201);
    expect((await payroll.confirm(path)).status).toBe(200);
  }, 200_000);
});
