import { PATHS } from '../../src/bank/types';
import type { Variants } from '../../src/bank-sandbox/variants';
import { BIRCH, historyOf, paymentIdOf, paymentStatusOf, statusesOf, Tester } from './client';

let bank: Tester;
const start = async (variants: Partial<Variants> = {}): Promise<void> => {
  bank = await Tester.start({ variants });
};
afterEach(() => bank.close());

async function pay(changes: Record<string, unknown> = {}) {
  return bank.post(PATHS.submitDirectly(), {
    ...(await bank.initiation(changes)),
    paymentTransaction: {
      paymentTransactionAmountInformation: { instructedAmount: { currency: 'EUR', value: '70' } },
      paymentTransactionParties: {
        creditor: { name: 'Birch', accountId: { type: 'IBAN', value: BIRCH.account!.iban } },
      },
    },
  });
}
const total = (value: number) => ({ requestedTotalAmount: [{ value, currency: 'EUR' }] });
const balance = async (): Promise<number> => (await bank.account('1001')).balance.value;

it.each([
  ['a count', { requestedNbPaymentTransactions: 2 }],
  ['a total', total(71)],
])('is refused for %s that differs, where the bank enforces them', async (_which, changes) => {
  await start({ enforceControlTotals: true });
  const { status, body } = await pay(changes);
  expect([status, body.code]).toEqual([422, 'CONTROL_TOTALS_DIFFER']);
  expect((await bank.ledger()).instructions).toEqual([]);
  expect((await pay({ requestedNbPaymentTransactions: 1, ...total(70) })).status).toBe(201);
  expect((await pay()).status).toBe(201);
  await bank.close();
  await start();
  expect((await pay(changes)).status).toBe(201);
});

it.each([200, 201, 202] as const)('answers %d where the bank does', async (submitStatus) => {
  await start({ submitStatus });
  expect((await pay()).status).toBe(submitStatus);
});

it('passes at once whatever is said of the checks of step 3', async () => {
  await start({ submitRuns: 'later', subIsValidRepeats: 3 });
  const { body } = await pay();
  expect(statusesOf(body.history)).toEqual(['SUB_STARTED', 'READY_FOR_PROCESSING']);
  expect(statusesOf(historyOf(body.paymentTransaction))).toEqual(['SUB_STARTED', 'SUBMITTED']);
});

describe.each([
  ['strong-authentication', 'SUB_STRONG_AUTH_REQUIRED'],
  ['approval', 'C_INST_WAITING_FOR_APPROVAL'],
] as const)('where a submit waits for %s', (submitWaitsFor, waiting) => {
  beforeEach(() => start({ submitWaitsFor }));

  it('waits, and is paid when it is released', async () => {
    const { body } = await pay();
    expect(statusesOf(body.history)).toEqual(['SUB_STARTED', waiting]);
    expect(statusesOf(historyOf(body.paymentTransaction))).toEqual(['SUB_STARTED']);
    expect(body).not.toHaveProperty('paymentTransactionsStatus');
    await bank.advance(60_000);
    expect(await balance()).toBe(25_000_000);
    expect((await bank.post(`/sandbox/instructions/${body.id}/release`)).status).toBe(200);
    await bank.advance(0);
    const { body: released } = await bank.get(PATHS.customerInstruction(String(body.id)));
    expect(statusesOf(released.history)).toEqual(['SUB_STARTED', waiting, 'READY_FOR_PROCESSING']);
    expect(released.paymentTransactionsStatus).toHaveLength(1);
    const payment = await bank.payment(paymentIdOf(body.paymentTransaction));
    expect(statusesOf(historyOf(payment)).slice(0, 3)).toEqual([
      'SUB_STARTED',
      'SUBMITTED',
      'PRO_INT_CTRL_PASSED',
    ]);
    expect(paymentStatusOf(payment)).toBe('SETTLED');
    expect(await balance()).toBe(25_000_000 - 70);
  });

  it('waits, and is not paid when it is refused', async () => {
    const { body } = await pay();
    await bank.post(`/sandbox/instructions/${body.id}/refuse`);
    await bank.advance(60_000);
    const { instructions } = await bank.ledger();
    expect(instructions[0]).toMatchObject({
      status: 'C_INSTRUCTION_SUB_NOT_PASSED',
      rows: [{ status: 'P_INSTRUCTION_SUB_NOT_PASSED', moved: 0 }],
    });
    expect((await bank.post(`/sandbox/instructions/${body.id}/release`)).status).toBe(409);
  });
});
