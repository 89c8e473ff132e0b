import axios from 'axios';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { readId } from '../../src/http/prefixed-id';
import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

const ACCOUNT = '1002';

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

  /** In how many hours the ended instructions are read again. */
  const nextLooks = async () =>
    (
      await select<{ hours: number }>(
        payroll.database.superuserUrl,
        `SELECT extract(epoch FROM wake_at - clock_timestamp())::float / 3600 AS hours FROM lease WHERE kind = 'FOLLOW'`,
      )
    ).map(({ hours }) => hours);

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

  it('is looked for again where the balance could not be read when the run had ended', async () => {
    await payroll.fault({ operation: 'submit', kind: 'doubled', nth: 2 });
    const id = await payroll.paid(payFile(payRows(6)));
    await payroll.until(id, ['FOLLOWING', 'SETTLED'], 30_000);
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    await payroll.until(id, ['SETTLED'], 30_000);
    const { getAccount = 0 } = await payroll.calls();
    await eventually(async () => ((await payroll.calls()).getAccount ?? 0) > getAccount + 2, 20_000);
    expect(await payroll.attention()).toEqual([]);
    await payroll.clearFaults();
    await eventually(async () => (await payroll.attention()).length > 0, 20_000);
  });

  it('is not suspected where a payment that was refused has not come back, though an instruction took as much', async () => {
    const rows = payRows(4).map((row) => ({ ...row, amount: '1500.00' }));
    rows[1]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'refusedAfterExchange')!.iban;
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['FOLLOWING', 'PARTLY_SETTLED'], 30_000);
    const posting = { accountId: ACCOUNT, type: 'FEE', amountMinor: '150000' };
    await axios.post(`${payroll.bank.url}/sandbox/postings`, posting);
    await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
    await eventually(async () => (await nextLooks()).every((hours) => hours > 20), 20_000);
    expect(await payroll.attention()).toEqual([]);
  });

  it('is not suspected of a run that took what it should, nor twice of the same run', async () => {
    const id = await payroll.paid(payFile(payRows(6)));
    await payroll.until(id, ['SETTLED'], 30_000);
    await compared(id);
    expect(await payroll.attention()).toEqual([]);
  });
});
