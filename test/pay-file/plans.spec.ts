import { createHash } from 'node:crypto';
import { readId } from '../../src/http/prefixed-id';
import { listDifferences } from '../../src/pay-run/comparison.reads';
import { listHolds } from '../../src/pay-run/hold.store';
import { findRun } from '../../src/pay-run/pay-run.store';
import { listPayments } from '../../src/pay-run/pay-run.reads';
import { germanIban } from '../support/pay-rows';
import { Excess } from '../support/plans';
import { csv, Desk, PayDesk, row } from './pay-desk';

const ROWS = 1_000;
/** A statement may look at each row some times, but each with each would be a hundred times as many. */
const LIMIT = 10 * ROWS;

let desk: PayDesk;
let found: Excess[];

beforeEach(async () => {
  ({ desk, found } = await PayDesk.watched(LIMIT));
  // Statistics come when the test says so.
  for (const table of ['payment', 'pay_hold', 'pay_run', 'faulty_row', 'run_difference'])
    await desk.asSuperuser(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
});
afterEach(() => desk.close());

const file = (line: (n: number) => string): Buffer => csv(...Array.from({ length: ROWS }, (_, n) => line(n)));
const pay = (n: number, employee = `E${n}`): string => row(employee, `${n + 1}.00`);
const GOOD = file((n) => pay(n));
const letters = (n: number): string => createHash('sha256').update(`${n}`).digest('hex');
/** One account for all, under as many names, with one amount. */
const ALIKE = file((n) => `E${n},${letters(n)},DE42950800200355765512,,1.00,EUR,`);
const SHARED = germanIban(77);
const NOT_AN_IBAN = 'DE00000000000000000000';
const HALF_FAULTY = file((n) => (n % 2 === 0 ? pay(n) : `E${n},Ann Smith,${NOT_AN_IBAN},,1.00,EUR,`));

/** A month that was paid, so that the next is compared with it. */
async function paid(employer: Desk, bytes: Buffer): Promise<void> {
  const { id } = (await desk.upload(employer, bytes, { period: '2026-10' })).answer;
  await desk.asSuperuser(
    `SET session_replication_role = replica;
     UPDATE pay_run SET status = 'SETTLED' WHERE id = '${readId('run', id)}';
     UPDATE payment SET status = 'SETTLED' WHERE pay_run_id = '${readId('run', id)}'`,
  );
}

/** What a run shows of its payments, its holds and its differences, a page of each. */
async function look({ employerId }: Desk, shownId: string): Promise<void> {
  const id = readId('run', shownId);
  await desk.database.inEmployer(employerId, async (tx) => {
    await listPayments(tx, id, { after: 0 }, 101);
    await listPayments(tx, id, { after: 0, further: true }, 101);
    await listHolds(tx, await findRun(tx, id), { after: { row: 0, code: '', version: 0 } }, 101);
  });
  for (const kind of ['JOINED', 'LEFT', 'IBAN_CHANGED', 'NET_CHANGED', 'NAME_CHANGED'] as const)
    await desk.inRun({ employerId } as Desk, id, (tx, run) =>
      listDifferences(tx, run, { kind, after: 0 }, 101),
    );
}

const STORIES: Record<string, (employer: Desk) => Promise<string>> = {
  'rows that are all held': async (employer) => (await desk.upload(employer, ALIKE)).answer.id,
  'employees who stand in it twice': async (employer) =>
    (
      await desk.upload(
        employer,
        file((n) => pay(n, `E${n % (ROWS / 2)}`)),
      )
    ).answer.id,
  'the rows of another run': async (employer) => {
    await desk.upload(employer, GOOD);
    return (await desk.upload(employer, GOOD, { kindOfPay: 'BONUS' })).answer.id;
  },
  'the employees of another run, as further pay': async (employer) => {
    const { id } = (await desk.upload(employer, GOOD)).answer;
    await desk.approve(employer, id);
    const rows = file((n) => pay(ROWS - n, `E${n}`));
    return (await desk.upload(employer, rows, { supplementOf: id })).answer.id;
  },
  'the rows of another run, held by themselves once an amendment left some out': async (employer) => {
    const account = (n: number, id: string) => row(`${id}${n}`, `${n + 1}.00`, letters(n), germanIban(n));
    await desk.upload(
      employer,
      file((n) => account(n, 'E')),
    );
    const again = file((n) => account(n <= ROWS / 2 ? n : n + ROWS, 'N'));
    const { id } = (await desk.upload(employer, again)).answer;
    await desk.leaveOut(employer, readId('run', id), [2, 3]);
    const run = await desk.inRun(employer, readId('run', id), (_, one) => Promise.resolve(one));
    expect(run.rowCount).toBe(ROWS / 2 - 1);
    return id;
  },
  'the rows of the same people in another run, held by themselves once an amendment left some out': async (
    employer,
  ) => {
    const account = (n: number) => row(`E${n}`, `${n + 1}.00`, letters(n), germanIban(n));
    await desk.upload(employer, file(account));
    const again = file((n) => account(n <= ROWS / 2 ? n : n + ROWS));
    const { id } = (await desk.upload(employer, again, { kindOfPay: 'BONUS' })).answer;
    await desk.leaveOut(employer, readId('run', id), [2, 3]);
    const run = await desk.inRun(employer, readId('run', id), (_, one) => Promise.resolve(one));
    expect(run.rowCount).toBe(ROWS / 2 - 1);
    return id;
  },
  'rows that are all alike in three runs, and held by themselves once an amendment left some out': async (
    employer,
  ) => {
    const alike = (id: string) =>
      Array.from({ length: ROWS }, (_, n) => row(`${id}${n}`, '1.00', 'Ann', SHARED));
    for (const id of ['E', 'F']) await desk.upload(employer, csv(...alike(id)));
    const others = Array.from({ length: ROWS - 2 }, (_, n) => pay(n, `Y${n}`));
    const { id } = (await desk.upload(employer, csv(...alike('N'), ...others))).answer;
    await desk.leaveOut(employer, readId('run', id), [2, 3]);
    return id;
  },
  'rows above the limits': async (employer) => {
    await paid(employer, GOOD);
    await desk.set(employer, { paymentLimitMinor: 1n, runLimitMinor: 1n, increaseLimitBp: 1 });
    return (
      await desk.upload(
        employer,
        file((n) => row(`E${n}`, `${n + 9}.00`)),
      )
    ).answer.id;
  },
  'rows above what is usual, beside another kind of pay': async (employer) => {
    await paid(employer, GOOD);
    await desk.upload(
      employer,
      file((n) => pay(n + 5_000, `B${n}`)),
      { kindOfPay: 'BONUS' },
    );
    await desk.set(employer, { increaseLimitBp: 1 });
    return (
      await desk.upload(
        employer,
        file((n) => row(`E${n}`, `${n + 9}.00`)),
      )
    ).answer.id;
  },
  'a month in which everything differs from the one before': async (employer) => {
    await paid(employer, GOOD);
    const rows = file((n) =>
      n % 2 === 0 ? pay(n + 7, `E${n}`) : `E${n},${letters(n)},${NOT_AN_IBAN},,1,EUR,`,
    );
    await desk.set(employer, { faultPolicy: { policy: 'hold' } });
    return (await desk.upload(employer, rows)).answer.id;
  },
  'rows that are kept back, and come back mended': async (employer) => {
    await desk.set(employer, { faultPolicy: { policy: 'hold' } });
    const { id } = (await desk.upload(employer, HALF_FAULTY)).answer;
    const mended = (await desk.corrections(employer, id))
      .toString()
      .replaceAll(NOT_AN_IBAN, 'DE42950800200355765512');
    const { held, corrected } = await desk.correct(employer, id, Buffer.from(mended));
    expect({ held, corrected }).toEqual({ held: ROWS / 2 - 1, corrected: ROWS / 2 });
    await desk.correct(employer, id, Buffer.from(mended));
    return id;
  },
};

describe.each(Object.entries(STORIES))('no row is compared with each other one in %s', (_name, story) => {
  it('while the tables have no statistics', async () => {
    const employer = await desk.employer();
    await look(employer, await story(employer));
    expect(found).toEqual([]);
  });

  it('while the statistics say that the tables are empty', async () => {
    await desk.asSuperuser('ANALYZE');
    const employer = await desk.employer();
    await look(employer, await story(employer));
    expect(found).toEqual([]);
  });

  it('while the statistics are those of other employers', async () => {
    for (let n = 0; n < 3; n += 1) await story(await desk.employer());
    await desk.asSuperuser('ANALYZE');
    found.splice(0);
    const employer = await desk.employer();
    await look(employer, await story(employer));
    expect(found).toEqual([]);
  });
});
