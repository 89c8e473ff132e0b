import { PATHS } from '../../src/bank/types';
import { addition, BIRCH, historyOf, paymentIdOf, paymentStatusOf, statusesOf, Tester } from './client';

const EXTERNAL_AFTER_SUBMISSION = [
  'SUB_STARTED',
  'SUB_IS_VALID',
  'SUB_INT_CTRL_PASSED',
  'SUBMITTED',
  'PRO_INT_CTRL_PASSED',
  'PRO_DEBIT_HOLD',
  'READY_FOR_EXCHANGE',
  'EXCHANGED',
  'SETTLED',
];
const ADDED = ['INI_STARTED', 'INI_IS_VALID', 'INI_INT_CTRL_PASSED', 'INITIATED'];

describe('the moves the document shows', () => {
  let bank: Tester;
  beforeEach(async () => {
    bank = await Tester.start();
  });
  afterEach(() => bank.close());

  it('initiates an instruction through INI_STARTED to INITIATED', async () => {
    const instruction = await bank.initiate();
    expect(statusesOf(instruction.history)).toEqual(['INI_STARTED', 'INITIATED']);
    expect(instruction.status).toEqual({ value: 'INITIATED', label: 'Initiated' });
    expect(instruction.groupStatus.value).toBe('INITIATED');
    expect(instruction.calculatedNbPaymentTransactions).toBe(0);
    expect(instruction.calculatedAmount).toEqual({ value: 0, currency: 'EUR' });
    expect(instruction).not.toHaveProperty('paymentTransactionsStatus');
  });

  it('adds a payment transaction through its four statuses', async () => {
    const { id } = await bank.initiate();
    const { body } = await bank.add(id);
    expect(statusesOf(historyOf(body))).toEqual(ADDED);
    expect(paymentStatusOf(body)).toBe('INITIATED');
  });

  it('submits an instruction to SUB_REQUIRED, group IN_PROGRESS, with 201', async () => {
    const { id } = await bank.initiate();
    await bank.add(id);
    const { status, body } = await bank.submit(id);
    expect(status).toBe(201);
    expect(statusesOf(body.history).slice(2)).toEqual([
      'SUB_STARTED',
      'SUB_IS_VALID',
      'SUB_INT_CTRL_PASSED',
      'SUB_REQUIRED',
    ]);
    expect(body.groupStatus.value).toBe('IN_PROGRESS');
  });

  it('takes an outward external payment through all nine statuses to SETTLED', async () => {
    const { added } = await bank.pay([{}]);
    const payment = await bank.payment(paymentIdOf(added[0]));
    expect(statusesOf(historyOf(payment))).toEqual([...ADDED, ...EXTERNAL_AFTER_SUBMISSION]);
    expect(payment.paymentTransactionInformation.paymentTransactionIdentification.clearingChannel).toBe(
      'RTNS',
    );
    expect(payment.paymentTransactionDateInformation.settlementDate).toMatch(/^\d{4}-\d\d-\d\d$/);
  });

  it('numbers transitions from the second entry on and drops the group on late settlement steps', async () => {
    const { added } = await bank.pay([{}]);
    const history = historyOf(await bank.payment(paymentIdOf(added[0])));
    expect(history[0]).not.toHaveProperty('previousTransitionId');
    const transitions = history.slice(1).map(({ previousTransitionId }) => previousTransitionId);
    expect(transitions.every(Number.isInteger)).toBe(true);
    expect(new Set(transitions).size).toBe(transitions.length);
    const withoutGroup = history.filter((entry) => !('groupStatus' in entry));
    expect(statusesOf(withoutGroup)).toEqual(['EXCHANGED', 'SETTLED']);
  });

  it('answers a direct submission within the institution with ON_US, BOOK and SUBMITTED', async () => {
    const { status, body } = await bank.post(PATHS.submitDirectly(), await direct(bank, BIRCH.account!.iban));
    expect(status).toBe(201);
    expect(statusesOf(body.history)).toEqual(['SUB_STARTED', 'READY_FOR_PROCESSING']);
    const { paymentTransaction } = body;
    expect(statusesOf(historyOf(paymentTransaction))).toEqual(['SUB_STARTED', 'SUBMITTED']);
    const information = paymentTransaction.paymentTransactionInformation;
    expect(information.paymentTransactionTypeInformation.serviceLevel).toBe('ON_US');
    expect(information.paymentTransactionIdentification.clearingChannel).toBe('BOOK');
  });

  it('pays a direct submission once, and lets nothing be added to it or submitted again', async () => {
    const { body } = await bank.post(PATHS.submitDirectly(), await direct(bank, BIRCH.account!.iban));
    await bank.advance(0);
    expect(paymentStatusOf(await bank.payment(paymentIdOf(body.paymentTransaction)))).toBe('SETTLED');
    expect((await bank.add(body.id)).status).toBe(409);
    expect((await bank.submit(body.id)).status).toBe(409);
    const { payees, instructions } = await bank.ledger();
    expect(payees).toEqual([expect.objectContaining({ count: 1, movedMinor: '500' })]);
    expect(instructions[0]).toMatchObject({ direct: true, submits: 1 });
  });

  it('refuses a direct submission as a whole: no instruction is left behind', async () => {
    const refused = await bank.post(PATHS.submitDirectly(), await direct(bank, 'DE86999900000000009999'));
    expect(refused.status).toBe(422);
    expect((await bank.ledger()).instructions).toEqual([]);
  });

  it('shows an incoming payment as INWARD, INI_STARTED and SETTLED, and credits the account', async () => {
    const before = (await bank.account('1001')).balance.value;
    const iban = (await bank.account('1001')).iban;
    const incoming = { iban, amountMinor: '700', messageId: 'what-it-repeats' };
    const { body } = await bank.post('/sandbox/incoming-payments', incoming);
    const payment = await bank.payment(body.id);
    expect(payment.paymentTransactionInformation).toMatchObject({
      direction: 'INWARD',
      paymentTransactionIdentification: { messageId: 'what-it-repeats' },
    });
    expect(statusesOf(historyOf(payment))).toEqual(['INI_STARTED', 'SETTLED']);
    expect((await bank.account('1001')).balance.value).toBe(before + 700);
  });

  it('keeps a payment with a future execution date WAREHOUSED until that day', async () => {
    const { body: clock } = await bank.get('/sandbox/clock');
    const later = new Date(Date.parse(clock.now) + 3 * 86_400_000).toISOString().slice(0, 10);
    const { added } = await bank.pay([{}], { requestedExecutionDate: later });
    const id = paymentIdOf(added[0]);
    expect(paymentStatusOf(await bank.payment(id))).toBe('WAREHOUSED');
    expect((await bank.account('1001')).availableBalance.value).toBe(25_000_000);
    await bank.post('/sandbox/clock', { date: later });
    const settled = await bank.payment(id);
    expect(paymentStatusOf(settled)).toBe('SETTLED');
    expect(settled.paymentTransactionDateInformation.settlementDate).toBe(later);
  });

  it('refuses an execution date in the past, at the initiation and at the submit', async () => {
    const past = await bank.initiation({ requestedExecutionDate: '2020-01-31' });
    expect((await bank.post(PATHS.initiate(), past)).status).toBe(422);
    const { id } = await bank.initiate();
    await bank.add(id);
    await bank.advance(2 * 86_400_000);
    expect((await bank.submit(id)).status).toBe(422);
    const noDate = await bank.initiation({ requestedExecutionDate: '2030-02-30' });
    expect((await bank.post(PATHS.initiate(), noDate)).status).toBe(422);
  });
});

it('moves payments one status per step of the clock', async () => {
  const bank = await Tester.start({ stepMs: 60_000 });
  const { added } = await bank.pay([{}]);
  const id = paymentIdOf(added[0]);
  expect(paymentStatusOf(await bank.payment(id))).toBe('INITIATED');
  for (const status of EXTERNAL_AFTER_SUBMISSION) {
    await bank.advance(60_000);
    expect(paymentStatusOf(await bank.payment(id))).toBe(status);
  }
  await bank.close();
});

it('moves payments by itself as real time passes', async () => {
  const bank = await Tester.start({ stepMs: 5 });
  const { added } = await bank.pay([{}]);
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(paymentStatusOf(await bank.payment(paymentIdOf(added[0])))).toBe('SETTLED');
  await bank.close();
});

it('repeats SUB_IS_VALID where the bank does so', async () => {
  const bank = await Tester.start({ variants: { subIsValidRepeats: 3 } });
  const { submitted } = await bank.pay([{}]);
  expect(statusesOf(submitted.history).filter((status) => status === 'SUB_IS_VALID')).toHaveLength(3);
  await bank.close();
});

async function direct(bank: Tester, iban: string) {
  const { paymentTransactionParties, paymentTransactionDedicatedInformations } = addition({ iban });
  return {
    ...(await bank.initiation()),
    paymentTransaction: {
      paymentTransactionDedicatedInformations,
      paymentTransactionAmountInformation: { instructedAmount: { currency: 'EUR', value: '500' } },
      paymentTransactionParties,
    },
  };
}
