import { NotAllowed } from '../../src/bank/errors';
import type { BankPayment } from '../../src/bank/records';
import { BankReads } from '../../src/employer/bank-reads';
import { readMessageId } from '../../src/pay-run/message-id';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, select } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { passThrough, showsInstructions } from '../support/payments-shown';

let payroll: Payroll;
/** What the bank shows of each row, and of their instruction. */
let rows: string[];
let ofInstruction: string;
/** A row that is not read again. */
let unread: number | undefined;
beforeEach(async () => {
  unread = undefined;
  // Nothing moves at the bank by itself.
  const variants = { submitRuns: 'at-once', linkReads: 'allowed', omitFromLists: [] } as const;
  payroll = await Payroll.start({ sandbox: { stepMs: 600_000, variants } });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const rowNoOf = ({ messageId }: BankPayment) => readMessageId(messageId ?? '')!.rowNo;
const shown = (seen: readonly BankPayment[]) =>
  seen.map((one) => ({ ...one, status: rows[rowNoOf(one) - 1]! }));
const word = (action: 'PAID' | 'NOT_PAID', paymentIds?: readonly string[]) => ({
  action,
  reason: 'the bank has answered',
  evidence: 'letter 4714',
  paymentIds,
});
const payments = async (id: string): Promise<{ id: string; status: string }[]> =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`))).data.items;
const statuses = async (id: string) => (await payments(id)).map(({ status }) => status);
const happened = async (path: string) => (await payroll.as('finance').get(path)).data.happened as string;
const asked = () => payroll.attention().then((all) => all.map((one) => one.happened));

/** Once what is shown of the payments is recorded, and such a status of their instruction. */
const recorded = (whole?: string) =>
  eventually(async () => {
    await payroll.wakeAll();
    const kept = await select<{ own: string; whole: string }>(
      payroll.database.superuserUrl,
      `SELECT b.bank_status AS own, i.bank_status AS whole FROM bank_payment b
       JOIN instruction i ON i.id = b.instruction_id ORDER BY b.row_no`,
    );
    return kept.every((one, n) => one.own === rows[n] && (whole === undefined || one.whole === whole));
  }, 10_000);

/** A run of so many payments of one amount: what the bank shows of their instruction, and then of each. */
async function showing(whole: string, ...each: string[]): Promise<string> {
  [rows, ofInstruction] = [each.map(() => 'INITIATED'), whole];
  const { app } = payroll.services[0]!;
  const [source, reads] = [app.get(PaymentSource), app.get(BankReads)];
  const { paymentsOf } = source;
  jest
    .spyOn(source, 'paymentsOf')
    .mockImplementation(async (...of) => shown(await paymentsOf.apply(source, of)));
  const same = payRows(each.length).map((row) => ({ ...row, amount: '1000.00' }));
  const id = await payroll.paid(payFile(same));
  await payroll.until(id, ['FOLLOWING'], 20_000);
  passThrough(reads, (found) => shown(found).filter((one) => rowNoOf(one) !== unread));
  showsInstructions(reads, () => ({ status: ofInstruction }));
  await recorded(whole);
  rows = each;
  await recorded();
  return id;
}

describe('a payment as before the submit in an instruction whose status nobody documents', () => {
  it.each([
    ['FOO', ['INITIATED', 'FOO', 'SUBMITTED']],
    ['EXCHANGE_ERROR', ['INITIATED', 'EXCHANGE_ERROR']],
  ])('is not ended by what %s means of others while the bank went on with any', async (status, each) => {
    const id = await showing(status, ...each);
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    expect((await payroll.decide(path, word('NOT_PAID'))).status).toBe(200);
    expect(await statuses(id)).toEqual(each.map((own) => (own === status ? 'VOID' : 'SUBMITTED')));
  });

  it('waits for that with the others while the bank went on with none, and not once it did', async () => {
    const id = await showing('FOO', 'INITIATED', 'FOO', 'INITIATED');
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    expect(await happened(path)).toMatch(/: FOO \(the instruction itself\)\.$/);
    const [first, second] = await payments(id);
    expect((await payroll.propose(path, word('NOT_PAID', [first!.id, second!.id]))).status).toBe(201);
    await payroll.letRest('FOLLOW');
    rows[2] = 'SUBMITTED';
    const refused = await payroll.confirm(path);
    expect([refused.status, refused.data.code]).toEqual([409, 'WAS_EXECUTED']);
    rows[2] = 'INITIATED';
    expect((await payroll.confirm(path)).status).toBe(200);
    expect(await statuses(id)).toEqual(['VOID', 'VOID', 'SUBMITTED']);
  });

  it.each(['all', 'it alone'])(
    'can be decided by the status it shows once it is overdue and the bank went on with another, by a read of %s',
    async (read) => {
      const id = await showing('FOO', 'INITIATED', 'SUBMITTED');
      payroll.clock.offsetMs += 7 * 86_400_000;
      await payroll.wakeAll();
      const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
      expect(await happened(path)).toMatch(/: INITIATED \(rows 1\), SUBMITTED \(rows 2\)\.$/);
      const [first] = await payments(id);
      unread = read === 'all' ? undefined : 2;
      const decided = await payroll.decide(path, word('NOT_PAID', [first!.id]));
      expect([decided.status, decided.data.code]).toEqual([200, undefined]);
      expect(await statuses(id)).toEqual(['VOID', 'SUBMITTED']);
    },
  );
});

describe('what a status means', () => {
  it('is decided of no payment that came to show it after people were told, and that is asked about next', async () => {
    const id = await showing('SUBMITTED', 'FOO', 'FOO', 'SUBMITTED');
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    rows = ['SUBMITTED', 'FOO', 'FOO'];
    await recorded();
    expect(await payroll.askedAbout(id, 'UNKNOWN_STATUS')).toBe(path);
    const third = (await payments(id))[2]!;
    const strange = await payroll.propose(path, word('NOT_PAID', [third.id]));
    expect([strange.status, strange.data.code]).toEqual([422, 'PAYMENT_NOT_WAITING']);
    expect((await payroll.decide(path, word('NOT_PAID'))).status).toBe(200);
    expect(await statuses(id)).toEqual(['SUBMITTED', 'VOID', 'SUBMITTED']);
    await eventually(async () => (await asked()).join().includes(': FOO (rows 3).'), 15_000);
    const next = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    expect((await payroll.decide(next, word('NOT_PAID'))).status).toBe(200);
    expect(await statuses(id)).toEqual(['SUBMITTED', 'VOID', 'VOID']);
  });

  it('is decided of no payment that went on to it from another that people were told of', async () => {
    const id = await showing('SUBMITTED', 'FOO', 'BAR');
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    rows = ['BAR', 'BAR'];
    await recorded();
    expect((await payroll.decide(path, word('NOT_PAID'))).status).toBe(200);
    expect(await statuses(id)).toEqual(['SUBMITTED', 'VOID']);
  });

  it('is not decided by what was asked before it was kept of which payments', async () => {
    const id = await showing('SUBMITTED', 'FOO');
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    expect((await payroll.propose(path, word('NOT_PAID'))).status).toBe(201);
    await payroll.letRest('FOLLOW');
    await execute(payroll.database.superuserUrl, 'UPDATE attention SET asked_rows = NULL');
    const earlier = await payroll.confirm(path);
    expect([earlier.status, earlier.data.code]).toEqual([409, 'NOTHING_TO_DECIDE']);
    await payroll.as('operator').delete(`${path}/actions`);
    const refused = await payroll.propose(path, word('NOT_PAID'));
    expect([refused.status, refused.data.code]).toEqual([409, 'NOTHING_TO_DECIDE']);
    await payroll.wakeAll();
    await eventually(async () => (await payroll.askedAbout(id, 'UNKNOWN_STATUS')) !== path, 15_000);
  });

  it('can be decided of what has ended though that was not kept, and nothing is read any more', async () => {
    const id = await showing('SUBMITTED', 'SETTLED', 'REJECTED');
    await eventually(async () => (await statuses(id)).join() === 'SETTLED,REJECTED', 15_000);
    rows[1] = 'FOO';
    await eventually(async () => {
      await payroll.wakeAll();
      return (await asked()).join().includes('had ended as REJECTED: FOO (rows 2).');
    }, 15_000);
    await payroll.letRest('FOLLOW');
    await execute(payroll.database.superuserUrl, 'UPDATE attention SET asked_rows = NULL');
    const { app } = payroll.services[0]!;
    const refused = () => Promise.reject(new NotAllowed(403, { raw: '' }));
    jest.spyOn(app.get(PaymentSource), 'paymentsOf').mockImplementation(refused);
    jest.spyOn(app.get(BankReads), 'read').mockImplementation(refused);
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const early = await payroll.propose(path, word('NOT_PAID'));
    expect([early.status, early.data.code]).toEqual([409, 'NOTHING_TO_DECIDE']);
    await eventually(async () => {
      await payroll.wakeAll();
      return (await payroll.askedAbout(id, 'UNKNOWN_STATUS')) !== path;
    }, 15_000);
    const decided = await payroll.decide(await payroll.askedAbout(id, 'UNKNOWN_STATUS'), word('NOT_PAID'));
    expect([decided.status, decided.data.code]).toEqual([200, undefined]);
  });
});
