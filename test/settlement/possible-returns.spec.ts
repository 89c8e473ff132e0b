import type { PaymentMarks } from '../../src/bank/payment-marks';
import { PersonalData } from '../../src/database/personal-data';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { messageIdOf } from '../../src/pay-run/message-id';
import type { FollowedPayment } from '../../src/settlement/follow-plan';
import { CameBack, tellOfPossibleReturns } from '../../src/settlement/possible-returns';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';

const INSTRUCTION = '018f0000-0000-7000-8000-000000000001';
const OTHER_INSTRUCTION = '018f0000-0000-7000-8000-000000000002';
const DEBTOR = 'DE70999900000000001001';
const OTHER_ACCOUNT = 'DE16999900000000001003';
const EMPLOYEE = 'DE43999900000000001002';
/** Reads what was sealed only. */
const personal = new PersonalData({ PAYRUN_HASH_KEY: 'k'.repeat(32) });

describe('what came in counts as money that may have come back', () => {
  const seen = (marks: Parameters<CameBack['add']>[0]) => {
    const cameBack = new CameBack(INSTRUCTION);
    cameBack.add(marks);
    cameBack.add(marks);
    return cameBack.to([DEBTOR, OTHER_ACCOUNT]).map(([record, { rowNo }]) => [record, rowNo]);
  };
  const messageId = messageIdOf(INSTRUCTION, 3);

  it.each([
    ['to the account that was debited', { bankPaymentId: '7', messageId, creditorIban: DEBTOR }, [['7', 3]]],
    [
      'written in groups of four',
      { bankPaymentId: '7', messageId, creditorIban: 'DE70 9999 0000 0000 0010 01' },
      [['7', 3]],
    ],
    ['naming it end to end', { bankPaymentId: '7', endToEndId: messageId, creditorIban: DEBTOR }, [['7', 3]]],
    [
      'naming it end to end, without an id',
      { endToEndId: messageId, creditorIban: DEBTOR },
      [[messageId, 3]],
    ],
    [
      'not end to end to an employee at the same bank',
      { bankPaymentId: '7', endToEndId: messageId, creditorIban: EMPLOYEE },
      [],
    ],
    ['without an id', { messageId, creditorIban: DEBTOR }, [[messageId, 3]]],
    [
      'named in its remittance alone',
      { bankPaymentId: '7', creditorIban: DEBTOR, remittanceWords: ['return', messageId] },
      [['7', 3]],
    ],
    [
      'named in its remittance, with a message id of its own',
      { bankPaymentId: '7', messageId: 'r-1', creditorIban: DEBTOR, remittanceWords: [messageId] },
      [['7', 3]],
    ],
    [
      'naming a payment of another instruction',
      { bankPaymentId: '7', messageId: messageIdOf(OTHER_INSTRUCTION, 3), creditorIban: DEBTOR },
      [['7', 0]],
    ],
    ['naming no row', { bankPaymentId: '7', creditorIban: DEBTOR }, [['7', undefined]]],
    ['not to an employee at the same bank', { bankPaymentId: '7', messageId, creditorIban: EMPLOYEE }, []],
    [
      'to another account of the employer',
      { bankPaymentId: '7', messageId, creditorIban: OTHER_ACCOUNT },
      [['7', 3]],
    ],
    [
      'in its instruction, without a word to whom',
      { bankPaymentId: '7', bankInstructionId: '4711', remittanceWords: [messageId] },
      [['7', 3]],
    ],
    [
      'naming no row, without a word to whom',
      { bankPaymentId: '7', bankInstructionId: '4711' },
      [['7', undefined]],
    ],
    [
      'named in its remittance, without a word to whom',
      { bankPaymentId: '7', remittanceWords: ['return', messageId] },
      [['7', 3]],
    ],
    ['from the employee', { bankPaymentId: '7', messageId, debtorIban: EMPLOYEE }, [['7', 3]]],
    [
      'not from the account that was debited, without a word to whom',
      { bankPaymentId: '7', messageId, bankInstructionId: '4711', debtorIban: DEBTOR },
      [],
    ],
    [
      'not in its instruction, to an employee at the same bank',
      { bankPaymentId: '7', messageId, bankInstructionId: '4711', creditorIban: EMPLOYEE },
      [],
    ],
    ['not by a message id alone, which both sides of a transfer have', { bankPaymentId: '7', messageId }, []],
  ])('%s', (_how, marks, rows) => {
    expect(seen(marks)).toEqual(rows);
  });
});

describe('money that came in for payments whose money is not kept', () => {
  const ours = idsOf(1);
  let office: NothingAsked;
  beforeEach(async () => {
    office = await nothingAsked();
  });
  afterEach(() => office.close());

  const payment = (rowNo: number, change: Partial<FollowedPayment>): FollowedPayment => ({
    instructionId: ours.instruction[0],
    rowNo,
    paymentId: ours.run,
    messageId: messageIdOf(ours.instruction[0], rowNo),
    bankIds: [String(rowNo)],
    iban: EMPLOYEE,
    amountMinor: BigInt(rowNo) * 10_000n,
    currency: 'EUR',
    status: 'SETTLED',
    bankStatus: 'SETTLED',
    shownStatus: null,
    decidedStatuses: [],
    behindForMs: null,
    shownOtherwise: null,
    rank: 14,
    returned: false,
    returnedMinor: null,
    moreBackForMs: null,
    settledOn: null,
    chargesMinor: null,
    chargesUnread: false,
    ...change,
  });
  const failed = (bankStatus: string) => payment(2, { status: 'FAILED', bankStatus });
  const returned = payment(2, { bankStatus: 'RETURNED', returned: true });
  const asked = async (payments: FollowedPayment[], ...cameIn: PaymentMarks[]) => {
    await office.database.inEmployer(ours.employer, async (tx) => {
      const instruction = await tx.manager.findOneByOrFail(Instruction, { id: ours.instruction[0] });
      const cameBack = new CameBack(instruction.id);
      cameIn.forEach((marks, n) =>
        cameBack.add({ bankPaymentId: `in ${n}`, creditorIban: DEBTOR, currency: 'EUR', ...marks }),
      );
      await tellOfPossibleReturns(tx, personal, instruction, payments, cameBack);
    });
    return select<{ happened: string; words: string | null; amount: string; records: object[] }>(
      office.server.superuserUrl,
      'SELECT happened, bank_words AS words, amount_minor AS amount, records FROM attention WHERE resolved_at IS NULL',
    );
  };
  const attach = (iban: string) =>
    execute(
      office.server.superuserUrl,
      `INSERT INTO employer_account SELECT (jsonb_populate_record(a, jsonb_build_object(
         'id', gen_random_uuid(), 'bank_account_id', 'account-3', 'iban_sealed', '0:${iban}'))).*
       FROM employer_account a WHERE employer_id = '${ours.employer}' LIMIT 1`,
    );
  const { messageId } = payment(2, {});

  it('is not asked about where it came back whole', async () => {
    expect(await asked([payment(1, {}), returned], { messageId, amountMinor: 20_000n })).toEqual([]);
    await office.close();
    office = await nothingAsked();
    expect(await asked([payment(1, {}), returned], { amountMinor: 20_000n })).toEqual([]);
    expect(await asked([payment(1, {}), failed('EXT_REFUSED')], { amountMinor: 20_000n })).toEqual([]);
    expect(await asked([payment(1, {}), failed('EXT_REFUSED')], {})).toEqual([]);
  });

  it('is what came back where the bank shows so much less as returned, and nothing else is', async () => {
    const inPart = { ...returned, returnedMinor: 19_500n };
    expect(await asked([payment(1, {}), inPart], { messageId, amountMinor: 19_500n })).toEqual([]);
    await office.close();
    office = await nothingAsked();
    expect(await asked([payment(1, {}), inPart], { amountMinor: 19_500n })).toEqual([]);
    const [told] = await asked([payment(1, {}), inPart], { messageId, amountMinor: 20_000n });
    expect(told!.happened).toContain('is not what was paid');
  });

  it('is not asked about where it is the other side of a payment to another account of the employer', async () => {
    await attach(OTHER_ACCOUNT);
    const within = payment(1, { iban: OTHER_ACCOUNT });
    const came = { messageId: within.messageId, amountMinor: 10_000n, creditorIban: OTHER_ACCOUNT };
    expect(await asked([within, payment(2, {})], came)).toEqual([]);
  });

  it.each<[string, PaymentMarks]>([
    ['another account of the employer', { creditorIban: OTHER_ACCOUNT }],
    ['an account that is not shown', { creditorIban: undefined, bankInstructionId: '4711' }],
  ])('is asked about where it comes in to %s', async (_where, marks) => {
    await attach(OTHER_ACCOUNT);
    const [told, ...others] = await asked([payment(2, {})], { messageId, amountMinor: 20_000n, ...marks });
    expect(others).toEqual([]);
    expect(told).toMatchObject({ amount: '20000', records: [{ id: 'in 0', row: 2 }] });
  });

  it('stays asked about while a read shows other records alone, and no longer once all of them are explained', async () => {
    const mine: PaymentMarks = { bankPaymentId: '7', messageId: messageIdOf(ours.instruction[0], 1) };
    const back: PaymentMarks = { bankPaymentId: '8', messageId, amountMinor: 20_000n };
    expect(await asked([payment(1, {}), returned], mine, back)).toHaveLength(1);
    expect(await asked([payment(1, {}), returned], back)).toHaveLength(1);
    const both = [payment(1, { bankStatus: 'RETURNED', returned: true }), returned];
    expect(await asked(both, back)).toHaveLength(1);
    expect(await asked(both, mine, back)).toEqual([]);
  });

  it('is asked about where it is another amount than was paid, with both for who may see them', async () => {
    const [told, ...others] = await asked([payment(1, {}), returned], { messageId, amountMinor: 19_950n });
    expect(others).toEqual([]);
    expect(told!.happened).toContain('Of another amount than the payment it names: "in 0".');
    expect(told!.happened).not.toMatch(/199|200/);
    expect(told!.words).toBe('Record "in 0" brought 199.50 EUR, row 2 paid 200.00 EUR.');
    expect(told!.amount).toBe('19950');
  });

  it.each<[string, FollowedPayment, PaymentMarks[]]>([
    ['of what never took money', failed('SUB_NOT_IS_VALID'), [{ amountMinor: 20_000n }]],
    ['of what never took money, without an amount', failed('PRO_DEBIT_HOLD_FAILED'), [{}]],
    ['of another amount', failed('EXT_REFUSED'), [{ amountMinor: 10_000n }]],
    [
      'more often than it was taken',
      failed('EXT_REFUSED'),
      [{ amountMinor: 20_000n }, { amountMinor: 20_000n }],
    ],
    [
      'of one that another record names',
      returned,
      [{ messageId, amountMinor: 20_000n }, { amountMinor: 20_000n }],
    ],
  ])('is asked about where it names none and can be none %s', async (_what, other, cameIn) => {
    expect(await asked([payment(1, {}), other], ...cameIn)).toHaveLength(1);
  });

  it.each<[string, FollowedPayment, PaymentMarks[]]>([
    [
      'came back already',
      returned,
      [
        { messageId, amountMinor: 20_000n },
        { messageId, amountMinor: 20_000n },
      ],
    ],
    ['never took money', failed('SUB_INT_CTRL_FAILED'), [{ messageId, amountMinor: 20_000n }]],
  ])('is asked about where it names one that %s', async (_what, other, cameIn) => {
    const [told, ...others] = await asked([payment(1, {}), other], ...cameIn);
    expect(others).toEqual([]);
    expect(told!.happened).toContain('names payments of it of which nothing is left to come back, 1 in all');
  });

  it('is asked about with the row of the payment that it names', async () => {
    const named = { messageId: payment(1, {}).messageId, amountMinor: 10_000n };
    const inWords = { remittanceWords: ['return', messageId], amountMinor: 19_950n };
    const [told] = await asked([payment(1, {}), returned], named, inWords);
    expect(told!.happened).toContain('2 in all: record "in 0" (row 1), "in 1" (row 2).');
  });

  it('is asked about as what names no payment, with its amount for who may see it', async () => {
    const [told, ...others] = await asked([payment(1, {}), returned], { amountMinor: 19_950n });
    expect(others).toEqual([]);
    expect(told!.happened).toBe(
      'Money came in that bears a mark of the submitted instruction and names none of its payments, nor is it what one of them brought back, 1 in all: record "in 0".',
    );
    expect([told!.words, told!.amount]).toEqual([
      'Record "in 0" brought 199.50 EUR, and names no payment of it by its message id or in its remittance.',
      '19950',
    ]);
  });

  it('is kept with the row that it names, or as what names none', async () => {
    const named = { messageId: payment(1, {}).messageId, amountMinor: 10_000n };
    const ofReturned = { messageId, amountMinor: 19_950n };
    const [told] = await asked([payment(1, {}), returned], named, { amountMinor: 19_950n }, ofReturned);
    const records = [...told!.records].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    expect(records).toEqual([
      { id: 'in 0', row: 1, minor: '10000' },
      { id: 'in 1', row: null, minor: '19950' },
      { id: 'in 2', row: 2, minor: '19950' },
    ]);
  });

  it.each([
    ['a row that the instruction does not have', messageIdOf(ours.instruction[0], 9)],
    ['a payment of another instruction', messageIdOf(OTHER_INSTRUCTION, 2)],
  ])('is asked about where it names %s, whatever came back', async (_what, other) => {
    const [told] = await asked([payment(1, {}), returned], { messageId: other, amountMinor: 20_000n });
    expect(told!.happened).toContain('names none of its payments');
    expect(told!.happened).toContain('record "in 0".');
    expect(told!.words).toContain('brought 200.00 EUR, and names no payment of it');
    expect(told!.records).toEqual([{ id: 'in 0', row: 0, minor: '20000' }]);
  });

  it('is told as it was where a later read does not show it', async () => {
    const dollars: PaymentMarks = { bankPaymentId: '7', messageId, amountMinor: 900n, currency: 'USD' };
    await asked([payment(1, {}), returned], dollars);
    const mine: PaymentMarks = { bankPaymentId: '8', messageId: payment(1, {}).messageId };
    const [told] = await asked([payment(1, {}), returned], mine);
    expect(told!.records).toContainEqual({ id: '7', row: 2, minor: '0' });
    expect(told!.happened).toContain('Of another amount than the payment it names: "7".');
    expect(told!.amount).toBe('10000');
    expect(told!.words).toBeNull();
  });

  it('is of no payment for good by what names it and does not say how much it brought', async () => {
    const silent: PaymentMarks = { bankPaymentId: '7', messageId };
    await asked([payment(1, {}), payment(2, {})], silent);
    const part: PaymentMarks = { ...silent, amountMinor: 6_000n };
    const whole: PaymentMarks = { bankPaymentId: '8', messageId, amountMinor: 20_000n };
    const [told] = await asked([payment(1, {}), returned], part, whole);
    expect(told!.records).toEqual([{ id: '7', row: 2, minor: '6000' }]);
  });

  it('is asked about with what names a settled payment', async () => {
    const named = { messageId: payment(1, {}).messageId, amountMinor: 10_000n };
    const [told] = await asked([payment(1, {}), returned], named, { amountMinor: 19_950n });
    expect(told!.happened).toContain(
      ' and names payments of it that are settled, or names none of its payments, nor is it what one of them brought back, 2 in all',
    );
    expect(told!.amount).toBe('29950');
  });
});
