import { PATHS } from '../../src/bank/types';
import { MAGIC_CREDITORS, type MagicCreditor } from '../../src/bank-sandbox/magic';
import {
  addition,
  ALDER,
  historyOf,
  type Json,
  PAYEE,
  paymentIdOf,
  paymentStatusOf,
  statusesOf,
  Tester,
} from './client';
import { Receiver } from './receiver';

const magic = (effect: MagicCreditor['effect']): string =>
  MAGIC_CREDITORS.find((creditor) => creditor.effect === effect)!.iban;

let bank: Tester;
beforeEach(async () => {
  bank = await Tester.start();
});
let receiver: Receiver | undefined;
afterEach(async () => {
  await receiver?.close();
  receiver = undefined;
  await bank.close();
});

it.each([
  ['initiationControlFails', ['INI_STARTED', 'INI_IS_VALID', 'INI_INT_CTRL_FAILED']],
  ['initiationNotValid', ['INI_STARTED', 'INI_NOT_IS_VALID']],
] as const)('answers 201 to an add to "%s" whose payment has failed already', async (effect, statuses) => {
  const { id } = await bank.initiate();
  const { status, body } = await bank.add(id, { iban: magic(effect), value: 7 });
  expect(status).toBe(201);
  expect(statusesOf(historyOf(body))).toEqual(statuses);
  await bank.add(id, { value: 30 });
  const submitted = (await bank.submit(id)).body;
  expect(submitted.calculatedNbPaymentTransactions).toBe(2);
  expect(submitted.paymentTransactionsStatus).toEqual([
    { groupStatus: 'PROCESSABLE', nbTransactions: 1, totalAmount: { value: 30, currency: 'EUR' } },
    { groupStatus: 'NOTPROCESSABLE', nbTransactions: 1, totalAmount: { value: 7, currency: 'EUR' } },
  ]);
  await bank.advance(60_000);
  expect(statusesOf(historyOf(await bank.payment(paymentIdOf(body))))).toEqual(statuses);
});

it.each([
  ['counted', 2, 2],
  ['not-counted', 1, 2],
  ['not-listed', 1, 1],
] as const)('shows a payment that failed at its add as it does, "%s"', async (failedAtAdd, count, listed) => {
  await bank.close();
  bank = await Tester.start({ variants: { failedAtAdd, enforceControlTotals: true } });
  const { id } = await bank.initiate({ requestedNbPaymentTransactions: 2 });
  await bank.add(id, { iban: magic('initiationNotValid') });
  await bank.add(id);
  const shown = (await bank.get(PATHS.customerInstruction(String(id)))).body;
  expect(shown.calculatedNbPaymentTransactions).toBe(count);
  for (const path of [PATHS.instructionPaymentTransactions(String(id)), PATHS.paymentTransactions()])
    expect((await bank.get(path)).body.items).toHaveLength(listed);
  expect((await bank.submit(id)).status).toBe(count === 2 ? 201 : 422);
});

it('groups payments that fail the checks of the submission as NOTPROCESSABLE', async () => {
  const iban = magic('submissionControlFails');
  const { submitted, added } = await bank.pay([{ iban, value: 7 }]);
  expect(submitted.paymentTransactionsStatus).toEqual([
    { groupStatus: 'NOTPROCESSABLE', nbTransactions: 1, totalAmount: { value: 7, currency: 'EUR' } },
  ]);
  expect(statusesOf(historyOf(await bank.payment(paymentIdOf(added[0])))).slice(4)).toEqual([
    'SUB_STARTED',
    'SUB_IS_VALID',
    'SUB_INT_CTRL_FAILED',
  ]);
});

it.each([
  ['notProcessable', 'SUB_STARTED'],
  ['submissionControlFails', 'SUB_IS_VALID'],
] as const)(
  'leaves a payment to "%s" at %s, as NOTPROCESSABLE, where it is told to',
  async (effect, last) => {
    await bank.close();
    bank = await Tester.start({
      variants: { failedChecks: 'leave-it', instructionEnds: 'with-its-payments' },
    });
    const { submitted, added } = await bank.pay([{ iban: magic(effect), value: 7 }, { value: 30 }]);
    expect(submitted.paymentTransactionsStatus).toHaveLength(2);
    await bank.advance(60_000);
    const [left, other] = await Promise.all(added.map((payment) => bank.payment(paymentIdOf(payment))));
    const { status, groupStatus } = left!.paymentTransactionInternalInformation;
    expect([status.value, groupStatus.value]).toEqual([last, 'NOTPROCESSABLE']);
    expect(statusesOf(historyOf(other)).at(-1)).toBe('SETTLED');
    expect((await bank.get(PATHS.customerInstruction(String(submitted.id)))).body.status.value).toBe(
      'SETTLED',
    );
  },
);

it('fails a payment whose creditor is changed to one that fails, and changes a failed one no more', async () => {
  const { id } = await bank.initiate();
  const payment = paymentIdOf((await bank.add(id)).body);
  const path = PATHS.creditTransferPaymentTransaction(String(payment));
  const to = (iban: string) => {
    const { paymentTransactionParties } = addition({ iban });
    return bank.patch(path, { paymentTransactionParties });
  };
  expect(paymentStatusOf((await to(magic('initiationControlFails'))).body)).toBe('INI_INT_CTRL_FAILED');
  expect((await to(PAYEE)).status).toBe(409);
  expect((await bank.delete(path)).status).toBe(204);
});

it.each(['initiationControlFails', 'initiationNotValid', 'submissionControlFails'] as const)(
  'refuses a direct submission to "%s" as a whole',
  async (effect) => {
    const { paymentTransactionParties } = addition({ iban: magic(effect) });
    const { status } = await bank.post(PATHS.submitDirectly(), {
      ...(await bank.initiation()),
      paymentTransaction: {
        paymentTransactionAmountInformation: { instructedAmount: { currency: 'EUR', value: '500' } },
        paymentTransactionParties,
      },
    });
    expect(status).toBe(422);
    expect((await bank.ledger()).instructions).toEqual([]);
  },
);

it("tells in the label of EXT_REFUSED that the payee's account is closed, and emits the refusal", async () => {
  receiver = await Receiver.start();
  const events = ['payment_transaction.external_refused'];
  const { body: hook } = await bank.post(PATHS.hooks(), { name: 'refusals', url: receiver.url, events });
  await bank.post(PATHS.hookIdentity(String(hook.id), String(ALDER.identityId)));
  const refused = [{ iban: magic('payeeAccountClosed') }, { iban: magic('refusedAfterExchange') }];
  const { added } = await bank.pay(refused);
  const [closed, other] = await Promise.all(added.map((payment) => bank.payment(paymentIdOf(payment))));
  const statusOf = (payment: Json) => payment.paymentTransactionInternalInformation.status;
  const label = "Refused by the external institution: the payee's account is closed";
  expect(statusOf(closed)).toEqual({ value: 'EXT_REFUSED', label });
  expect(historyOf(closed).at(-1)!.status).toEqual({ value: 'EXT_REFUSED', label });
  expect(historyOf(closed).at(-2)!.status).toEqual({ value: 'EXCHANGED', label: 'Exchanged' });
  expect(statusOf(other).label).toBe('Refused by the external institution');
  const told = (await receiver.until(2)).map(({ body }) => body.data.paymentTransactionId);
  expect(told.sort()).toEqual(added.map(paymentIdOf).sort());
  expect((await bank.account('1001')).availableBalance.value).toBe(25_000_000);
});

it.each([
  [
    'failed',
    [{ groupStatus: 'PROCESSABLE', nbTransactions: 1, totalAmount: { value: 30, currency: 'EUR' } }],
  ],
  ['ended', [{ groupStatus: 'PROCESSABLE', nbTransactions: 0, totalAmount: { value: 0, currency: 'EUR' } }]],
] as const)('leaves out of the groups what it is told to, "%s"', async (groupsLeaveOut, groups) => {
  await bank.close();
  bank = await Tester.start({ stepMs: 1_000, variants: { groupsLeaveOut } });
  const rows = [
    { iban: magic('notProcessable'), value: 7 },
    { iban: magic('fails'), value: 8 },
    { value: 30 },
  ];
  const { submitted } = await bank.pay(rows);
  const processable = {
    groupStatus: 'PROCESSABLE',
    nbTransactions: 2,
    totalAmount: { value: 38, currency: 'EUR' },
  };
  expect(submitted.paymentTransactionsStatus).toEqual([processable]);
  await bank.advance(60_000);
  const shown = (await bank.get(PATHS.customerInstruction(String(submitted.id)))).body;
  expect(shown.paymentTransactionsStatus).toEqual(groups);
});
