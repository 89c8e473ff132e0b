import axios from 'axios';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { DEFAULT_TOKEN } from '../../src/bank-sandbox/sandbox';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

const ACCOUNT = '1002';
const NEVER_SETTLES = MAGIC_CREDITORS.find(({ effect }) => effect === 'neverSettles')!.iban;

describe('a run beside one of which an instruction is parked', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 2,
      settings: { BANK_TIMEOUT_MS: '400', SUBMIT_DOUBT_MS: '400' },
      sandbox: { variants: { amountUnit: 'minor', amountType: 'number', chargeMinor: 0 } },
    });
  });
  afterAll(() => payroll.close());

  const rows = (first: number, count: number) =>
    payRows(count, first).map((row) => ({ ...row, amount: '100.00' }));

  /** Leaves so much on the account that payments can be made of it. */
  async function leave(amountMinor: number): Promise<void> {
    const { data } = await axios.get<{ availableBalance: { value: number } }>(
      `${payroll.bank.url}/api/distributor/v1/accounts/${ACCOUNT}`,
      { headers: { authorization: `Bearer ${DEFAULT_TOKEN}` } },
    );
    await axios.post(`${payroll.bank.url}/sandbox/postings`, {
      accountId: ACCOUNT,
      type: 'DISTRIBUTOR_POSTING',
      direction: 'DEBIT',
      amountMinor: String(data.availableBalance.value - amountMinor),
    });
  }

  it('leaves what is parked on the account, once, however many instructions beside it are under way', async () => {
    // One person with three contracts, of whom one payment is in each instruction.
    const open = rows(1, 6).map((row, n) =>
      n % 2 === 0
        ? { ...row, name: 'Ann Smith', iban: NEVER_SETTLES, amount: `100.0${n}` }
        : { ...row, amount: n === 1 ? '100.00' : `99.9${11 - n}` },
    );
    await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 3 });
    const parked = await payroll.paid(payFile(open));
    await payroll.askedAbout(parked, 'SUBMIT_UNKNOWN');
    await payroll.until(parked, ['FOLLOWING']);
    await leave(2 * 100_00 + 2 * 100_00);
    const id = await payroll.paid(payFile(rows(50, 2)), { kindOfPay: 'BONUS' });
    await payroll.until(id, ['SETTLED'], 15_000);
    expect((await payroll.attention()).map(({ kind }) => kind)).not.toContain('LOW_BALANCE');
  });
});
