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

  it('shares a run among three replicas: everybody is paid once, and nobody submits twice', async () => {
    await payroll.addReplica();
    await payroll.addReplica();
    const before = (await payroll.calls()).submit ?? 0;
    const rows = payRows(200, 1_000);
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SETTLED']);
    const payees = new Map((await payroll.ledger()).payees.map((payee) => [payee.iban, payee.count]));
    expect(rows.filter((row) => payees.get(row.iban) !== 1)).toEqual([]);
    expect((await payroll.calls()).submit).toBe(before + 10);
  });

  it('cancelled while it is being built: nothing is submitted, and what was built stays abandoned', async () => {
    const rows = payRows(100, 2_000);
    await payroll.fault({ operation: 'add', kind: 'slow-drip', every: 7, delayMs: 200 });
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['BUILDING']);
    const cancelled = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${id}/cancellation`), { reason: 'wrong file' });
    expect(cancelled.status).toBe(200);
    await payroll.until(id, ['CANCELLED']);
    await payroll.clearFaults();
    const { payees, unsubmitted } = await payroll.ledger();
    const paid = new Set(payees.map((payee) => payee.iban));
    expect(rows.filter((row) => paid.has(row.iban))).toEqual([]);
    const { instructions } = await payroll.run(id);
    for (const one of instructions as { status: string; bankInstructionId: string | null }[]) {
      expect(['ABANDONED', 'CANCELLED']).toContain(one.status);
      if (one.bankInstructionId !== null) expect(unsubmitted.map(String)).toContain(one.bankInstructionId);
    }
  });
});
