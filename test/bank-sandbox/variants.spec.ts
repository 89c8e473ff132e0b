import { PATHS } from '../../src/bank/types';
import type { Variants } from '../../src/bank-sandbox/variants';
import { eventually } from '../support/eventually';
import { addition, BIRCH, PAYEE, paymentIdOf, paymentStatusOf, Tester, type Json } from './client';

let bank: Tester;
const start = async (variants: Partial<Variants>): Promise<Tester> =>
  (bank = await Tester.start({ variants }));
afterEach(() => bank.close());

it('refuses a second submit', async () => {
  await start({ secondSubmit: 'refused' });
  const { id } = await bank.pay([{ value: 100 }]);
  expect((await bank.submit(id)).status).toBe(409);
  await bank.advance(0);
  const { instructions, payees } = await bank.ledger();
  expect(instructions[0].submits).toBe(1);
  expect(payees).toEqual([expect.objectContaining({ count: 1, movedMinor: '100' })]);
});

it('executes a second submit where the bank does: the payee has the money twice, and the ledger says so', async () => {
  await start({ secondSubmit: 'executed' });
  const { id } = await bank.pay([{ value: 100 }, { value: 20, iban: BIRCH.account!.iban }]);
  expect((await bank.submit(id)).status).toBe(201);
  await bank.advance(60_000);
  const { instructions, payees, entriesSumMinor } = await bank.ledger();
  expect(instructions[0].submits).toBe(2);
  expect(instructions[0].rows.map(({ moved }: Json) => moved)).toEqual([2, 2]);
  expect(payees).toContainEqual(expect.objectContaining({ iban: PAYEE, count: 2, movedMinor: '200' }));
  expect(entriesSumMinor).toBe('0');
  expect((await bank.account('1001')).balance.value).toBe(25_000_000 - 240);
});

it('accepts and pays an add after the submit where the bank does', async () => {
  await start({ addAfterSubmit: 'accepted' });
  const { id } = await bank.pay([{ value: 100 }]);
  expect((await bank.add(id, { value: 50 })).status).toBe(201);
  await bank.advance(0);
  const { body } = await bank.get(PATHS.customerInstruction(String(id)));
  expect(body.paymentTransactionsStatus[0]).toMatchObject({ nbTransactions: 2, totalAmount: { value: 150 } });
  expect((await bank.ledger()).payees[0]).toMatchObject({ count: 2, movedMinor: '150' });
});

it('takes one add of an instruction at a time where the bank does, and adds of others beside it', async () => {
  await start({ addsOfOne: 'in-turn' });
  const [one, other] = [await bank.initiate(), await bank.initiate()];
  const [beside, ...added] = await Promise.all([
    bank.add(other.id),
    ...Array.from({ length: 30 }, () => bank.add(one.id)),
  ]);
  expect(beside.status).toBe(201);
  expect([...new Set(added.map(({ status }) => status))].sort()).toEqual([201, 409]);
  const taken = added.filter(({ status }) => status === 201).length;
  const { instructions } = await bank.ledger();
  expect(instructions.map(({ rows }: Json) => rows.length)).toEqual([taken, 1]);
  expect((await bank.add(one.id)).status).toBe(201);
});

it('takes adds of an instruction only some time after it was initiated, where the bank does', async () => {
  await start({ addableAfterMs: 10_000 });
  const { id } = await bank.initiate();
  expect((await bank.add(id)).status).toBe(404);
  await bank.advance(10_000);
  expect((await bank.add(id)).status).toBe(201);
});

it.each([
  ['minor', 'number', 12345, 12345],
  ['minor', 'string', '12345', '12345'],
  ['major', 'number', 123.45, 123.45],
  ['major', 'string', '123.45', '123.45'],
] as const)('speaks %s units as a %s', async (amountUnit, amountType, sent, answered) => {
  await start({ amountUnit, amountType });
  const { id } = await bank.initiate({ requestedTotalAmount: [{ value: sent, currency: 'EUR' }] });
  const { body } = await bank.add(id, { value: sent });
  expect(body.paymentTransactionAmountInformation.instructedAmount.value).toBe(answered);
  expect((await bank.submit(id)).body.calculatedAmount.value).toBe(answered);
  expect((await bank.ledger()).instructions[0].rows[0].amountMinor).toBe('12345');
});

it.each([
  ['every', 9, 200],
  ['of-a-week', 6, 200],
  ['of-a-week', 8, 400],
  ['none', 0, 400],
] as const)('takes a fromDate of %s that is %i days old with %i', async (fromDates, days, status) => {
  await start({ fromDates });
  const { now } = (await bank.get('/sandbox/clock')).body;
  const fromDate = new Date(Date.parse(now) - days * 86_400_000).toISOString();
  const list = PATHS.paymentTransactions();
  expect((await bank.get(`${list}?fromDate=${encodeURIComponent(fromDate)}`)).status).toBe(status);
  expect((await bank.get(list)).status).toBe(200);
});

it('shows nothing that has not settled where fromDate is of the settlement', async () => {
  await start({ fromDates: 'of-settlement' });
  const { id } = await bank.initiate();
  await bank.add(id);
  const list = PATHS.paymentTransactions();
  expect((await bank.get(list)).body.items).toHaveLength(1);
  expect((await bank.get(`${list}?fromDate=2020-01-01T00:00:00.000Z`)).body.items).toEqual([]);
});

it('shows in the general list nothing that has settled, where it does so', async () => {
  await start({ generalList: 'unsettled' });
  const { id, added } = await bank.pay([{}]);
  const statusOf = async () => {
    const { body } = await bank.get(PATHS.paymentTransaction(String(paymentIdOf(added[0]))));
    return body.paymentTransactionInternalInformation.status.value as string;
  };
  await eventually(async () => (await statusOf()) === 'SETTLED', 5_000);
  expect((await bank.get(PATHS.paymentTransactions())).body).toMatchObject({ items: [], count: 0 });
  expect((await bank.get(PATHS.instructionPaymentTransactions(String(id)))).body.items).toHaveLength(1);
});

it('shows in the general list nothing that was not submitted, where it does so', async () => {
  await start({ generalList: 'submitted' });
  const { id } = await bank.initiate();
  await bank.add(id);
  expect((await bank.get(PATHS.paymentTransactions())).body).toMatchObject({ items: [], count: 0 });
  expect((await bank.get(PATHS.instructionPaymentTransactions(String(id)))).body.items).toHaveLength(1);
  await bank.submit(id);
  expect((await bank.get(PATHS.paymentTransactions())).body.items).toHaveLength(1);
});

it('enforces control totals only where the bank does', async () => {
  await start({ enforceControlTotals: true });
  const wrong = {
    requestedNbPaymentTransactions: 2,
    requestedTotalAmount: [{ value: 100, currency: 'EUR' }],
  };
  const { id } = await bank.initiate(wrong);
  await bank.add(id, { value: 100 });
  expect((await bank.submit(id)).body.code).toBe('CONTROL_TOTALS_DIFFER');
  await bank.close();
  await start({});
  const lax = await bank.initiate(wrong);
  await bank.add(lax.id, { value: 70 });
  expect((await bank.submit(lax.id)).status).toBe(201);
});

it('hides new payments and new statuses from reads for as long as the lag lasts', async () => {
  await start({ listingLagMs: 10_000 });
  const { id, added } = await bank.pay([{}]);
  const instruction = () => bank.get(PATHS.customerInstruction(String(id)));
  const single = () => bank.get(PATHS.paymentTransaction(String(paymentIdOf(added[0]))));
  const ofInstruction = () => bank.get(PATHS.instructionPaymentTransactions(String(id)));
  expect((await bank.get(PATHS.paymentTransactions())).body).toMatchObject({ items: [], count: 0 });
  for (const read of [instruction, single, ofInstruction]) expect((await read()).status).toBe(404);
  await bank.advance(10_000);
  expect(paymentStatusOf((await single()).body)).toBe('SETTLED');
  expect((await ofInstruction()).body.count).toBe(1);
  expect((await bank.get(PATHS.paymentTransactions())).body.count).toBe(1);
  expect((await instruction()).body.status.value).toBe('SUB_REQUIRED');
  expect((await bank.get(`${PATHS.paymentTransactions()}?status=SETTLED`)).body.count).toBe(1);
});

it('shows an instruction as it was before its youngest payments, where it lags', async () => {
  bank = await Tester.start({ variants: { listingLagMs: 10_000 }, stepMs: 3_000 });
  const { id, added } = await bank.pay([{}]);
  await bank.advance(10_000);
  const { body } = await bank.get(PATHS.paymentTransaction(String(paymentIdOf(added[0]))));
  expect(paymentStatusOf(body)).toBe('INITIATED');
  await bank.advance(24_000);
  const later = (await bank.get(PATHS.paymentTransactions())).body.items[0];
  expect(later.paymentTransactionDateInformation).not.toHaveProperty('settlementDate');
  expect((await bank.ledger()).instructions[0]).toMatchObject({ id, status: 'SUB_REQUIRED' });
  await bank.add((await bank.initiate()).id);
  expect((await bank.get(PATHS.paymentTransactions())).body.count).toBe(1);
});

it.each([
  ['refused', 403, 403],
  ['unauthorised', 401, 401],
  ['missing', 404, 404],
  ['list-alone', 404, 200],
] as const)('lists payments also where linked reads are %s', async (linkReads, status, ofList) => {
  await start({ linkReads });
  const { id, added } = await bank.pay([{}]);
  const paths = [
    PATHS.customerInstruction(String(id)),
    PATHS.paymentTransaction(String(paymentIdOf(added[0]))),
  ];
  for (const path of paths) expect((await bank.get(path)).status).toBe(status);
  expect((await bank.get(PATHS.instructionPaymentTransactions(String(id)))).status).toBe(ofList);
  expect((await bank.get(PATHS.paymentTransactions())).body.count).toBe(1);
});

it.each([
  ['gone', 200],
  ['gone-with-its-list', 404],
] as const)(
  'shows no instruction that was submitted, but its payments, where they are %s',
  async (are, list) => {
    await start({ onceSubmitted: are });
    const { id, added } = await bank.pay([{}]);
    const path = PATHS.customerInstruction(String(id));
    expect((await bank.get(path)).status).toBe(404);
    expect((await bank.delete(PATHS.creditTransfer(String(id)))).status).toBe(204);
    expect((await bank.get(PATHS.instructionPaymentTransactions(String(id)))).status).toBe(list);
    await bank.advance(60_000);
    expect(paymentStatusOf((await bank.get(PATHS.paymentTransactions())).body.items[0])).toBe('SETTLED');
    expect(paymentStatusOf(await bank.payment(paymentIdOf(added[0])))).toBe('SETTLED');
    expect((await bank.ledger()).payees[0]).toMatchObject({ iban: PAYEE, count: 1 });
    const open = await bank.initiate();
    expect((await bank.get(PATHS.customerInstruction(String(open.id)))).status).toBe(200);
    expect((await bank.delete(PATHS.creditTransfer(String(open.id)))).status).toBe(204);
  },
);

it('leaves parties and message ids out of lists, not out of single records', async () => {
  await start({ omitFromLists: ['parties', 'messageId'] });
  const { added } = await bank.pay([{}]);
  const [listed] = (await bank.get(PATHS.paymentTransactions())).body.items;
  expect(listed).not.toHaveProperty('paymentTransactionParties');
  const identification = (payment: Json) =>
    payment.paymentTransactionInformation.paymentTransactionIdentification;
  expect(identification(listed).messageId).toBe('NOTPROVIDED');
  const single = await bank.payment(paymentIdOf(added[0]));
  expect(identification(single).messageId).toBe('m-1');
  expect(single.paymentTransactionParties.creditor.accountId.value).toBe(PAYEE);
});

it('writes IBANs in groups of four and names in capitals', async () => {
  await start({ respaceIbans: true, upperCaseNames: true });
  const { id } = await bank.initiate();
  const { creditor } = (await bank.add(id)).body.paymentTransactionParties;
  expect(creditor).toMatchObject({
    name: 'ÉLODIE MARTIN',
    accountId: { value: 'FR14 2004 1010 0505 0001 3M02 606' },
  });
  expect((await bank.account('1001')).iban).toBe('DE70 9999 0000 0000 0010 01');
});

it('answers a submit with the status code it is given, and errors in the shape it is given', async () => {
  await start({ submitStatus: 202, errorShape: 'nested' });
  const { id } = await bank.initiate();
  const { body } = await bank.submit(id);
  expect(body).toEqual({ error: { code: 'INSTRUCTION_EMPTY', message: expect.any(String) } });
  await bank.add(id);
  expect((await bank.submit(id)).status).toBe(202);
});

it('takes execution dates on TARGET days only, where the bank does', async () => {
  bank = await Tester.start({
    variants: { executionDays: 'target' },
    nowMs: Date.parse('2026-03-30T08:00:00Z'),
  });
  const closed = [
    '2026-04-03',
    '2026-04-04',
    '2026-04-05',
    '2026-04-06',
    '2026-05-01',
    '2026-12-25',
    '2027-03-26',
  ];
  const open = ['2026-03-30', '2026-04-02', '2026-04-07', '2026-12-24', '2027-03-30'];
  const statusOf = async (requestedExecutionDate: string) =>
    (await bank.post(PATHS.initiate(), await bank.initiation({ requestedExecutionDate }))).status;
  for (const date of closed) expect([date, await statusOf(date)]).toEqual([date, 422]);
  for (const date of open) expect([date, await statusOf(date)]).toEqual([date, 201]);
});

it('answers 429 above its requests a minute, tells what is left, and executes nothing', async () => {
  bank = await Tester.start({
    variants: { requestsPerMinute: 3 },
    nowMs: Math.floor(Date.now() / 60_000) * 60_000 + 1_000,
  });
  const { id } = await bank.initiate();
  const second = await bank.add(id);
  expect(second.headers.get('x-ratelimit-remaining')).toBe('1');
  await bank.add(id);
  const fourth = await bank.add(id);
  expect(fourth.status).toBe(429);
  expect(fourth.headers.get('x-ratelimit-limit')).toBe('3');
  expect((await bank.ledger()).instructions[0].rows).toHaveLength(2);
  await bank.advance(60_000);
  expect((await bank.add(id)).status).toBe(201);
});

it('reads IBANs with spaces and small letters, and amounts as strings', async () => {
  await start({});
  const { id } = await bank.initiate();
  const payment = addition({ iban: 'fr14 2004 1010 0505 0001 3m02 606', value: '99' });
  expect((await bank.post(PATHS.addPaymentTransaction(String(id)), payment)).status).toBe(201);
  expect((await bank.ledger()).instructions[0].rows[0]).toMatchObject({
    creditorIban: PAYEE,
    amountMinor: '99',
  });
});
