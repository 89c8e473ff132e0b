import fc from 'fast-check';
import { PATHS } from '../../src/bank/types';
import { MAGIC_CREDITORS, type MagicCreditor } from '../../src/bank-sandbox/magic';
import { isIban } from '../../src/bank-sandbox/iban';
import {
  addition,
  ALDER,
  BIRCH,
  CEDAR,
  historyOf,
  PAYEE,
  paymentIdOf,
  paymentStatusOf,
  statusesOf,
  Tester,
  type Json,
} from './client';

const magic = (effect: MagicCreditor['effect']): string =>
  MAGIC_CREDITORS.find((creditor) => creditor.effect === effect)!.iban;

/** Effect of a magic creditor, the status its payment ends in, and how often money reached it. */
const ENDS = [
  ['notProcessable', 'SUB_NOT_IS_VALID', 0],
  ['initiationNotValid', 'INI_NOT_IS_VALID', 0],
  ['initiationControlFails', 'INI_INT_CTRL_FAILED', 0],
  ['submissionControlFails', 'SUB_INT_CTRL_FAILED', 0],
  ['processingControlFails', 'PRO_INT_CTRL_FAILED', 0],
  ['exchangeError', 'EXCHANGE_ERROR', 0],
  ['payeeAccountClosed', 'EXT_REFUSED', 0],
  ['abandoned', 'ABANDONED', 0],
  ['refusedAfterExchange', 'EXT_REFUSED', 0],
  ['neverSettles', 'EXCHANGED', 0],
  ['routingFails', 'PRO_ROUTING_FAILED', 0],
  ['settlementFails', 'PRO_SETTLEMENT_FAILED', 0],
  ['fails', 'FAILED', 0],
  ['rejected', 'REJECTED', 0],
  ['cancelled', 'CANCELLED', 0],
  ['undocumentedStatus', 'PRO_MANUAL_REVIEW', 0],
  ['returnedTwoDaysLater', 'SETTLED', 1],
  ['comesInTwoDaysLater', 'SETTLED', 1],
] as const satisfies readonly [MagicCreditor['effect'], string, number][];

describe('credit transfers', () => {
  let bank: Tester;
  beforeEach(async () => {
    bank = await Tester.start();
  });
  afterEach(() => bank.close());

  it('echoes what was sent, with the total as a single amount and the parties it adds', async () => {
    const instruction = await bank.initiate({
      customerInstructionReference: 'RUN-1',
      requestedNbPaymentTransactions: 2,
      requestedTotalAmount: [{ value: 500, currency: 'EUR' }],
    });
    expect(instruction.customerInstructionInformation).toMatchObject({
      customerInstructionReference: 'RUN-1',
      requestedNbPaymentTransactions: 2,
      requestedTotalAmount: { value: 500, currency: 'EUR' },
    });
    expect(instruction.customerInstructionOrderingParties.initiatingParty.name).toBe('Payrun Distributor');
    expect(instruction.externalData).toEqual({ run: 'r1' });
    const { body } = await bank.add(instruction.id);
    expect(body.externalData).toEqual({ row: 1.5 });
    expect(body.paymentTransactionParties.debtor.name).toBe(ALDER.holderName);
    expect(body.customerInstructionId).toBe(instruction.id);
    expect(body.paymentTransactionInformation.paymentTransactionIdentification).toMatchObject({
      messageId: 'm-1',
      endToEndId: 'NOTPROVIDED',
    });
  });

  it('calculates number and amount of what was added, and their groups after the submit', async () => {
    const { id } = await bank.initiate();
    await bank.add(id, { value: 100 });
    await bank.add(id, { value: 250 });
    await bank.add(id, { value: 7, iban: magic('notProcessable') });
    const { body } = await bank.get(PATHS.customerInstruction(String(id)));
    expect(body.calculatedNbPaymentTransactions).toBe(3);
    expect(body.calculatedAmount).toEqual({ value: 357, currency: 'EUR' });
    expect((await bank.submit(id)).body.paymentTransactionsStatus).toEqual([
      { groupStatus: 'PROCESSABLE', nbTransactions: 2, totalAmount: { value: 350, currency: 'EUR' } },
      { groupStatus: 'NOTPROCESSABLE', nbTransactions: 1, totalAmount: { value: 7, currency: 'EUR' } },
    ]);
  });

  it('gives links that lead where they say, under /api', async () => {
    const instruction = await bank.initiate();
    const { body: payment } = await bank.add(instruction.id);
    for (const { rel, href } of [...instruction.links, ...payment.links]) {
      expect(href.startsWith(`${bank.url}/api/`)).toBe(true);
      if (!rel.startsWith('get')) continue;
      expect((await bank.get(href)).status).toBe(200);
    }
    expect(instruction.links.map(({ rel }: Json) => rel)).toEqual([
      'updateCustomerInstruction',
      'deleteCustomerInstruction',
      'getCustomerInstruction',
      'getPaymentTransactionsList',
      'initiatePaymentTransaction',
      'submitCustomerInstruction',
    ]);
  });

  it('refuses what cannot be paid, without changing the totals', async () => {
    const { id } = await bank.initiate();
    const refused = [
      { iban: 'FR1420041010050500013M02607' },
      { iban: ALDER.account!.iban },
      { iban: 'DE86999900000000009999' },
      { iban: magic('refusedAtAdd') },
      { value: 0 },
      { value: -5 },
      { value: 12.5 },
      { value: '1e5' },
      { value: 1_000_000_000_000 },
      { messageId: 'x'.repeat(36) },
      { name: 'n'.repeat(141) },
    ];
    for (const payment of refused) expect((await bank.add(id, payment)).status).toBe(422);
    const { body } = await bank.get(PATHS.customerInstruction(String(id)));
    expect(body.calculatedNbPaymentTransactions).toBe(0);
    expect((await bank.submit(id)).status).toBe(422);
  });

  it('answers malformed requests with 400, 404, 413 and 415', async () => {
    const send = (body: string, type = 'application/json') =>
      fetch(bank.url + PATHS.initiate(), {
        method: 'POST',
        headers: { authorization: 'Bearer sandbox-token', 'content-type': type },
        body,
      });
    expect((await send('{')).status).toBe(400);
    expect((await send('[]', 'text/plain')).status).toBe(415);
    expect((await send(`{"a":"${'x'.repeat(1_100_000)}"}`)).status).toBe(413);
    expect((await bank.submit(999)).status).toBe(404);
    expect((await bank.get('/api/nothing')).status).toBe(404);
    const { id } = await bank.initiate();
    expect((await bank.post(PATHS.submit(String(id)), { why: 'a body' })).status).toBe(400);
  });

  it('changes and deletes before the submit, and neither after it', async () => {
    const { id } = await bank.initiate();
    const kept = paymentIdOf((await bank.add(id, { value: 100 })).body);
    const dropped = paymentIdOf((await bank.add(id, { value: 900 })).body);
    const path = (payment: number) => PATHS.creditTransferPaymentTransaction(String(payment));
    const { paymentTransactionAmountInformation } = addition({ value: 150 });
    expect((await bank.patch(path(kept), { paymentTransactionAmountInformation })).status).toBe(200);
    expect((await bank.delete(path(dropped))).status).toBe(204);
    expect((await bank.get(PATHS.paymentTransaction(String(dropped)))).status).toBe(404);
    const instructionPath = PATHS.creditTransfer(String(id));
    const reference = { customerInstructionInformation: { customerInstructionReference: 'NEW' } };
    const { body } = await bank.patch(instructionPath, reference);
    expect(body).toMatchObject({ calculatedNbPaymentTransactions: 1, calculatedAmount: { value: 150 } });
    expect(body.customerInstructionInformation).toMatchObject({
      customerInstructionReference: 'NEW',
      paymentInstrument: 'CreditTransfer',
    });
    await bank.submit(id);
    expect((await bank.patch(path(kept), { paymentTransactionAmountInformation })).status).toBe(409);
    expect((await bank.delete(path(kept))).status).toBe(409);
    expect((await bank.patch(instructionPath, reference)).status).toBe(409);
    expect((await bank.delete(instructionPath)).status).toBe(409);
    expect((await bank.add(id)).status).toBe(409);
  });

  it('lets a deleted instruction neither be seen nor submitted, and moves none of its money', async () => {
    const { id } = await bank.initiate();
    await bank.add(id);
    expect((await bank.delete(PATHS.creditTransfer(String(id)))).status).toBe(204);
    expect((await bank.get(PATHS.customerInstruction(String(id)))).status).toBe(404);
    expect((await bank.submit(id)).status).toBe(404);
    expect((await bank.get(PATHS.paymentTransactions())).body.count).toBe(0);
    const ledger = await bank.ledger();
    expect(ledger.unsubmitted).toEqual([id]);
    expect(ledger.instructions[0]).toMatchObject({ deleted: true, status: 'CANCELLED', submits: 0 });
    expect(ledger.payees).toEqual([]);
  });

  it('fails the payments the available balance does not cover, and pays the others', async () => {
    const { added } = await bank.pay([{ value: 100_000 }, { value: 60_000 }, { value: 50_000 }], {}, CEDAR);
    const statuses = [];
    for (const payment of added) statuses.push(paymentStatusOf(await bank.payment(paymentIdOf(payment))));
    expect(statuses).toEqual(['SETTLED', 'PRO_DEBIT_HOLD_FAILED', 'SETTLED']);
    expect((await bank.account('1003')).balance.value).toBe(0);
  });

  it('exchanges or refuses a payment instruction while it is ready for exchange', async () => {
    const slow = await Tester.start({ stepMs: 1000 });
    const { added } = await slow.pay([{}, {}]);
    await slow.advance(7_000);
    const ids = [];
    for (const payment of added) {
      const { paymentInstructionId, links } = await slow.payment(paymentIdOf(payment));
      expect(links.map(({ rel }: Json) => rel)).toContain('refusePaymentInstruction');
      ids.push(String(paymentInstructionId));
    }
    expect((await slow.get(PATHS.paymentInstruction(ids[0]!))).status).toBe(200);
    expect(paymentStatusOf((await slow.post(PATHS.exchange(ids[0]!))).body)).toBe('EXCHANGED');
    expect(paymentStatusOf((await slow.post(PATHS.refuse(ids[1]!))).body)).toBe('EXT_REFUSED');
    expect((await slow.post(PATHS.refuse(ids[0]!))).status).toBe(409);
    await slow.advance(60_000);
    const statuses = (await slow.ledger()).instructions[0].rows.map(({ status }: Json) => status);
    expect(statuses).toEqual(['SETTLED', 'EXT_REFUSED']);
    const history = statusesOf(historyOf(await slow.payment(paymentIdOf(added[0]))));
    expect(history.filter((status) => status === 'EXCHANGED')).toHaveLength(1);
    expect((await slow.account('1001')).availableBalance.value).toBe(25_000_000 - 12_345);
    await slow.close();
  });

  it.each(ENDS)('ends a payment to the creditor "%s" in %s', async (effect, status, moved) => {
    await bank.pay([{ iban: magic(effect), value: 400 }, { value: 30 }]);
    const { instructions, payees, entriesSumMinor } = await bank.ledger();
    expect(instructions[0].rows[0]).toMatchObject({ status, moved, returned: false });
    expect(instructions[0].rows[1]).toMatchObject({ status: 'SETTLED', moved: 1 });
    expect(payees).toContainEqual(expect.objectContaining({ iban: PAYEE, count: 1, movedMinor: '30' }));
    expect(entriesSumMinor).toBe('0');
    const held = ['neverSettles', 'undocumentedStatus', 'exchangeError'].includes(effect) ? 400 : 0;
    const account = await bank.account('1001');
    expect(account.balance.value - account.availableBalance.value).toBe(held);
  });

  it('returns a payment two days after its settlement and books the money back', async () => {
    const iban = magic('returnedTwoDaysLater');
    const { added } = await bank.pay([{ iban, value: 400 }]);
    await bank.advance(2 * 86_400_000 - 60_000);
    expect((await bank.account('1001')).balance.value).toBe(24_999_600);
    await bank.advance(60_000);
    expect(paymentStatusOf(await bank.payment(paymentIdOf(added[0])))).toBe('RETURNED');
    expect((await bank.account('1001')).balance.value).toBe(25_000_000);
    expect((await bank.ledger()).payees).toEqual([
      { iban, count: 1, movedMinor: '400', returnedCount: 1, returnedMinor: '400' },
    ]);
  });

  it.each([true, false])(
    'has the money of a payment come in two days after its settlement (batchBooking: %s)',
    async (batchBooking) => {
      const { added } = await bank.pay([{ iban: magic('comesInTwoDaysLater'), value: 400 }], {
        batchBooking,
      });
      await bank.advance(2 * 86_400_000 - 60_000);
      expect((await bank.account('1001')).balance.value).toBe(24_999_600);
      await bank.advance(60_000);
      expect((await bank.account('1001')).balance.value).toBe(25_000_000);
      expect(paymentStatusOf(await bank.payment(paymentIdOf(added[0])))).toBe('SETTLED');
      const { items } = (await bank.get(PATHS.paymentTransactions())).body;
      expect(items.at(-1)).toMatchObject({
        paymentTransactionInformation: {
          direction: 'INWARD',
          paymentTransactionIdentification: { messageId: 'm-1' },
        },
        paymentTransactionParties: { creditor: { accountId: { value: ALDER.account!.iban } } },
      });
    },
  );

  it('refuses the submit of an instruction with the creditor made for it, and keeps it unsubmitted', async () => {
    const { id } = await bank.initiate();
    await bank.add(id, { iban: magic('submitRefused') });
    expect((await bank.submit(id)).status).toBe(422);
    const { body } = await bank.get(PATHS.customerInstruction(String(id)));
    expect(body.status.value).toBe('INITIATED');
  });

  it('has only valid IBANs among the magic creditors, each once and below one bank code', () => {
    const ibans = MAGIC_CREDITORS.map(({ iban }) => iban);
    expect(ibans.every(isIban)).toBe(true);
    expect(ibans.every((iban) => iban.slice(4, 18) === '99991111000000')).toBe(true);
    expect(new Set(ibans).size).toBe(ibans.length);
  });

  it('has a test for each magic creditor', () => {
    const tested = [...ENDS.map(([effect]) => effect), 'refusedAtAdd', 'submitRefused'];
    expect(tested.sort()).toEqual(MAGIC_CREDITORS.map(({ effect }) => effect).sort());
  });
});

describe('the book', () => {
  let bank: Tester;
  beforeEach(async () => {
    bank = await Tester.start();
  });
  afterEach(() => bank.close());

  it('shows a transaction with two entries that cancel out', async () => {
    await bank.pay([{ iban: BIRCH.account!.iban, value: 300 }]);
    const [row] = (await bank.ledger()).instructions[0].rows;
    const { body } = await bank.get(PATHS.transaction(row.transactionId));
    expect(body).toMatchObject({ type: 'INTERNAL_TRANSFER', media: 'API', amount: { value: 300 } });
    expect(body.accountingEntries.map(({ accountId, amount }: Json) => [accountId, amount.value])).toEqual([
      ['1001', -300],
      ['1002', 300],
    ]);
    expect(body.accountingEntries[0]).toMatchObject({
      type: 'TRANSFER',
      balance: { value: 24_999_700 },
      availableBalance: { value: 24_999_700 },
      accountOwner: { id: '501', name: ALDER.holderName, userRole: 'COMPANY' },
    });
    expect(body.contributions.map(({ role }: Json) => role)).toEqual([
      'INTERMEDIARY',
      'ACCOUNT_OWNER',
      'ACCOUNT_OWNER',
    ]);
    expect(body.externalData.remittanceInformation).toBe('Salary January');
  });

  it('books a batch as one debit and still pays every payee once', async () => {
    const payments = [{ value: 100 }, { value: 200, iban: BIRCH.account!.iban }, { value: 400 }];
    await bank.pay(payments, { batchBooking: true, customerInstructionReference: 'RUN-9' });
    const { instructions, payees, entriesSumMinor } = await bank.ledger();
    const ids = new Set(instructions[0].rows.map(({ transactionId }: Json) => transactionId));
    expect(ids.size).toBe(1);
    const { body } = await bank.get(PATHS.transaction([...ids][0] as string));
    expect(body).toMatchObject({ description: 'RUN-9', amount: { value: 700 } });
    expect(payees.map(({ movedMinor }: Json) => movedMinor).sort()).toEqual(['200', '500']);
    expect((await bank.account('1002')).balance.value).toBe(100_000_000_200);
    expect(entriesSumMinor).toBe('0');
  });

  it('neither makes nor loses a cent, whatever is paid', async () => {
    const ibans = [PAYEE, BIRCH.account!.iban, ...MAGIC_CREDITORS.map(({ iban }) => iban)];
    const payment = fc.record({
      value: fc.integer({ min: 1, max: 40_000 }),
      iban: fc.constantFrom(...ibans),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(payment, { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        async (payments, batch) => {
          await bank.pay(payments, { batchBooking: batch }, CEDAR);
          const { entriesSumMinor, accounts, instructions } = await bank.ledger();
          expect(entriesSumMinor).toBe('0');
          for (const { balanceMinor, heldMinor } of accounts) {
            expect(BigInt(heldMinor) >= 0n).toBe(true);
            expect(BigInt(balanceMinor) >= BigInt(heldMinor)).toBe(true);
          }
          const spent = instructions
            .flatMap(({ rows }: Json) => rows)
            .reduce((sum: bigint, row: Json) => sum + BigInt(row.amountMinor) * BigInt(row.moved), 0n);
          const cedar = accounts.find(({ accountId }: Json) => accountId === '1003');
          expect(BigInt(cedar.balanceMinor)).toBe(150_000n - spent);
        },
      ),
      { numRuns: 15 },
    );
  });
});
