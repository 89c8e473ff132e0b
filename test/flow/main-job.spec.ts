import { payFile, payRows, totalMinor } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

describe('the main job', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 20 });
  });
  afterAll(() => payroll.close());

  it('pays everybody in the file once, over several instructions, and nobody else', async () => {
    const rows = payRows(50);
    const id = await payroll.paid(payFile(rows));
    expect(await payroll.until(id, ['SETTLED', 'PARTLY_SETTLED', 'FAILED'])).toBe('SETTLED');
    const ledger = await payroll.ledger();
    const paid = ledger.payees.map((payee) => `${payee.iban} ${payee.count} ${payee.movedMinor}`).sort();
    expect(paid).toEqual(rows.map((row) => `${row.iban} 1 ${row.amount.replace('.', '')}`).sort());
    const submitted = ledger.instructions.filter((one) => one.submits > 0).map((one) => one.rows.length);
    expect(submitted.sort()).toEqual([10, 20, 20]);
    expect(ledger.entriesSumMinor).toBe('0');
    expect(totalMinor(rows)).toBe(ledger.payees.reduce((sum, payee) => sum + BigInt(payee.movedMinor), 0n));
    expect(await payroll.attention()).toEqual([]);
  });
});
