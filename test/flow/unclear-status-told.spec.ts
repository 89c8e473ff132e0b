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

/** What people are asked once the second row of a run, which ended as REJECTED, is shown in such a status. */
async function askedAfterEnd(id: string, status: string, told = '2'): Promise<string> {
  rows[1] = status;
  await eventually(async () => {
    await payroll.wakeAll();
    return (await asked()).join().includes(`had ended as REJECTED: ${status} (rows ${told}).`);
  }, 15_000);
  return payroll.askedAbout(id, 'UNKNOWN_STATUS');
}

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

  it('waits for that with the others while the bank went on with none', async () => {
    const id = await showing('FOO', 'INITIATED', 'FOO', 'INITIATED');
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    expect(await happened(path)).toMatch(/: FOO \(the instruction itself\)\.$/);
    const [first, second] = await payments(id);
    expect((await payroll.decide(path, word('NOT_PAID', [first!.id, second!.id]))).status).toBe(200);
    expect(await statuses(id)).toEqual(['VOID', 'VOID', 'SUBMITTED']);
  });

  it('does so no more once it went on with one, whatever it shows after that', async () => {
    const id = await showing('FOO', 'INITIATED', 'FOO', 'INITIATED');
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const [first, second] = await payments(id);
    expect((await payroll.propose(path, word('NOT_PAID', [first!.id, second!.id]))).status).toBe(201);
    await payroll.letRest('FOLLOW');
    rows[2] = 'SUBMITTED';
    const refused = await payroll.confirm(path);
    expect([refused.status, refused.data.code]).toEqual([409, 'WAS_EXECUTED']);
    rows[2] = 'INITIATED';
    expect((await payroll.confirm(path)).status).toBe(409);
    expect(await statuses(id)).toEqual(['SUBMITTED', 'SUBMITTED', 'SUBMITTED']);
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
    await askedAfterEnd(id, 'FOO');
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

describe('what one undocumented status after an end means', () => {
  const report = async (id: string) =>
    (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;

  it('is asked, and decided, beside what another was decided to mean, and not once more', async () => {
    const id = await showing('SUBMITTED', 'SETTLED', 'REJECTED');
    await eventually(async () => (await statuses(id)).join() === 'SETTLED,REJECTED', 15_000);
    const first = await askedAfterEnd(id, 'FOO');
    expect((await payroll.decide(first, word('NOT_PAID'))).status).toBe(200);
    expect(await report(id)).toMatchObject({ explained: true, decisions: [{ bankStatus: 'FOO' }] });

    const second = await askedAfterEnd(id, 'BAR');
    expect((await payroll.as('finance').get(second)).data.actions).toEqual(['NOT_PAID']);
    expect(await report(id)).toMatchObject({ explained: false });
    const early = await payroll.successorOf(id);
    expect([early.status, early.data.payments?.[0]?.code]).toEqual([409, 'PAYMENT_STATUS_UNCLEAR']);
    const decided = await payroll.decide(second, word('NOT_PAID'));
    expect([decided.status, decided.data.code]).toEqual([200, undefined]);
    expect(await report(id)).toMatchObject({
      explained: true,
      table: { notPaid: { payments: 1, amount: '1000.00' } },
      decisions: [
        { bankStatus: 'FOO', payments: 1, amount: '1000.00' },
        { bankStatus: 'BAR', payments: 1, amount: '1000.00' },
      ],
    });
    const { data: confirmed } = await payroll.as('finance').get(second);
    const listed = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation/rows`), {
      headers: { accept: 'text/csv' },
    });
    const [, paid, unpaid, ...more] = listed.data.trim().split('\r\n');
    expect([paid.includes('act_'), unpaid.endsWith(`,${confirmed.decisions[0].id},`), more]).toEqual([
      false,
      true,
      [],
    ]);

    // What it has shown before, and they decided of it, is no news.
    rows[1] = 'FOO';
    await eventually(async () => {
      await payroll.wakeAll();
      const shownNow = await select<{ status: string }>(
        payroll.database.superuserUrl,
        'SELECT shown_status AS status FROM bank_payment WHERE row_no = 2',
      );
      return shownNow[0]?.status === 'FOO';
    }, 15_000);
    expect(await asked()).toEqual([]);
    expect(await report(id)).toMatchObject({ explained: true });
    expect((await payroll.successorOf(id)).data).toMatchObject({ payments: 1 });
  });
});

describe('the word on several payments, of which one goes on before it is confirmed', () => {
  it('is refused as PAID where one shows what nobody was asked about, and can be given of the others', async () => {
    const id = await showing('SUBMITTED', 'FOO', 'FOO', 'SUBMITTED');
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    expect((await payroll.propose(path, word('PAID'))).status).toBe(201);
    rows = ['EXCHANGED', 'FOO', 'SUBMITTED'];
    await recorded();
    expect(await payroll.askedAbout(id, 'UNKNOWN_STATUS')).toBe(path);
    const refused = await payroll.confirm(path);
    expect([refused.status, refused.data.code]).toEqual([409, 'STATUS_NOT_ASKED']);
    expect(await statuses(id)).toEqual(['SUBMITTED', 'SUBMITTED', 'SUBMITTED']);
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await payroll.decide(path, word('PAID'))).status).toBe(200);
    expect(await statuses(id)).toEqual(['SUBMITTED', 'SETTLED', 'SUBMITTED']);
  });

  it.each([
    ['PAID', 'all', 'SETTLED', 200, undefined, 'SETTLED,SETTLED,SETTLED'],
    ['PAID', 'some', 'SETTLED', 200, undefined, 'SETTLED,SETTLED,SUBMITTED'],
    ['PAID', 'all', 'REJECTED', 409, 'ENDED_UNPAID', 'REJECTED,SUBMITTED,SUBMITTED'],
    ['PAID', 'some', 'REJECTED', 409, 'ENDED_UNPAID', 'REJECTED,SUBMITTED,SUBMITTED'],
    ['NOT_PAID', 'all', 'SETTLED', 409, 'WAS_EXECUTED', 'SETTLED,SUBMITTED,SUBMITTED'],
    ['NOT_PAID', 'some', 'SETTLED', 409, 'WAS_EXECUTED', 'SETTLED,SUBMITTED,SUBMITTED'],
    ['NOT_PAID', 'all', 'REJECTED', 200, undefined, 'REJECTED,VOID,VOID'],
    ['NOT_PAID', 'some', 'REJECTED', 200, undefined, 'REJECTED,VOID,SUBMITTED'],
    ['NOT_PAID', 'it alone', 'REJECTED', 409, 'NOTHING_TO_DECIDE', 'REJECTED,SUBMITTED,SUBMITTED'],
  ] as const)(
    'is taken of the others only where the bank does not end that one otherwise (%s of %s: %s)',
    async (action, named, end, status, code, then) => {
      const id = await showing('SUBMITTED', 'FOO', 'FOO', 'FOO');
      const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
      const count = { all: 3, some: 2, 'it alone': 1 }[named];
      const ids = (await payments(id)).slice(0, count).map((one) => one.id);
      const proposal = word(action, named === 'all' ? undefined : ids);
      expect((await payroll.propose(path, proposal)).status).toBe(201);
      rows[0] = end;
      await eventually(async () => {
        await payroll.wakeAll();
        return (await statuses(id))[0] === end;
      }, 15_000);
      expect(await payroll.askedAbout(id, 'UNKNOWN_STATUS')).toBe(path);
      const confirmed = await payroll.confirm(path);
      expect([confirmed.status, confirmed.data.code]).toEqual([status, code]);
      expect((await statuses(id)).join()).toBe(then);
      if (status === 200) return;
      await payroll.as('operator').delete(`${path}/actions`);
      expect((await payroll.decide(path, word(action))).status).toBe(200);
    },
  );

  it('is not taken of what had ended either where the bank shows that one of them was paid', async () => {
    const id = await showing('SUBMITTED', 'SETTLED', 'REJECTED', 'REJECTED');
    await eventually(async () => (await statuses(id)).join() === 'SETTLED,REJECTED,REJECTED', 15_000);
    rows[2] = 'FOO';
    const path = await askedAfterEnd(id, 'FOO', '2, 3');
    expect((await payroll.propose(path, word('NOT_PAID'))).status).toBe(201);
    rows[1] = 'SETTLED';
    await eventually(async () => {
      await payroll.wakeAll();
      return (await payroll.attention()).some(({ kind }) => kind === 'CONTRADICTION');
    }, 15_000);
    const refused = await payroll.confirm(path);
    expect([refused.status, refused.data.code]).toEqual([409, 'WAS_EXECUTED']);
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await payroll.decide(path, word('NOT_PAID'))).status).toBe(200);
  });
});
