import { readId } from '../../src/http/prefixed-id';
import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

describe('a submit that the bank executes a second time, which shows in the balance alone', () => {
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 3,
      sandbox: { variants: { secondSubmit: 'executed' } },
    });
  });
  afterEach(() => payroll.close());

  const compared = (id: string) =>
    eventually(async () => {
      const { superuserUrl } = payroll.database;
      const [run] = await select<{ before: string | null }>(
        superuserUrl,
        `SELECT balance_before_minor AS before FROM pay_run WHERE id = $1`,
        [readId('run', id)],
      );
      return run?.before === null;
    }, 20_000);

  it('stops everything and asks about that instruction', async () => {
    await payroll.fault({ operation: 'submit', kind: 'doubled', nth: 2 });
    const id = await payroll.paid(payFile(payRows(6)));
    await payroll.until(id, ['SETTLED'], 30_000);
    await eventually(async () => (await payroll.attention()).length > 0, 20_000);
    const [asked] = await select<{ kind: string; bank: string }>(
      payroll.database.superuserUrl,
      'SELECT a.kind, i.bank_instruction_id AS bank FROM attention a JOIN instruction i ON i.id = a.instruction_id',
    );
    const { instructions } = await payroll.ledger();
    const twice = instructions.find(({ submits }) => submits === 2);
    expect(asked).toEqual({ kind: 'TOTAL_MISMATCH_AFTER_SUBMIT', bank: String(twice?.id) });
    expect((await payroll.ledger()).payees.map(({ count }) => count).sort()).toEqual([1, 1, 1, 2, 2, 2]);
  });

  it('is not suspected of a run that took what it should, nor twice of the same run', async () => {
    const id = await payroll.paid(payFile(payRows(6)));
    await payroll.until(id, ['SETTLED'], 30_000);
    await compared(id);
    expect(await payroll.attention()).toEqual([]);
  });
});
