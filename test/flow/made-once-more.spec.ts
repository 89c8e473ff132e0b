import axios from 'axios';
import { PATHS } from '../../src/bank/types';
import { DEFAULT_TOKEN } from '../../src/bank-sandbox/sandbox';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import type { Variants } from '../../src/bank-sandbox/variants';
import type { BankRead } from '../../src/employer/employer.entity';
import { MadeElsewhere } from '../../src/pay-run/made-elsewhere';
import { execute } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const rows = payRows(2);

let payroll: Payroll;
afterEach(() => payroll.close());

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
/** The sandbox's debtor account, whose holds fail while it is blocked. */
const account = (what: 'block' | 'unblock') =>
  axios.post(`${payroll.bank.url}/sandbox/accounts/1002/${what}`);
const submits = async () => (await payroll.calls()).submit ?? 0;

/** A run that ended unpaid, at a bank whose payments can be read so. */
const failedRun = async (reads?: BankRead[], variants: Partial<Variants> = {}) => {
  const readable = {
    linkReads: 'allowed',
    omitFromLists: [],
    amountUnit: 'minor',
    amountType: 'number',
  } as const;
  payroll = await Payroll.start({ sandbox: { stepMs: 400, variants: { ...readable, ...variants } } });
  if (reads) await payroll.letsRead(...reads);
  const id = await payroll.paid(payFile(rows));
  await eventually(async () => (await submits()) === 1, 20_000);
  await account('block');
  await payroll.until(id, ['FAILED'], 20_000);
  await account('unblock');
  return id;
};

/** The bank makes the first payment once more by itself, in an instruction of its own, under our message id. */
const makesOnceMore = async () => {
  const [failed] = (await payroll.ledger()).instructions.flatMap((one) => one.rows);
  const own = await payroll.initiateAtBank(DEFAULT_SEED.users[1]);
  await axios.post(
    `${payroll.bank.url}${PATHS.addPaymentTransaction(own)}`,
    {
      paymentTransactionAmountInformation: {
        instructedAmount: { value: Number(failed?.amountMinor), currency: 'EUR' },
      },
      paymentTransactionParties: {
        creditor: { name: rows[0]?.name, accountId: { type: 'IBAN', value: failed!.creditorIban } },
      },
      paymentTransactionInformation: {
        paymentTransactionIdentification: { messageId: failed!.messageId },
      },
    },
    { headers: { authorization: `Bearer ${DEFAULT_TOKEN}` } },
  );
  await payroll.submitAtBank(own);
  await eventually(async () => (await payroll.timesPaid(rows))[0] === 1, 20_000);
};

describe('a payment that failed, and that the bank makes once more under our message id', () => {
  it.each<[string, BankRead[] | undefined]>([
    ['every list', undefined],
    ['the general list alone', ['PAYMENT_LIST']],
  ])('is not paid again where the bank shows %s', async (_what, reads) => {
    const id = await failedRun(reads);
    await payroll.letRest('FOLLOW');
    await makesOnceMore();
    const made = await payroll.successorOf(id);
    expect([made.status, made.data.code]).toEqual([409, 'REPLACED_PAYMENT_MOVED']);
    expect(await payroll.timesPaid(rows)).toEqual([1, 0]);
  });

  it.each<[string, Partial<Variants>]>([
    ['refuses pages behind the last', { recordsOfOthers: 5, othersAfter: 1 }],
    [
      'shows two of its first page of 100',
      { recordsOfOthers: 110, othersAfter: 2, maxPageSize: 100, emptyLists: 'envelope' },
    ],
  ])('is not paid again where the general list counts what others hold, and %s', async (_what, variants) => {
    const counts = {
      countMeans: 'places',
      maxPageSize: 20,
      emptyLists: '404',
      largePages: 'capped',
    } as const;
    const id = await failedRun(undefined, { ...counts, ...variants });
    await payroll.letRest('FOLLOW');
    await makesOnceMore();
    const made = await payroll.successorOf(id);
    expect([made.status, made.data.code]).toEqual([409, 'REPLACED_PAYMENT_MOVED']);
    expect(await payroll.timesPaid(rows)).toEqual([1, 0]);
  });

  it('is not paid by the successor that was made before that, which stops', async () => {
    const id = await failedRun();
    const { data: made } = await payroll.successorOf(id);
    await payroll.letRest('FOLLOW');
    await makesOnceMore();
    await payroll.approve(made);
    await payroll.askedAbout(made.id, 'REPLACED_PAYMENT_MOVED', 10_000);
    expect(await payroll.timesPaid(rows)).toEqual([1, 0]);
  });

  it.each([404, 410, 403, 422])(
    'is not paid by the successor that was made before that, though the general list answers %s once at its gate',
    async (status) => {
      const id = await failedRun();
      const { data: made } = await payroll.successorOf(id);
      await payroll.letRest('FOLLOW');
      await makesOnceMore();
      const elsewhere = payroll.services[0]!.app.get(MadeElsewhere);
      const { read } = elsewhere;
      const refused = async (...asked: Parameters<typeof read>) => {
        await payroll.fault({ operation: 'listPaymentTransactions', kind: String(status), nth: 1, times: 1 });
        return read.apply(elsewhere, asked);
      };
      jest.spyOn(elsewhere, 'read').mockImplementationOnce(refused);
      await payroll.approve(made);
      await payroll.askedAbout(made.id, 'REPLACED_PAYMENT_MOVED', 20_000);
      expect((await payroll.faults()).map(({ hits }) => hits)).toEqual([1]);
      expect(await payroll.timesPaid(rows)).toEqual([1, 0]);
    },
  );

  it('is asked about within a day of what is followed, and leaves its run unexplained', async () => {
    const id = await failedRun();
    await payroll.restsForADay();
    await makesOnceMore();
    payroll.clock.offsetMs += 86_400_000;
    await eventually(async () => {
      await execute(payroll.database.superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW'`);
      return (await kinds()).includes('FOREIGN_RECORD');
    }, 10_000);
    const { data } = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(data).toMatchObject({ explained: false, openDoubts: ['FOREIGN_RECORD'] });
  });
});
