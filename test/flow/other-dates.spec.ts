import type { BankPayment } from '../../src/bank/records';
import { addDays } from '../../src/domain/calendar';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentSource } from '../../src/settlement/payment-source';
import { payFile, payRows } from '../support/pay-rows';
import { showsInstructions } from '../support/payments-shown';
import { Payroll } from '../support/payroll';

let payroll: Payroll;
beforeEach(async () => {
  payroll = await Payroll.start({ rowsPerInstruction: 2, sandbox: { variants: { linkReads: 'allowed' } } });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

/** From now on the bank shows what of it was submitted so. */
function showsPayments(change: () => Partial<BankPayment>): void {
  const source = payroll.services[0]!.app.get(PaymentSource);
  const { paymentsOf } = source;
  jest
    .spyOn(source, 'paymentsOf')
    .mockImplementation(async (...asked) =>
      (await paymentsOf.apply(source, asked)).map((one) => ({ ...one, ...change() })),
    );
}

const readsOfBank = () => payroll.services[0]!.app.get(BankReads);
const daysOff = (days: number) => addDays(payroll.executionDate(), days);
const told = async () => (await payroll.attention()).map(({ kind, happened }) => ({ kind, happened }));
const askedOfBank = async () => (await payroll.attention()).map(({ askBank }) => askBank).join();
const settled = async () => {
  const id = await payroll.paid(payFile(payRows(4)));
  await payroll.until(id, ['SETTLED'], 20_000);
  return id;
};

describe('a run whose bank shows, after the submit, another date than was approved', () => {
  it('is told once of where its payments settled earlier, whether or not the instruction shows a date', async () => {
    showsPayments(() => ({ settlementDate: daysOff(-4), bareSettlementDate: daysOff(-4) }));
    const id = await settled();
    const path = await payroll.askedAbout(id, 'DATE_DIFFERS', 5_000);
    expect(await told()).toEqual([
      {
        kind: 'DATE_DIFFERS',
        happened: `The bank shows payments of a submitted instruction as settled on ${daysOff(-4)}, before the execution date ${daysOff(0)} that was approved.`,
      },
    ]);
    expect(await askedOfBank()).toMatch(/^Why were payments of .* settled before the execution date/);
    const acknowledged = { action: 'ACKNOWLEDGE', reason: 'the bank has answered for it' };
    expect((await payroll.decide(path, acknowledged)).status).toBe(200);
    await payroll.wakeAll();
    expect(await told()).toEqual([]);
  });

  it.each([
    ['earlier', -4],
    ['more than a week later', 8],
  ])('is told of where the instruction shows one that is %s', async (_, days) => {
    showsInstructions(readsOfBank(), () => ({ executionDate: daysOff(days) }));
    await payroll.askedAbout(await settled(), 'DATE_DIFFERS', 5_000);
    expect(await told()).toEqual([
      {
        kind: 'DATE_DIFFERS',
        happened: `The bank shows the execution date ${daysOff(days)} for a submitted instruction that was approved for ${daysOff(0)}.`,
      },
    ]);
    expect(await askedOfBank()).toMatch(/^Why does .* show another date/);
  });

  it('is not told of a date moved on by a few days, nor of one with a time, which may be of another time zone', async () => {
    showsInstructions(readsOfBank(), () => ({ executionDate: daysOff(3) }));
    showsPayments(() => ({ settlementDate: daysOff(-1), bareSettlementDate: undefined }));
    await settled();
    expect(await told()).toEqual([]);
  });
});
