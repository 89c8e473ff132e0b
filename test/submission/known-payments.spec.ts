import { Instruction } from '../../src/pay-run/instruction.entity';
import { knownPayments } from '../../src/submission/known-payments';
import { PayOffice, rows } from '../pay-run/pay-office';
import { RunAtBank } from '../pay-run/run-at-bank';

it('an add in doubt is known of an instruction without an id, and one that was refused is not', async () => {
  const office = await PayOffice.open();
  try {
    const company = await office.company({ rowsPerInstruction: 3 });
    const run = await office.run(company, rows(100, 200, 300));
    const atBank = await RunAtBank.approved(office, company, run);
    await atBank.start();
    await atBank.build(1, 3);
    await office.tamper(
      `UPDATE bank_payment SET add_outcome = CASE row_no WHEN 1 THEN 'IN_DOUBT' ELSE 'REFUSED' END, bank_payment_id = NULL,
         bank_transaction_id = NULL, bank_status = NULL WHERE row_no < 3`,
    );
    const known = await office.in(company, async (tx) =>
      knownPayments(tx, await tx.manager.findOneByOrFail(Instruction, { payRunId: run.id })),
    );
    expect(known.map(({ length }) => length > 0).sort()).toEqual([false, true]);
  } finally {
    await office.close();
  }
});
