import axios from 'axios';
import { BankError, NotFound } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import { BankReads } from '../../src/employer/bank-reads';
import { SecondLook } from '../../src/pay-run/second-look';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, select } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { passThrough, showsInstructions } from '../support/payments-shown';

const DAY_MS = 86_400_000;
const NOT_EXECUTED = {
  action: 'NOT_EXECUTED',
  reason: 'the bank wrote so',
  evidence: 'letter 4711 of the bank',
};

let payroll: Payroll;
afterEach(() => {
  jest.restoreAllMocks();
  return payroll.close();
});

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const wakeFollowers = () =>
  execute(payroll.database.superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW'`);
const statuses = async () =>
  (
    await select<{ status: string }>(
      payroll.database.superuserUrl,
      'SELECT status FROM payment ORDER BY row_no',
    )
  ).map(({ status }) => status);

/** From now on the bank says of every instruction, to whoever reads it, that there is none. */
function hidesAll(): void {
  const { app } = payroll.services[0]!;
  const none = () => Promise.reject(new NotFound(404, { raw: '' }));
  jest.spyOn(app.get(BankReads), 'read').mockImplementation(none);
  jest.spyOn(app.get(BankReads), 'instruction').mockImplementation(none);
  jest.spyOn(app.get(PaymentSource), 'paymentsOf').mockImplementation(none);
}

it('what the desk was shown as executed is not declared NOT_EXECUTED once the bank shows it no more', async () => {
  payroll = await Payroll.start({
    // Long parked: it is read again each quarter of an hour.
    settings: { FOLLOW_DELAYS_MS: '900000' },
    sandbox: { variants: { linkReads: 'allowed', omitFromLists: [] } },
  });
  const rows = payRows(2);
  const { id, path } = await payroll.parked(rows);
  await payroll.letRest('INSTRUCTION', 'FOLLOW');
  const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
  await payroll.submitAtBank(bankInstructionId);
  await eventually(async () => (await payroll.timesPaid(rows)).every((times) => times === 1), 10_000);
  const first = await payroll.decide(path, NOT_EXECUTED);
  expect([first.status, first.data.code]).toEqual([409, 'WAS_EXECUTED']);
  hidesAll();
  const second = await payroll.confirm(path);
  expect([second.status, second.data.code]).toEqual([409, 'ATTENTION_IS_RESOLVED']);
  expect((await payroll.run(id)).instructions[0].status).toBe('SUBMITTED');
  jest.restoreAllMocks();
  await wakeFollowers();
  await payroll.until(id, ['SETTLED'], 20_000);
  expect(await kinds()).toEqual([]);
});

describe('a failed payment that its own list shows as settled once, at the gate of a run that pays it again', () => {
  it.each<[string, Record<string, unknown>]>([
    ['the general list', { operation: 'listPaymentTransactions', kind: '500-before', times: 1 }],
    ['the account', { operation: 'getAccount', kind: '500-before', times: 1 }],
  ])('is told though %s cannot be read then', async (_what, failure) => {
    const variants = { linkReads: 'allowed', omitFromLists: [] } as const;
    payroll = await Payroll.start({ sandbox: { stepMs: 400, variants } });
    const rows = payRows(3);
    const id = await payroll.paid(payFile(rows));
    const account = (what: 'block' | 'unblock') =>
      axios.post(`${payroll.bank.url}/sandbox/accounts/1002/${what}`);
    await eventually(async () => ((await payroll.calls()).submit ?? 0) === 1, 20_000);
    await account('block');
    await payroll.until(id, ['FAILED'], 20_000);
    await account('unblock');
    await payroll.letRest('FOLLOW');
    const { data: made } = await payroll.successorOf(id);
    const look = payroll.services[0]!.app.get(SecondLook);
    const { at } = look;
    jest.spyOn(look, 'at').mockImplementationOnce(async (...asked) => {
      const shown = { operation: 'listInstructionPaymentTransactions', kind: 'list-wrong', what: 'changed' };
      await payroll.fault({ ...shown, field: 'status', times: 1 });
      await payroll.fault(failure);
      return at.apply(look, asked);
    });
    await payroll.approve(made);
    await payroll.askedAbout(made.id, 'REPLACED_PAYMENT_MOVED', 20_000);
    expect((await payroll.faults()).map(({ hits }) => hits)).toEqual([1, 1]);
    await eventually(async () => (await kinds()).includes('CONTRADICTION'), 10_000);
    expect(await payroll.timesPaid(rows)).toEqual([0, 0, 0]);
  });
});

describe('a submitted instruction that the bank ended, and left its payments where they were', () => {
  async function ended(count: number): Promise<{ id: string; path: string }> {
    payroll = await Payroll.start({
      settings: { FOLLOW_DELAYS_MS: '200,900000', FOLLOW_STEP_MS: '4000' },
      sandbox: {
        variants: {
          submitWaitsFor: 'strong-authentication',
          refusalEnds: 'itself',
          linkReads: 'allowed',
          omitFromLists: [],
        },
      },
    });
    const id = await payroll.paid(payFile(payRows(count)));
    await payroll.askedAbout(id, 'BANK_ACTION_REQUIRED');
    for (const one of (await payroll.ledger()).instructions)
      await axios
        .post(`${payroll.bank.url}/sandbox/instructions/${one.id}/refuse`)
        .catch((error: unknown) => axios.isAxiosError(error) || Promise.reject(error as Error));
    const path = await payroll.askedAbout(id, 'ENDED_BY_BANK');
    await payroll.letRest('FOLLOW');
    return { id, path };
  }

  /** The same, long after its date: what became of its payments is asked, too. */
  async function overdue(count: number): Promise<{ id: string; path: string; meaning: string }> {
    const asked = await ended(count);
    payroll.clock.set(new Date(Date.parse(`${payroll.executionDate()}T12:00:00Z`) + 6 * DAY_MS));
    await wakeFollowers();
    const meaning = await payroll.askedAbout(asked.id, 'UNKNOWN_STATUS');
    await payroll.letRest('FOLLOW');
    return { ...asked, meaning };
  }

  /** Has the bank show its payments as settled, to whoever decides alone. */
  const showsSettled = () =>
    passThrough(payroll.services[0]!.app.get(BankReads), (found) =>
      found.map((one) => ({ ...one, status: 'SETTLED' })),
    );

  it('is kept as it was shown to who declares it NOT_EXECUTED', async () => {
    const { path } = await ended(2);
    showsSettled();
    const first = await payroll.decide(path, NOT_EXECUTED);
    expect([first.status, first.data.code]).toEqual([409, 'WAS_EXECUTED']);
    jest.restoreAllMocks();
    hidesAll();
    const second = await payroll.confirm(path);
    expect([second.status, second.data.code]).toEqual([409, 'ATTENTION_IS_RESOLVED']);
    expect(await statuses()).toEqual(['SETTLED', 'SETTLED']);
  });

  /** Has the bank show its payments as returned, with so much less than was paid, to whoever decides alone. */
  const showsReturned = (lessMinor: bigint) =>
    passThrough(payroll.services[0]!.app.get(BankReads), (found) =>
      found.map((one) => ({ ...one, status: 'RETURNED', amountMinor: (one.amountMinor ?? 0n) - lessMinor })),
    );
  const PAID = { ...NOT_EXECUTED, action: 'PAID' };

  it('is kept as returned with less than was paid, as it was shown to who declares its payments PAID', async () => {
    const { id, meaning } = await overdue(2);
    showsReturned(500n);
    const first = await payroll.decide(meaning, PAID);
    expect([first.status, first.data.code]).toEqual([409, 'SHOWN_OTHERWISE']);
    jest.restoreAllMocks();
    hidesAll();
    const second = await payroll.confirm(meaning);
    expect([second.status, second.data.code]).toEqual([409, 'ATTENTION_IS_RESOLVED']);
    expect((await payroll.run(id)).returned.payments).toBe(2);
    expect((await kinds()).filter((kind) => kind === 'ECHO_MISMATCH')).toHaveLength(2);
  });

  it('ends as PAID where it came back with more than was paid, once people have answered that', async () => {
    const { id, meaning } = await overdue(1);
    showsReturned(-500n);
    const first = await payroll.decide(meaning, PAID);
    expect([first.status, first.data.code]).toEqual([409, 'SHOWN_OTHERWISE']);
    const difference = await payroll.askedAbout(id, 'ECHO_MISMATCH');
    expect((await payroll.decide(difference, { action: 'RESUME', reason: 'with interest' })).status).toBe(
      200,
    );
    expect((await payroll.confirm(meaning)).status).toBe(200);
    expect(await statuses()).toEqual(['SETTLED']);
  });

  it.each(['SETTLED', 'EXCHANGED'])(
    'is not declared NOT_EXECUTED on a word from before it was itself shown as %s, but asked about anew',
    async (status) => {
      const { id, path } = await ended(2);
      showsInstructions(payroll.services[0]!.app.get(BankReads), () => ({ status }));
      const first = await payroll.decide(path, NOT_EXECUTED);
      expect([first.status, first.data.code]).toEqual([409, 'NOT_PROVEN_DEAD']);
      jest.restoreAllMocks();
      hidesAll();
      const second = await payroll.confirm(path);
      expect([second.status, second.data.code]).toEqual([409, 'ATTENTION_IS_RESOLVED']);
      expect(await statuses()).toEqual(['SUBMITTED', 'SUBMITTED']);
      jest.restoreAllMocks();
      payroll.clock.set(new Date(Date.parse(`${payroll.executionDate()}T12:00:00Z`) + 6 * DAY_MS));
      await eventually(async () => {
        await wakeFollowers();
        return (await kinds()).includes('ENDED_BY_BANK');
      }, 20_000);
      const anew = await payroll.askedAbout(id, 'ENDED_BY_BANK');
      expect((await payroll.as('finance').get(anew)).data.happened).toContain('It went on with it');
      expect((await payroll.decide(anew, NOT_EXECUTED)).status).toBe(200);
      expect(await statuses()).toEqual(['VOID', 'VOID']);
    },
  );

  it.each<[string, (path: string) => Promise<unknown>]>([
    [
      'to who declares it NOT_EXECUTED',
      async (path) => {
        const { status, data } = await payroll.decide(path, NOT_EXECUTED);
        expect([status, data.code]).toEqual([503, 'BANK_UNREADABLE']);
      },
    ],
    ['to who follows it', wakeFollowers],
  ])('is kept as it was shown %s before the list failed', async (_who, read) => {
    const { path } = await ended(2);
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { listInstructionPayments } = gateway;
    jest.spyOn(gateway, 'listInstructionPayments').mockImplementationOnce(async function* (...asked) {
      for await (const one of listInstructionPayments.apply(gateway, asked))
        yield { ...one, status: 'SETTLED' };
      throw new BankError(503, { raw: '' });
    });
    await read(path);
    await eventually(async () => (await statuses()).every((status) => status === 'SETTLED'), 10_000);
  });

  it('is kept as it was shown to who declares its payments NOT_PAID', async () => {
    const { meaning } = await overdue(2);
    showsSettled();
    const first = await payroll.decide(meaning, { ...NOT_EXECUTED, action: 'NOT_PAID' });
    expect([first.status, first.data.code]).toEqual([409, 'STATUS_IS_CLEAR']);
    jest.restoreAllMocks();
    hidesAll();
    const second = await payroll.confirm(meaning);
    expect([second.status, second.data.code]).toEqual([409, 'ATTENTION_IS_RESOLVED']);
    expect(await statuses()).toEqual(['SETTLED', 'SETTLED']);
  });

  it('is not declared NOT_EXECUTED, but asked about anew, once two people said that some of it was PAID', async () => {
    const { id, path, meaning } = await overdue(4);
    const { data } = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`));
    const [first, second] = data.items.map((one: { id: string }) => one.id);
    const proposed = await payroll.propose(path, NOT_EXECUTED);
    expect(proposed.status).toBeLessThan(300);
    const said = { ...NOT_EXECUTED, action: 'PAID', paymentIds: [first, second] };
    expect((await payroll.decide(meaning, said)).status).toBe(200);
    const confirmed = await payroll.confirm(path);
    expect(confirmed.status).toBe(409);
    expect((await statuses()).toSorted()).toEqual(['SETTLED', 'SETTLED', 'SUBMITTED', 'SUBMITTED']);
    await wakeFollowers();
    await eventually(async () => {
      const anew = (await payroll.attention()).find(({ kind }) => kind === 'ENDED_BY_BANK');
      return anew?.happened.endsWith(' 2 of its payments were paid.') === true;
    }, 15_000);
    const { data: asked } = await payroll.as('finance').get(await payroll.askedAbout(id, 'ENDED_BY_BANK'));
    expect(asked).toMatchObject({ payments: 2, actions: ['ACKNOWLEDGE'] });
    const left = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    expect((await payroll.decide(left, { ...NOT_EXECUTED, action: 'NOT_PAID' })).status).toBe(200);
    await payroll.until(id, ['PARTLY_SETTLED'], 15_000);
    expect(await kinds()).toEqual([]);
  });
});
