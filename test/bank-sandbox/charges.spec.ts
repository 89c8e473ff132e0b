import fc from 'fast-check';
import { PATHS, TRANSACTION_TYPES } from '../../src/bank/types';
import type { Variants } from '../../src/bank-sandbox/variants';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { ALDER, BIRCH, CEDAR, type Json, PAYEE, paymentIdOf, paymentStatusOf, Tester } from './client';

const FIRST_TRANSACTION_ID = 7_000_001;

let bank: Tester;
const start = async (variants: Partial<Variants> = {}): Promise<void> => {
  bank = await Tester.start({ variants });
};
afterEach(() => bank.close());

const rows = async (): Promise<Json[]> => (await bank.ledger()).instructions[0].rows;
const transaction = async (id: string): Promise<Json> => (await bank.get(PATHS.transaction(id))).body;
const entriesOf = ({ accountingEntries }: Json) =>
  accountingEntries.map(({ accountId, amount }: Json) => [accountId, amount.value]);
const charged = (payment: Json): number => payment.paymentTransactionAmountInformation.chargesAmount.value;

async function allTransactions(): Promise<Json[]> {
  const found: Json[] = [];
  for (let id = FIRST_TRANSACTION_ID; ; id += 1) {
    const { status, body } = await bank.get(PATHS.transaction(String(id)));
    if (status !== 200) return found;
    found.push(body);
  }
}

it('charges nothing unless it is told to', async () => {
  await start();
  const { added } = await bank.pay([{ value: 300 }]);
  expect(charged(added[0])).toBe(0);
  expect((await rows())[0]).not.toHaveProperty('feeTransactionId');
  expect((await bank.account('1001')).balance.value).toBe(25_000_000 - 300);
});

it('writes a charge as what is taken from the account where the bank does', async () => {
  await start({ chargeMinor: 15, chargeSign: 'negative' });
  const { added } = await bank.pay([{ value: 300 }, { value: 200, iban: BIRCH.account!.iban }]);
  expect(added.map(charged)).toEqual([-15, 0]);
  expect((await bank.account('1001')).balance.value).toBe(25_000_000 - 515);
});

it('charges the debtor for each outward payment to another bank when it settles, as a FEE of its own', async () => {
  await start({ chargeMinor: 15 });
  const { added } = await bank.pay([{ value: 300 }, { value: 200, iban: BIRCH.account!.iban }]);
  expect(added.map(charged)).toEqual([15, 0]);
  const [external, within] = await rows();
  expect(within).not.toHaveProperty('feeTransactionId');
  const fee = await transaction(external.feeTransactionId);
  expect(fee).toMatchObject({
    type: 'FEE',
    localizedType: { value: 'FEE', label: 'Fee' },
    amount: { value: 15, currency: 'EUR' },
  });
  expect(entriesOf(fee)).toEqual([
    ['1001', -15],
    ['clearing', 15],
  ]);
  expect(fee.accountingEntries[0].balance.value).toBe(25_000_000 - 200 - 300 - 15);
  expect((await transaction(external.transactionId)).amount.value).toBe(300);
  expect(await bank.account('1001')).toMatchObject({
    balance: { value: 25_000_000 - 515 },
    availableBalance: { value: 25_000_000 - 515 },
  });
  expect((await bank.ledger()).entriesSumMinor).toBe('0');
});

it('holds amount and charge, and fails a payment whose amount alone is covered', async () => {
  await start({ chargeMinor: 100 });
  const { added } = await bank.pay([{ value: 149_950 }, { value: 149_900 }], {}, CEDAR);
  const statuses = await Promise.all(
    added.map(async (payment) => paymentStatusOf(await bank.payment(paymentIdOf(payment)))),
  );
  expect(statuses).toEqual(['PRO_DEBIT_HOLD_FAILED', 'SETTLED']);
  expect((await bank.account('1003')).balance.value).toBe(0);
});

it('gives back a hold with its charge when the payment fails, and books no fee', async () => {
  await start({ chargeMinor: 100 });
  const { iban } = MAGIC_CREDITORS.find(({ effect }) => effect === 'refusedAfterExchange')!;
  await bank.pay([{ value: 300, iban }]);
  expect((await rows())[0]).not.toHaveProperty('feeTransactionId');
  expect((await bank.account('1001')).availableBalance.value).toBe(25_000_000);
});

it('shows no charge of a payment that failed before it was charged', async () => {
  await start({ chargeMinor: 100 });
  const refused = ['refusedAfterExchange', 'notProcessable', 'cancelled', 'initiationNotValid'];
  const ibans = refused.map((effect) => MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban);
  const { added } = await bank.pay([...ibans.map((iban) => ({ value: 300, iban })), { value: 300 }]);
  expect(added.map(charged)).toEqual([100, 100, 100, 0, 100]);
  const ended = await Promise.all(added.map((payment) => bank.payment(paymentIdOf(payment))));
  expect(ended.map(charged)).toEqual([0, 0, 0, 0, 100]);
});

it('gives back of a returned payment what the other bank left of it, and shows that as its amount', async () => {
  await start({ returnChargeMinor: 20 });
  const { iban } = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!;
  const { added } = await bank.pay([
    { value: 300, iban },
    { value: 20, iban },
  ]);
  const amounts = async () => {
    const shown = await Promise.all(added.map((payment) => bank.payment(paymentIdOf(payment))));
    return shown.map((one) => one.paymentTransactionAmountInformation.instructedAmount.value as number);
  };
  expect(await amounts()).toEqual([300, 20]);
  await bank.advance(2 * 86_400_000);
  expect((await rows()).map(({ status }) => status)).toEqual(['RETURNED', 'RETURNED']);
  expect(await amounts()).toEqual([280, 20]);
  expect((await bank.account('1001')).balance.value).toBe(25_000_000 - 20);
  expect((await bank.ledger()).payees).toMatchObject([{ movedMinor: '320', returnedMinor: '300' }]);
});

it('keeps its charge for a payment that is returned', async () => {
  await start({ chargeMinor: 100 });
  const { iban } = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!;
  await bank.pay([{ value: 300, iban }]);
  await bank.advance(2 * 86_400_000);
  expect((await rows())[0]).toMatchObject({ status: 'RETURNED' });
  expect((await bank.account('1001')).balance.value).toBe(25_000_000 - 100);
});

it('books a batch as one debit and every charge beside it', async () => {
  await start({ chargeMinor: 5 });
  await bank.pay([{ value: 100 }, { value: 200 }], { batchBooking: true });
  const [first, second] = await rows();
  expect(first.transactionId).toBe(second.transactionId);
  expect((await transaction(first.transactionId)).amount.value).toBe(300);
  expect(first.feeTransactionId).not.toBe(second.feeTransactionId);
  expect(await bank.account('1001')).toMatchObject({
    balance: { value: 25_000_000 - 310 },
    availableBalance: { value: 25_000_000 - 310 },
  });
});

it('charges a second execution too, where the bank makes one', async () => {
  await start({ chargeMinor: 5, secondSubmit: 'executed' });
  const { id } = await bank.pay([{ value: 100 }]);
  await bank.submit(id);
  await bank.advance(0);
  expect((await bank.account('1001')).balance.value).toBe(25_000_000 - 210);
});

it('lets a tester book a fee on an account, or money of the distributor', async () => {
  await start();
  const post = (posting: Record<string, unknown>) => bank.post('/sandbox/postings', posting);
  const fee = await post({ accountId: '1001', type: 'FEE', amountMinor: '990' });
  expect(fee.status).toBe(201);
  expect(entriesOf(await transaction(fee.body.transactionId))).toEqual([
    ['1001', -990],
    ['clearing', 990],
  ]);
  const funds = await post({ accountId: '1003', type: 'DISTRIBUTOR_POSTING', amountMinor: '5000' });
  expect(await transaction(funds.body.transactionId)).toMatchObject({ type: 'DISTRIBUTOR_POSTING' });
  await post({ accountId: '1003', type: 'FEE', amountMinor: '7', direction: 'CREDIT' });
  await post({ accountId: '1003', type: 'DISTRIBUTOR_POSTING', amountMinor: '2', direction: 'DEBIT' });
  expect((await bank.account('1001')).balance.value).toBe(25_000_000 - 990);
  expect((await bank.account('1003')).balance.value).toBe(150_000 + 5000 + 7 - 2);
  expect((await bank.ledger()).entriesSumMinor).toBe('0');
});

it('shows a fee that is booked for a payment as its charge, whatever it ended in', async () => {
  await start({ chargeMinor: 15 });
  const { iban } = MAGIC_CREDITORS.find(({ effect }) => effect === 'refusedAfterExchange')!;
  const { added } = await bank.pay([{ value: 300 }, { value: 300, iban }]);
  const ids = added.map(paymentIdOf);
  const fee = { accountId: '1001', type: 'FEE', amountMinor: '40' };
  for (const paymentId of ids.map(Number))
    expect((await bank.post('/sandbox/postings', { ...fee, paymentId })).status).toBe(201);
  await bank.post('/sandbox/postings', { ...fee, paymentId: Number(ids[0]), direction: 'CREDIT' });
  expect((await Promise.all(ids.map((id) => bank.payment(id)))).map(charged)).toEqual([15, 40]);
  expect((await bank.account('1001')).balance.value).toBe(25_000_000 - 300 - 15 - 40);
  for (const change of [{ accountId: '1002' }, { type: 'DISTRIBUTOR_POSTING', direction: 'DEBIT' }])
    expect(
      (await bank.post('/sandbox/postings', { ...fee, ...change, paymentId: Number(ids[0]) })).status,
    ).toBe(422);
  expect((await bank.post('/sandbox/postings', { ...fee, paymentId: 1 })).status).toBe(404);
});

it('refuses a posting that is none, exceeds the available balance, or concerns no open account', async () => {
  await start();
  const good = { accountId: '1003', type: 'FEE', amountMinor: '150000' };
  const statusOf = async (changes: Record<string, unknown>) =>
    (await bank.post('/sandbox/postings', { ...good, ...changes })).status;
  for (const changes of [
    { amountMinor: '150001' },
    { amountMinor: '0' },
    { amountMinor: '-1' },
    { amountMinor: 1.5 },
    { type: 'REFUND' },
    { direction: 'UP' },
    { more: 1 },
  ])
    expect([changes, await statusOf(changes)]).toEqual([changes, 422]);
  expect((await bank.post('/sandbox/postings', { ...good, type: 'REFUND' })).body.message).toContain(
    'type is FEE or DISTRIBUTOR_POSTING',
  );
  expect(await statusOf({ accountId: '9' })).toBe(404);
  expect(await statusOf({})).toBe(201);
  expect((await bank.delete(PATHS.account('1003'))).status).toBe(200);
  expect(await statusOf({ direction: 'CREDIT' })).toBe(409);
});

it('reaches all six types of transaction', async () => {
  await start({ chargeMinor: 1 });
  const { iban } = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!;
  await bank.pay([{ iban: PAYEE }, { iban: BIRCH.account!.iban }, { iban }]);
  await bank.post('/sandbox/incoming-payments', { iban: ALDER.account!.iban, amountMinor: '700' });
  await bank.advance(2 * 86_400_000);
  const types = (await allTransactions()).map(({ type }) => type);
  expect(TRANSACTION_TYPES.filter((type) => !types.includes(type))).toEqual([]);
});

it('takes amount and charge of what settles and nothing else, whatever is paid and however it is booked', async () => {
  await start({ chargeMinor: 7 });
  const within = BIRCH.account!.iban;
  const ibans = [PAYEE, within, ...MAGIC_CREDITORS.map(({ iban }) => iban)];
  const payment = fc.record({ value: fc.integer({ min: 1, max: 30_000 }), iban: fc.constantFrom(...ibans) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(payment, { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (payments, batchBooking) => {
        await bank.pay(payments, { batchBooking }, CEDAR);
        const { entriesSumMinor, accounts, instructions } = await bank.ledger();
        expect(entriesSumMinor).toBe('0');
        const paid = instructions.flatMap((one: Json) => one.rows).filter(({ moved }: Json) => moved > 0);
        const spent = paid.reduce(
          (sum: bigint, row: Json) => sum + BigInt(row.amountMinor) + (row.creditorIban === within ? 0n : 7n),
          0n,
        );
        const { balanceMinor, heldMinor } = accounts.find(({ accountId }: Json) => accountId === '1003');
        expect(BigInt(balanceMinor)).toBe(150_000n - spent);
        expect(BigInt(heldMinor) >= 0n && BigInt(balanceMinor) >= BigInt(heldMinor)).toBe(true);
      },
    ),
    { numRuns: 15 },
  );
});
