import { newId } from '../../src/database/new-id';
import { withdrawFurtherPay } from '../../src/pay-file/release';
import { withdrawReleasesBefore } from '../../src/pay-run/pay-release';
import { eventually } from '../support/eventually';
import { csv, Desk, PayDesk, row } from './pay-desk';

let desk: PayDesk;
let employer: Desk;
let approver: string;

beforeAll(async () => {
  desk = await PayDesk.open();
  approver = await desk.person('Arno Approver');
});
beforeEach(async () => {
  employer = await desk.employer();
  await desk.set(employer, { faultPolicy: { policy: 'hold' } });
});
afterAll(() => desk.close());

const KEY = { employeeId: 'E1', period: '2026-11', kindOfPay: 'SALARY' };
const inEmployer: PayDesk['database']['inEmployer'] = (id, work) => desk.database.inEmployer(id, work);
const live = () =>
  desk.query<{ employee_id: string; place: number }>(
    employer,
    'SELECT employee_id, release_sequence AS place FROM payment WHERE live ORDER BY 1, 2',
  );

/** Begins `work` while a file that pays E1 is being taken in, which has looked at who is paid and stored nothing yet. */
async function besideAFile(work: () => Promise<unknown>): Promise<unknown> {
  let taking: Promise<unknown> = Promise.resolve();
  let beside: Promise<unknown> = Promise.resolve();
  await inEmployer(employer.employerId, async (tx) => {
    await tx.query('SELECT FROM employer_account WHERE id = $1 FOR UPDATE', [employer.accountId]);
    taking = desk.upload(employer, csv(row('E1', '5.00'), row('E9')));
    await eventually(() => desk.isLockAwaited('INSERT INTO "pay_run"%'), 5_000);
    beside = work().catch((error: unknown) => error);
    await eventually(() => desk.isLockAwaited('SELECT pg_advisory_xact_lock%'), 5_000);
  });
  await taking;
  return beside;
}

describe('what comes while a file of the period is taken in waits for it, and finds whom it pays', () => {
  it('corrections', async () => {
    const { id } = (await desk.upload(employer, csv(row('E1', '0.00'), row('E2')))).answer;
    const mended = Buffer.from((await desk.corrections(employer, id)).toString().replace(',0.00,', ',1.00,'));
    expect(await besideAFile(() => desk.correct(employer, id, mended))).toMatchObject({
      corrected: 1,
      held: 1,
    });
    expect(await live()).toEqual(['E1', 'E2', 'E9'].map((id) => ({ employee_id: id, place: 0 })));
  });

  it('another file', async () => {
    const other = () => desk.upload(employer, csv(row('E1', '7.00')));
    const taken = await besideAFile(other);
    expect(taken).toMatchObject({ answer: { held: { holds: { EMPLOYEE_ALREADY_PAID: 1 } } } });
    expect(await live()).toEqual(['E1', 'E9'].map((id) => ({ employee_id: id, place: 0 })));
  });

  it('the release of further pay', async () => {
    const again = { ...KEY, reason: 'paid too little' };
    expect(await besideAFile(() => desk.release(employer, approver, again))).toMatchObject({ sequence: 1 });
  });

  it('the withdrawal of the release that it uses, by a person or after a restore', async () => {
    const reason = 'of another employee';
    for (const withdraws of [
      () => inEmployer(employer.employerId, (tx) => withdrawFurtherPay(tx, approver, { ...KEY, reason })),
      async () => {
        const id = newId();
        await desk.asSuperuser(
          `INSERT INTO database_restore (id, what, told_at, noticed_at) VALUES ('${id}', 'a dump', now(), '2020-01-01')`,
        );
        try {
          return await inEmployer(employer.employerId, (tx) => withdrawReleasesBefore(tx, id, reason));
        } finally {
          await desk.asSuperuser(`DELETE FROM database_restore WHERE id = '${id}'`);
        }
      },
    ]) {
      employer = await desk.employer();
      await desk.upload(employer, csv(row('E1')));
      await desk.release(employer, approver, { ...KEY, reason: 'paid too little' });
      const withdrawn = await besideAFile(withdraws);
      if (withdrawn instanceof Error) expect(withdrawn).toMatchObject({ code: 'RELEASE_NOT_FOUND' });
      else expect(withdrawn).toEqual([]);
      expect(await live()).toEqual(
        [
          ['E1', 0],
          ['E1', 1],
          ['E9', 0],
        ].map(([employee_id, place]) => ({ employee_id, place })),
      );
    }
  });
});
