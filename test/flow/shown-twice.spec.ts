import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { execute } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const FAILS = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')!.iban;

let payroll: Payroll;
afterEach(() => payroll.close());

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const report = async (id: string) =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;
/** From now on each list shows a payment of this run of one once more, ended otherwise. */
const showsTwice = (field: string) =>
  payroll.fault({ operation: '*', kind: 'list-wrong', what: 'twice', field, every: 1 });
/** Has what is followed read at once, with its payments. */
const readAgain = () =>
  execute(
    payroll.database.superuserUrl,
    `UPDATE lease SET wake_at = now(), woken_at = now() WHERE kind = 'FOLLOW'`,
  );
const rowsOfOne = (iban?: string) => payRows(1).map((row) => ({ ...row, ...(iban && { iban }) }));

describe('a payment that one list shows twice under one id, and with two ends', () => {
  it('is asked about, and never paid again, where it is shown so from the first', async () => {
    payroll = await Payroll.start({ sandbox: { stepMs: 600_000 } });
    const id = await payroll.paid(payFile(rowsOfOne(FAILS)));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await payroll.letRest('FOLLOW');
    await payroll.bankClock(new Date(Date.now() + 10 * 86_400_000));
    await showsTwice('status');
    await payroll.wakeAll();
    await payroll.askedAbout(id, 'CONTRADICTION', 10_000);
    await payroll.clearFaults();
    expect((await report(id)).explained).toBe(false);
    expect((await payroll.successorOf(id)).status).toBe(409);
  });

  it('is not paid again where it is shown so only when it is about to be', async () => {
    payroll = await Payroll.start();
    const id = await payroll.paid(payFile(rowsOfOne(FAILS)));
    await payroll.until(id, ['FAILED'], 20_000);
    expect(await kinds()).toEqual([]);
    await payroll.restsForADay();
    await showsTwice('status');
    const made = await payroll.successorOf(id);
    expect([made.status, made.data.code]).toEqual([409, 'REPLACED_PAYMENT_MOVED']);
    await payroll.askedAbout(id, 'CONTRADICTION');
  });
});

describe('a payment that one list shows twice under one id, and the second time with another amount', () => {
  it('is asked about as shown otherwise than it was sent', async () => {
    payroll = await Payroll.start();
    const id = await payroll.paid(payFile(rowsOfOne()));
    await payroll.until(id, ['SETTLED'], 20_000);
    await showsTwice('amount');
    await eventually(async () => {
      await readAgain();
      return (await kinds()).includes('ECHO_MISMATCH');
    }, 10_000);
    expect(await report(id)).toMatchObject({ explained: false, openDoubts: ['ECHO_MISMATCH'] });
  });
});
