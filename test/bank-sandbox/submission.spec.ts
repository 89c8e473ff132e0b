import { PATHS } from '../../src/bank/types';
import { MAGIC_CREDITORS, type MagicCreditor } from '../../src/bank-sandbox/magic';
import type { SandboxOptions } from '../../src/bank-sandbox/main';
import {
  ALDER,
  BIRCH,
  historyOf,
  type Json,
  paymentIdOf,
  paymentStatusOf,
  statusesOf,
  Tester,
} from './client';

let bank: Tester;
const start = async (variants: SandboxOptions['variants'], options: SandboxOptions = {}): Promise<Tester> =>
  (bank = await Tester.start({ ...options, variants }));
afterEach(() => bank.close());

const magic = (effect: MagicCreditor['effect']): string =>
  MAGIC_CREDITORS.find((creditor) => creditor.effect === effect)!.iban;
const instruction = async (id: number): Promise<Json> =>
  (await bank.get(PATHS.customerInstruction(String(id)))).body;
const decide = (id: number, verb: 'release' | 'refuse') => bank.post(`/sandbox/instructions/${id}/${verb}`);
const rowStatuses = async (): Promise<string[]> =>
  (await bank.ledger()).instructions[0].rows.map(({ status }: Json) => status);

describe.each([
  ['strong-authentication', 'SUB_STRONG_AUTH_REQUIRED'],
  ['approval', 'C_INST_WAITING_FOR_APPROVAL'],
] as const)('a bank whose submits wait for %s', (submitWaitsFor, waiting) => {
  it('answers the submit and lets instruction and payments wait', async () => {
    await start({ submitWaitsFor, submitStatus: 202 });
    const { id } = await bank.initiate();
    const { body: payment } = await bank.add(id);
    const { status, body } = await bank.submit(id);
    expect(status).toBe(202);
    expect(statusesOf(body.history).slice(2)).toEqual(['SUB_STARTED', 'SUB_IS_VALID', waiting]);
    expect(body.status.value).toBe(waiting);
    expect(body).not.toHaveProperty('paymentTransactionsStatus');
    await bank.advance(86_400_000);
    expect((await instruction(id)).status.value).toBe(waiting);
    expect(paymentStatusOf(await bank.payment(paymentIdOf(payment)))).toBe('INITIATED');
    expect((await bank.ledger()).payees).toEqual([]);
    expect((await bank.account('1001')).availableBalance.value).toBe(25_000_000);
  });

  it('goes on where it was, once it is released', async () => {
    await start({ submitWaitsFor });
    const { id, added } = await bank.pay([{ value: 100 }, { value: 7, iban: magic('notProcessable') }]);
    expect((await decide(id, 'release')).body).toEqual({ id, status: 'SUB_REQUIRED' });
    await bank.advance(0);
    const shown = await instruction(id);
    expect(statusesOf(shown.history).slice(4)).toEqual([waiting, 'SUB_INT_CTRL_PASSED', 'SUB_REQUIRED']);
    expect(shown.paymentTransactionsStatus.map((group: Json) => group.nbTransactions)).toEqual([1, 1]);
    expect(paymentStatusOf(await bank.payment(paymentIdOf(added[0])))).toBe('SETTLED');
    expect(await rowStatuses()).toEqual(['SETTLED', 'SUB_NOT_IS_VALID']);
  });

  it('ends with all its payments when it is refused, and nothing moves', async () => {
    await start({ submitWaitsFor, addAfterSubmit: 'accepted', secondSubmit: 'executed' });
    const { id } = await bank.pay([{ value: 100 }, { value: 7, iban: magic('initiationNotValid') }]);
    expect((await decide(id, 'refuse')).body).toEqual({ id, status: 'C_INSTRUCTION_SUB_NOT_PASSED' });
    await bank.advance(86_400_000);
    const shown = await instruction(id);
    expect(shown.status.value).toBe('C_INSTRUCTION_SUB_NOT_PASSED');
    expect(shown.paymentTransactionsStatus).toEqual([
      { groupStatus: 'NOTPROCESSABLE', nbTransactions: 2, totalAmount: { value: 107, currency: 'EUR' } },
    ]);
    expect(await rowStatuses()).toEqual(['P_INSTRUCTION_SUB_NOT_PASSED', 'INI_NOT_IS_VALID']);
    expect((await bank.submit(id)).status).toBe(409);
    expect((await bank.add(id)).status).toBe(409);
    expect((await decide(id, 'release')).status).toBe(409);
    const { payees, accounts } = await bank.ledger();
    expect(payees).toEqual([]);
    expect(accounts[0]).toMatchObject({ balanceMinor: '25000000', heldMinor: '0' });
  });
});

describe('an instruction that waits', () => {
  beforeEach(() =>
    start({ submitWaitsFor: 'approval', addAfterSubmit: 'accepted', secondSubmit: 'executed' }),
  );

  it('is not submitted twice, nor deleted', async () => {
    const { id } = await bank.pay([{ value: 100 }]);
    expect((await bank.submit(id)).status).toBe(409);
    expect((await bank.delete(PATHS.creditTransfer(String(id)))).status).toBe(409);
    await decide(id, 'release');
    await bank.advance(0);
    expect((await bank.ledger()).payees[0]).toMatchObject({ count: 1, movedMinor: '100' });
  });

  it('pays what was added to it meanwhile with the rest', async () => {
    const { id } = await bank.pay([{ value: 100 }]);
    expect((await bank.add(id, { value: 50 })).status).toBe(201);
    await bank.advance(60_000);
    expect(await rowStatuses()).toEqual(['INITIATED', 'INITIATED']);
    await decide(id, 'release');
    await bank.advance(0);
    expect((await bank.ledger()).payees[0]).toMatchObject({ count: 2, movedMinor: '150' });
  });

  it('keeps its account from being closed', async () => {
    const { body: account } = await bank.post(PATHS.userAccounts('501'), { productId: 11 });
    const { iban } = await bank.account(account.id);
    const debtor = { userId: 501, identityId: 9501, holderName: 'Alder', kyc: 'VERIFIED' } as const;
    const owner = { ...debtor, account: { accountId: account.id, iban, balanceMinor: '0' } };
    const { id } = await bank.pay([{ value: 100 }], {}, owner);
    expect((await bank.delete(PATHS.account(account.id))).body.code).toBe('TRANSACTIONS_PENDING');
    await decide(id, 'refuse');
    expect((await bank.delete(PATHS.account(account.id))).status).toBe(200);
  });

  it('is decided once, and only when it waits', async () => {
    const { id } = await bank.initiate();
    expect((await decide(id, 'release')).status).toBe(409);
    expect((await decide(id, 'refuse')).status).toBe(409);
    expect((await decide(999, 'release')).status).toBe(404);
    await bank.add(id);
    await bank.submit(id);
    expect((await decide(id, 'release')).status).toBe(200);
    expect((await decide(id, 'release')).status).toBe(409);
  });
});

describe('a bank whose refusal of a submit ends the instruction alone', () => {
  it('leaves its payments where they were', async () => {
    await start({ submitWaitsFor: 'approval', refusalEnds: 'itself' });
    const { id } = await bank.pay([{}]);
    expect((await decide(id, 'refuse')).body).toMatchObject({ status: 'C_INSTRUCTION_SUB_NOT_PASSED' });
    expect(await rowStatuses()).toEqual(['INITIATED']);
  });
});

describe('a bank whose submits run later', () => {
  it('answers SUB_STARTED without groups, and follows one step later', async () => {
    await start({ submitRuns: 'later', subIsValidRepeats: 2 }, { stepMs: 60_000 });
    const { submitted, id, added } = await bank.pay([{}]);
    expect(submitted.status.value).toBe('SUB_STARTED');
    expect(submitted).not.toHaveProperty('paymentTransactionsStatus');
    await bank.advance(60_000);
    const shown = await instruction(id);
    expect(statusesOf(shown.history).slice(2)).toEqual([
      'SUB_STARTED',
      'SUB_IS_VALID',
      'SUB_IS_VALID',
      'SUB_INT_CTRL_PASSED',
      'SUB_REQUIRED',
    ]);
    expect(shown.paymentTransactionsStatus).toHaveLength(1);
    expect(paymentStatusOf(await bank.payment(paymentIdOf(added[0])))).toBe('INITIATED');
    await bank.advance(10 * 60_000);
    expect(await rowStatuses()).toEqual(['SETTLED']);
  });

  it.each([
    [1, [0]],
    [5, [2]],
  ])(
    'puts half of %d payments into their groups until then, where they fill progressively',
    async (n, half) => {
      await start({ submitRuns: 'later', groupsFill: 'progressively' }, { stepMs: 60_000 });
      const { submitted, id } = await bank.pay(Array.from({ length: n }, () => ({})));
      const counts = ({ paymentTransactionsStatus: groups }: typeof submitted): number[] =>
        groups.map(({ nbTransactions }: { nbTransactions: unknown }) => Number(nbTransactions));
      expect(counts(submitted)).toEqual(half);
      await bank.advance(60_000);
      expect(counts(await instruction(id))).toEqual([n]);
    },
  );

  it('answers so with no time between its steps, too, and does not submit twice meanwhile', async () => {
    await start({ submitRuns: 'later', secondSubmit: 'executed' }, { stepMs: 60_000 });
    const { id } = await bank.pay([{}]);
    expect((await bank.submit(id)).status).toBe(409);
    await bank.close();
    await start({ submitRuns: 'later' });
    const { submitted } = await bank.pay([{}]);
    expect(submitted.status.value).toBe('SUB_STARTED');
    expect(await rowStatuses()).toEqual(['SETTLED']);
  });

  it('comes to wait later, where it waits', async () => {
    await start({ submitRuns: 'later', submitWaitsFor: 'approval' });
    const { id, submitted } = await bank.pay([{}]);
    expect(submitted.status.value).toBe('SUB_STARTED');
    expect((await instruction(id)).status.value).toBe('C_INST_WAITING_FOR_APPROVAL');
    expect((await decide(id, 'release')).status).toBe(200);
  });
});

describe('a bank whose instructions end with their payments', () => {
  const ended = async (id: number): Promise<string> => (await instruction(id)).status.value;
  beforeEach(() => start({ instructionEnds: 'with-its-payments', addAfterSubmit: 'accepted' }));

  it('ends one in SETTLED with the last of its payments, when any of them settled', async () => {
    await bank.close();
    await start({ instructionEnds: 'with-its-payments' }, { stepMs: 60_000 });
    const { id } = await bank.pay([{}, { iban: magic('rejected') }, { iban: magic('initiationNotValid') }]);
    await bank.advance(7 * 60_000);
    expect(await ended(id)).toBe('SUB_REQUIRED');
    await bank.advance(2 * 60_000);
    expect(await ended(id)).toBe('SETTLED');
    expect(statusesOf((await instruction(id)).history).slice(-2)).toEqual(['SUB_REQUIRED', 'SETTLED']);
  });

  it.each([
    [['rejected', 'fails', 'abandoned'], 'FAILED'],
    [['initiationControlFails'], 'FAILED'],
    [['notProcessable', 'returnedTwoDaysLater'], 'SETTLED'],
    [['rejected', 'neverSettles'], 'SUB_REQUIRED'],
    [['rejected', 'exchangeError'], 'SUB_REQUIRED'],
  ] as const)('with payments to %j ends one in %s', async (effects, status) => {
    const { id } = await bank.pay(effects.map((effect) => ({ iban: magic(effect) })));
    expect(await ended(id)).toBe(status);
  });

  it('adds nothing to one that ended', async () => {
    const { id } = await bank.pay([{}]);
    expect((await bank.add(id)).body.code).toBe('INSTRUCTION_ENDED');
    expect(await rowStatuses()).toEqual(['SETTLED']);
  });

  it('ends one by the refusal of its last payment at the other bank', async () => {
    await bank.close();
    await start({ instructionEnds: 'with-its-payments' }, { stepMs: 60_000 });
    const { id, added } = await bank.pay([{}]);
    await bank.advance(7 * 60_000);
    const { paymentInstructionId } = await bank.payment(paymentIdOf(added[0]));
    await bank.post(PATHS.refuse(String(paymentInstructionId)));
    expect(await ended(id)).toBe('FAILED');
  });
});

describe('a payment for a later day', () => {
  it('waits at PRO_WAIT_SETTLEMENT_DATE where the bank calls it so', async () => {
    await start({ waitsAs: 'PRO_WAIT_SETTLEMENT_DATE' }, { nowMs: Date.parse('2026-03-30T08:00:00Z') });
    const { added } = await bank.pay([{}], { requestedExecutionDate: '2026-04-01' });
    const payment = () => bank.payment(paymentIdOf(added[0]));
    expect(paymentStatusOf(await payment())).toBe('PRO_WAIT_SETTLEMENT_DATE');
    await bank.post('/sandbox/clock', { date: '2026-04-01' });
    expect(paymentStatusOf(await payment())).toBe('SETTLED');
    expect(statusesOf(historyOf(await payment()))).not.toContain('WAREHOUSED');
  });

  it('asked for on a closed day, waits for the next TARGET day and settles on it', async () => {
    await start({ executionDays: 'next' }, { nowMs: Date.parse('2026-04-03T08:00:00Z') });
    const { added } = await bank.pay([{}], { requestedExecutionDate: '2026-04-03' });
    const payment = () => bank.payment(paymentIdOf(added[0]));
    expect(paymentStatusOf(await payment())).toBe('WAREHOUSED');
    await bank.post('/sandbox/clock', { now: '2026-04-06T23:59:59Z' });
    expect(paymentStatusOf(await payment())).toBe('WAREHOUSED');
    await bank.post('/sandbox/clock', { date: '2026-04-07' });
    expect(paymentStatusOf(await payment())).toBe('SETTLED');
    expect((await payment()).paymentTransactionDateInformation).toMatchObject({
      instructedDate: '2026-04-03',
      settlementDate: '2026-04-07',
    });
  });

  it('asked for on an open day, is not moved by a bank that moves closed ones', async () => {
    await start({ executionDays: 'next' }, { nowMs: Date.parse('2026-04-02T08:00:00Z') });
    const { added } = await bank.pay([{}]);
    const payment = await bank.payment(paymentIdOf(added[0]));
    expect(payment.paymentTransactionDateInformation.settlementDate).toBe('2026-04-02');
  });
});

describe('a transfer within the bank that ends at SUBMITTED', () => {
  it('moves its money there, while a payment to another bank goes on, booked as one batch or not', async () => {
    for (const batchBooking of [false, true]) {
      await start({ bookEnds: 'SUBMITTED' });
      const { added } = await bank.pay([{ iban: BIRCH.account!.iban, value: 70 }, { value: 30 }], {
        batchBooking,
      });
      const [within, out] = await Promise.all(added.map((one) => bank.payment(paymentIdOf(one))));
      expect(statusesOf(historyOf(within)).slice(-3)).toEqual([
        'SUB_IS_VALID',
        'SUB_INT_CTRL_PASSED',
        'SUBMITTED',
      ]);
      expect(paymentStatusOf(out)).toBe('SETTLED');
      const [debtor, payee] = await Promise.all([bank.account('1001'), bank.account('1002')]);
      expect(debtor.balance.value).toBe(Number(ALDER.account!.balanceMinor) - 100);
      expect(payee.balance.value).toBe(Number(BIRCH.account!.balanceMinor) + 70);
      if (!batchBooking) await bank.close();
    }
  });

  it('fails there where the money lacks', async () => {
    await start({ bookEnds: 'SUBMITTED' });
    const { added } = await bank.pay([
      { iban: BIRCH.account!.iban, value: Number(ALDER.account!.balanceMinor) + 1 },
    ]);
    expect(paymentStatusOf(await bank.payment(paymentIdOf(added[0])))).toBe('PRO_DEBIT_HOLD_FAILED');
  });
});
