import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { PATHS } from '../../src/bank/types';
import type { SandboxOptions } from '../../src/bank-sandbox/main';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { ALDER, BIRCH, CEDAR, type Json, PAYEE, paymentIdOf, statusesOf, Tester } from './client';

/** Longer than a test takes: the bank's clock runs by itself, too. */
const STEP_MS = 120_000;
const TWO_DAYS_MS = 2 * 86_400_000;
const ON_US = BIRCH.account!.iban;
const START = 25_000_000;
const ibanOf = (effect: string): string => MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban;

let bank: Tester;
const start = async (options: SandboxOptions = {}): Promise<void> => {
  bank = await Tester.start({ stepMs: STEP_MS, ...options });
};
afterEach(() => bank.close());

const batch = (payments: { value: number; iban?: string }[], debtor = ALDER) =>
  bank.pay(payments, { batchBooking: true }, debtor);
const rows = async (): Promise<Json[]> => (await bank.ledger()).instructions[0].rows;
const money = async (): Promise<number[]> => {
  const { balance, availableBalance } = await bank.account('1001');
  return [balance.value, availableBalance.value];
};
/** After this many steps both channels hold, and payments within the bank are ready to settle. */
const steps = (count: number): Promise<void> => bank.advance(count * STEP_MS);
const transaction = async (id: string): Promise<Json> => (await bank.get(PATHS.transaction(id))).body;

it('is booked when the last of its payments settles, and held until then', async () => {
  await start();
  await batch([{ value: 300 }, { value: 200, iban: ON_US }]);
  await steps(8);
  expect((await rows()).map(({ status }) => status)).toEqual(['EXCHANGED', 'READY_FOR_PROCESSING']);
  expect(await money()).toEqual([START, START - 500]);
  expect((await rows()).map(({ moved, transactionId }) => [moved, transactionId])).toEqual([
    [0, undefined],
    [0, undefined],
  ]);
  expect((await bank.account('1002')).balance.value).toBe(100_000_000_000);
  await steps(1);
  const [outside, within] = await rows();
  expect([outside, within]).toMatchObject([
    { status: 'SETTLED', moved: 1 },
    { status: 'SETTLED', moved: 1 },
  ]);
  expect(outside.transactionId).toBe(within.transactionId);
  expect((await transaction(outside.transactionId)).accountingEntries[0]).toMatchObject({
    amount: { value: -500 },
    balance: { value: START - 500 },
    availableBalance: { value: START - 500 },
  });
  expect(await money()).toEqual([START - 500, START - 500]);
  expect((await bank.account('1002')).balance.value).toBe(100_000_000_200);
});

it('has nothing of a payment the other bank refuses', async () => {
  await start();
  const { added } = await batch([{ value: 300 }, { value: 100 }, { value: 200, iban: ON_US }]);
  await steps(7);
  const { paymentInstructionId } = await bank.payment(paymentIdOf(added[0]));
  expect((await bank.post(PATHS.refuse(String(paymentInstructionId)))).status).toBe(200);
  expect(await money()).toEqual([START, START - 300]);
  await steps(2);
  const [refused, outside] = await rows();
  expect(refused).toMatchObject({ status: 'EXT_REFUSED', moved: 0 });
  expect(refused).not.toHaveProperty('transactionId');
  expect((await transaction(outside.transactionId)).amount.value).toBe(300);
  expect(await money()).toEqual([START - 300, START - 300]);
});

it('is booked when the last it waited for is refused', async () => {
  await start();
  const { added } = await batch([{ value: 300 }, { value: 200, iban: ON_US }]);
  await steps(7);
  const { paymentInstructionId } = await bank.payment(paymentIdOf(added[0]));
  await bank.post(PATHS.refuse(String(paymentInstructionId)));
  expect((await rows()).map(({ status }) => status)).toEqual(['EXT_REFUSED', 'READY_FOR_PROCESSING']);
  await steps(1);
  expect((await rows()).map(({ status }) => status)).toEqual(['EXT_REFUSED', 'SETTLED']);
  expect(await money()).toEqual([START - 200, START - 200]);
});

it('has nothing of a payment whose payee is gone when it settles', async () => {
  await start();
  await batch([{ value: 300 }, { value: 200, iban: ON_US }]);
  await bank.post('/sandbox/accounts/1002/block');
  await steps(9);
  const [outside, within] = await rows();
  expect(within).toMatchObject({ status: 'PRO_SETTLEMENT_FAILED', moved: 0 });
  expect((await transaction(outside.transactionId)).amount.value).toBe(300);
  expect(await money()).toEqual([START - 300, START - 300]);
});

it('does not wait for a payment that never settles, and leaves its money held', async () => {
  await start();
  await batch([{ value: 300 }, { value: 200, iban: ibanOf('neverSettles') }]);
  await steps(9);
  expect((await rows()).map(({ status }) => status)).toEqual(['SETTLED', 'EXCHANGED']);
  expect(await money()).toEqual([START - 300, START - 500]);
});

it('books nothing when nothing of it settles', async () => {
  await start({ stepMs: 0 });
  await batch([{ value: 300, iban: ibanOf('settlementFails') }]);
  expect((await rows())[0]).not.toHaveProperty('transactionId');
  expect(await money()).toEqual([START, START]);
});

it('takes back a returned payment two days after it was booked, and not the charges', async () => {
  await start({ variants: { chargeMinor: 15 } });
  await batch([{ value: 300, iban: ibanOf('returnedTwoDaysLater') }, { value: 100 }]);
  await steps(9);
  expect(await money()).toEqual([START - 430, START - 430]);
  await bank.advance(TWO_DAYS_MS);
  expect((await rows())[0]).toMatchObject({ status: 'RETURNED', moved: 1, returned: true });
  expect(await money()).toEqual([START - 130, START - 130]);
});

it('takes in what is added before it is booked, and books what is added later by itself', async () => {
  await start({ variants: { addAfterSubmit: 'accepted' } });
  const { id } = await batch([{ value: 300 }, { value: 200, iban: ON_US }]);
  await steps(4);
  await bank.add(id, { value: 50 });
  await steps(8);
  expect((await rows()).map(({ status }) => status)).toEqual([
    'EXCHANGED',
    'READY_FOR_PROCESSING',
    'EXCHANGED',
  ]);
  await steps(1);
  await bank.add(id, { value: 7 });
  await steps(9);
  const [first, second, third, later] = await rows();
  expect(new Set([first, second, third].map(({ transactionId }) => transactionId)).size).toBe(1);
  expect((await transaction(first.transactionId)).amount.value).toBe(550);
  expect((await transaction(later.transactionId)).amount.value).toBe(7);
  expect(await money()).toEqual([START - 557, START - 557]);
});

it('settles in the order and with the statuses of the document, one entry for a thousand and more', async () => {
  await start({ stepMs: 0 });
  const payments = Array.from({ length: 1_001 }, () => ({ value: 1 }));
  const { added } = await batch([...payments, { value: 1, iban: ON_US }]);
  const { paymentTransactionInternalInformation: internal } = await bank.payment(paymentIdOf(added[0]));
  expect(statusesOf(internal.history).slice(-2)).toEqual(['EXCHANGED', 'SETTLED']);
  const all = await rows();
  expect(new Set(all.map(({ transactionId }) => transactionId)).size).toBe(1);
  expect((await transaction(all[0].transactionId)).amount.value).toBe(1_002);
});

it('goes on after a restart as if there had been none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bank-batch-'));
  const options = { stateFile: join(folder, 'bank.journal'), nowMs: Date.parse('2026-01-05T08:00:00Z') };
  await start(options);
  await batch([{ value: 300 }, { value: 200, iban: ON_US }]);
  await steps(8);
  const told = await bank.ledger();
  await bank.close();
  await start(options);
  expect(await bank.ledger()).toEqual(told);
  await steps(1);
  expect((await rows()).map(({ moved }) => moved)).toEqual([1, 1]);
  expect(await money()).toEqual([START - 500, START - 500]);
  await bank.close();
  rmSync(folder, { recursive: true });
  await start();
});

it('has moved, booked and settled the same at every moment, whatever is in it', async () => {
  await start({ variants: { chargeMinor: 7 } });
  const ibans = [PAYEE, ON_US, ...MAGIC_CREDITORS.map(({ iban }) => iban)];
  const payment = fc.record({ value: fc.integer({ min: 1, max: 60_000 }), iban: fc.constantFrom(...ibans) });
  await fc.assert(
    fc.asyncProperty(fc.array(payment, { minLength: 1, maxLength: 6 }), async (payments) => {
      const before = (await bank.account('1003')).balance.value as number;
      const { id } = await batch(payments, CEDAR);
      for (let step = 0; step < 10; step += 1) {
        const { instructions, entriesSumMinor } = (await bank.get(`/sandbox/ledger?instruction=${id}`)).body;
        expect(entriesSumMinor).toBe('0');
        const all: Json[] = instructions[0].rows;
        const moved = all.filter((row) => row.moved > 0);
        expect(moved).toEqual(all.filter(({ transactionId }) => transactionId !== undefined));
        expect(moved).toEqual(all.filter(({ status }) => status === 'SETTLED'));
        const spent = moved.reduce(
          (sum, row) => sum + Number(row.amountMinor) + (row.creditorIban === ON_US ? 0 : 7),
          0,
        );
        expect((await bank.account('1003')).balance.value).toBe(before - spent);
        await steps(1);
      }
    }),
    { numRuns: 8 },
  );
});
