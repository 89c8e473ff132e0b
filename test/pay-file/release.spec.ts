import { NestExpressApplication } from '@nestjs/platform-express';
import request from 'supertest';
import { EmployerRole } from '../../src/http/allow';
import { readId, showId } from '../../src/http/prefixed-id';
import { IdentityModule } from '../../src/identity/identity.module';
import { withdrawFurtherPay } from '../../src/pay-file/release';
import { ReleaseController } from '../../src/pay-file/release.controller';
import { listPayments } from '../../src/pay-run/pay-run.reads';
import { appOver, makePerson } from '../http/test-app';
import { LEAVES_UNANSWERED } from '../support/database';
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
});
afterAll(() => desk.close());

const release = (employeeId: string, period = '2026-11', kindOfPay = 'SALARY', by = approver) =>
  desk.release(employer, by, { employeeId, period, kindOfPay, reason: 'paid too little' });

const withdraw = (employeeId: string, by = approver) =>
  desk.database.inEmployer(employer.employerId, (tx) =>
    withdrawFurtherPay(tx, by, {
      employeeId,
      period: '2026-11',
      kindOfPay: 'SALARY',
      reason: 'of another employee',
    }),
  );

const sequences = () =>
  desk.query<{ employee_id: string; release_sequence: number }>(
    employer,
    'SELECT employee_id, release_sequence FROM payment WHERE live ORDER BY employee_id, release_sequence',
  );

describe('the release of a further payment', () => {
  it('lets the next file pay the employee once more, and no file after it', async () => {
    await desk.upload(employer, csv(row('E1'), row('E2')));
    expect(await release('E1')).toMatchObject({ sequence: 1 });
    await desk.upload(employer, csv(row('E1', '5.00'), row('E3')));
    expect(await sequences()).toEqual([
      { employee_id: 'E1', release_sequence: 0 },
      { employee_id: 'E1', release_sequence: 1 },
      { employee_id: 'E2', release_sequence: 0 },
      { employee_id: 'E3', release_sequence: 0 },
    ]);
    const { held } = (await desk.upload(employer, csv(row('E1', '6.00')))).answer;
    expect(held.holds).toEqual({ EMPLOYEE_ALREADY_PAID: 1 });
  });

  it('is of one employee, period and kind of pay only', async () => {
    await desk.upload(employer, csv(row('E1'), row('E2')));
    await desk.upload(employer, csv(row('E1'), row('E2')), { kindOfPay: 'BONUS' });
    await release('E1', '2026-11', 'BONUS');
    const { held } = (await desk.upload(employer, csv(row('E1', '5.00'), row('E2', '5.00')))).answer;
    expect(held.holds).toEqual({ EMPLOYEE_ALREADY_PAID: 2 });
  });

  it('lets nobody pay an employee twice alone: a file of who made it is held until somebody else releases the row', async () => {
    await desk.upload(employer, csv(row('E1')));
    await release('E1', '2026-11', 'SALARY', employer.personId);
    const { id, held } = (await desk.upload(employer, csv(row('E1', '5.00'), row('E2')))).answer;
    expect(held).toEqual({ payments: 1, amount: '5.00', holds: { EMPLOYEE_ALREADY_PAID: 1 } });
    const runId = readId('run', id);
    const choice = {
      paymentId: await desk.paymentIn(employer, runId, 2),
      code: 'EMPLOYEE_ALREADY_PAID',
    } as const;
    const releasedBy = (personId: string) =>
      desk.releaseHold(employer, runId, choice, { personId, reason: 'both are owed' });
    await expect(releasedBy(employer.personId)).rejects.toMatchObject({
      constraint: 'releaser_is_not_preparer',
    });
    await releasedBy(approver);
    expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([0, 1, 0]);
    const somebodyElse = { ...employer, personId: await desk.person('Otto Other') };
    const third = (await desk.upload(somebodyElse, csv(row('E1', '6.00')))).answer;
    expect(third.held.holds).toEqual({ EMPLOYEE_ALREADY_PAID: 1 });
  });

  it('is used by the file of another person than who made it', async () => {
    await desk.upload(employer, csv(row('E1')));
    await release('E1', '2026-11', 'SALARY', employer.personId);
    const somebodyElse = { ...employer, personId: await desk.person('Otto Other') };
    const { held } = (await desk.upload(somebodyElse, csv(row('E1', '5.00')))).answer;
    expect(held).toMatchObject({ payments: 0 });
    expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([0, 1]);
  });

  it.each([
    ['may approve no more', `DELETE FROM person_role WHERE person_id = $1`],
    ['was disabled', `UPDATE person SET disabled_at = now() WHERE id = $1`],
  ])(
    'is used by no file once who made it %s: the row is held, and another approver decides',
    async (_, sql) => {
      const leaves = await desk.person('Lea Leaver');
      await desk.upload(employer, csv(row('E1')));
      await release('E1', '2026-11', 'SALARY', leaves);
      await desk.asSuperuser(sql, [leaves]);
      const { id, held } = (await desk.upload(employer, csv(row('E1', '5.00')))).answer;
      expect(held.holds).toEqual({ EMPLOYEE_ALREADY_PAID: 1 });
      const runId = readId('run', id);
      const paymentId = await desk.paymentIn(employer, runId, 2);
      const choice = { paymentId, code: 'EMPLOYEE_ALREADY_PAID' } as const;
      await desk.releaseHold(employer, runId, choice, { personId: approver, reason: 'both are owed' });
      expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([0, 1]);
    },
  );

  it('pays by no approval once who made it may approve no more, until they may again or the row is left out', async () => {
    const leaves = await desk.person('Lea Leaver');
    const grant = `INSERT INTO person_role (employer_id, person_id, role) SELECT '${employer.employerId}', $1, 'approver'`;
    await desk.upload(employer, csv(row('E1')));
    await release('E1', '2026-11', 'SALARY', leaves);
    const { id, held } = (await desk.upload(employer, csv(row('E1', '5.00'), row('E2')))).answer;
    expect(held.payments).toBe(0);
    await desk.asSuperuser(`DELETE FROM person_role WHERE person_id = $1`, [leaves]);
    await expect(desk.approve(employer, id)).rejects.toMatchObject({
      code: 'RELEASE_NOT_BACKED',
      detail: { payments: 1 },
    });
    await desk.asSuperuser(grant, [leaves]);
    await desk.approve(employer, id);
  });

  it('has the run cancelled that holds nothing else, once who made it may approve no more', async () => {
    const leaves = await desk.person('Lea Leaver');
    await desk.upload(employer, csv(row('E1')));
    await release('E1', '2026-11', 'SALARY', leaves);
    const { id } = (await desk.upload(employer, csv(row('E1', '5.00')))).answer;
    await desk.asSuperuser(`DELETE FROM person_role WHERE person_id = $1`, [leaves]);
    await expect(desk.approve(employer, id)).rejects.toMatchObject({
      code: 'RELEASE_NOT_BACKED',
      message: expect.stringMatching(
        /^1 payment of the run is .* Cancel the run\. Once a run .* is approved, upload them as its supplement/,
      ),
    });
  });

  it('is backed by the approver who released the row that was held with it', async () => {
    const leaves = await desk.person('Lea Leaver');
    await desk.upload(employer, csv(row('E1')));
    await release('E1', '2026-11', 'SALARY', leaves);
    await desk.asSuperuser(`DELETE FROM person_role WHERE person_id = $1`, [leaves]);
    const { id } = (await desk.upload(employer, csv(row('E1', '5.00')))).answer;
    const paymentId = await desk.paymentIn(employer, readId('run', id), 2);
    const choice = { paymentId, code: 'EMPLOYEE_ALREADY_PAID' } as const;
    const decision = { personId: approver, reason: 'both are owed' };
    await desk.releaseHold(employer, readId('run', id), choice, decision);
    const [shown] = await desk.database.inEmployer(employer.employerId, (tx) =>
      listPayments(tx, readId('run', id), { after: 0, further: true }, 2),
    );
    const released = { sequence: 1, reason: 'both are owed', by: approver, name: 'Arno Approver' };
    expect(shown?.allowed_by).toMatchObject(released);
    await desk.approve(employer, id);
  });

  it('is not used by the same rows in one file', async () => {
    await desk.upload(employer, csv(row('E1')));
    await release('E1');
    const { held } = (await desk.upload(employer, csv(row('E1', '5.00'), row('E1', '6.00')))).answer;
    expect(held).toEqual({ payments: 1, amount: '6.00', holds: { EMPLOYEE_TWICE: 1 } });
  });

  it('is open again when the run that used it was cancelled', async () => {
    await desk.upload(employer, csv(row('E1')));
    await release('E1');
    const { answer } = await desk.upload(employer, csv(row('E1', '5.00')));
    await desk.cancel(employer, answer.id);
    await desk.upload(employer, csv(row('E1', '5.00')));
    expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([0, 1]);
  });

  it('is not needed once nothing live pays the employee any more', async () => {
    const first = await desk.upload(employer, csv(row('E1')));
    await desk.cancel(employer, first.answer.id);
    await desk.upload(employer, csv(row('E1', '2.00')));
    expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([0]);
  });

  it('stays needed when only the released payment is left', async () => {
    const first = await desk.upload(employer, csv(row('E1')));
    await release('E1');
    await desk.upload(employer, csv(row('E1', '5.00')));
    await desk.cancel(employer, first.answer.id);
    const { held } = (await desk.upload(employer, csv(row('E1', '7.00')))).answer;
    expect(held.holds).toEqual({ EMPLOYEE_ALREADY_PAID: 1 });
    expect(await release('E1')).toMatchObject({ sequence: 2 });
    await desk.upload(employer, csv(row('E1', '7.01')));
    expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([1, 2]);
  });

  it('is refused for an employee whom nothing pays yet', async () => {
    await expect(release('E1')).rejects.toMatchObject({ code: 'NO_LIVE_PAYMENT' });
  });

  it('is refused while another one is unused, also of two at once', async () => {
    await desk.upload(employer, csv(row('E1')));
    const ended = await Promise.allSettled([release('E1'), release('E1')]);
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(release('E1')).rejects.toMatchObject({ code: 'RELEASE_UNUSED' });
  });

  it('is audited with its reason', async () => {
    await desk.upload(employer, csv(row('E1')));
    await release('E1');
    expect((await desk.audit(employer)).at(-1)).toEqual({
      action: 'pay.released',
      subject: 'E1',
      detail: { period: '2026-11', kindOfPay: 'SALARY', sequence: 1, reason: 'paid too little' },
    });
  });
});

describe('a release that was withdrawn', () => {
  const stored = () =>
    desk.query<{ sequence: number; withdrawn_reason: string | null; withdrawn_by: string | null }>(
      employer,
      'SELECT sequence, withdrawn_reason, withdrawn_by FROM pay_release ORDER BY sequence',
    );

  it('lets no file pay the employee once more, and another one can be given', async () => {
    await desk.upload(employer, csv(row('E1'), row('E2')));
    await release('E1');
    const another = await desk.person('Anna Another');
    expect(await withdraw('E1', another)).toBe(1);
    expect(await stored()).toEqual([
      { sequence: 1, withdrawn_reason: 'of another employee', withdrawn_by: another },
    ]);
    expect((await desk.audit(employer)).at(-1)).toEqual({
      action: 'pay.release-withdrawn',
      subject: 'E1',
      detail: { period: '2026-11', kindOfPay: 'SALARY', sequences: [1], reason: 'of another employee' },
    });
    const { held } = (await desk.upload(employer, csv(row('E1', '5.00')))).answer;
    expect(held.holds).toEqual({ EMPLOYEE_ALREADY_PAID: 1 });
    expect(await release('E1')).toMatchObject({ sequence: 2 });
    await desk.upload(employer, csv(row('E1', '6.00')));
    expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([0, 2, 0]);
  });

  it('was unused: one that a payment uses stands until its run is cancelled or the row left out', async () => {
    await desk.upload(employer, csv(row('E1')));
    await expect(withdraw('E1')).rejects.toMatchObject({ code: 'RELEASE_NOT_FOUND' });
    await release('E1');
    const { answer } = await desk.upload(employer, csv(row('E1', '5.00'), row('E2')));
    await expect(withdraw('E1')).rejects.toMatchObject({ code: 'RELEASE_NOT_FOUND' });
    await desk.cancel(employer, answer.id);
    expect(await withdraw('E1')).toBe(1);
    await expect(withdraw('E1')).rejects.toMatchObject({ code: 'RELEASE_NOT_FOUND' });
    await desk.upload(employer, csv(row('E1', '5.00'), row('E2')));
    expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([0, 0]);
  });

  it('is not what a payment ended unpaid by: whoever replaces that takes its place', async () => {
    await desk.upload(employer, csv(row('E1')));
    await release('E1');
    await desk.upload(employer, csv(row('E1', '5.00')));
    for (const status of ['APPROVED', 'AT_BANK', 'SUBMITTED', 'FAILED'])
      await desk.query(
        employer,
        `UPDATE payment SET status = $1, live = $1 <> 'FAILED' WHERE release_sequence = 1`,
        [status],
      );
    await expect(withdraw('E1')).rejects.toMatchObject({ code: 'RELEASE_NOT_FOUND' });
  });

  it('of a payment that ended unpaid pays that amount again, whoever asks for more is held', async () => {
    await desk.upload(employer, csv(row('E1')));
    await release('E1');
    await desk.upload(employer, csv(row('E1', '5.00')));
    for (const status of ['APPROVED', 'AT_BANK', 'SUBMITTED', 'FAILED'])
      await desk.query(
        employer,
        `UPDATE payment SET status = $1, live = $1 <> 'FAILED' WHERE release_sequence = 1`,
        [status],
      );
    const again = await desk.upload(employer, csv(row('E1', '2000.00'), row('E2')));
    expect(again.answer).toMatchObject({ payments: 1, held: { holds: { EMPLOYEE_ALREADY_PAID: 1 } } });
    const same = await desk.upload(employer, csv(row('E1', '5.00')));
    expect(same.answer).toMatchObject({ payments: 1, held: { payments: 0 } });
  });

  it('does not serve a row that was held for something else when it was', async () => {
    await desk.set(employer, { paymentLimitMinor: 5_000_00n });
    await desk.upload(employer, csv(row('E1')));
    await release('E1');
    const { id } = (await desk.upload(employer, csv(row('E1', '6000.00'), row('E2')))).answer;
    expect(await withdraw('E1')).toBe(1);
    const runId = readId('run', id);
    const choice = {
      paymentId: await desk.paymentIn(employer, runId, 2),
      code: 'PAYMENT_ABOVE_LIMIT',
    } as const;
    await expect(
      desk.releaseHold(employer, runId, choice, { personId: approver, reason: 'a high bonus' }),
    ).rejects.toMatchObject({ code: 'HELD_PAYMENT_OUTDATED' });
    expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([0, 0]);
  });
});

describe('the list of releases', () => {
  let app: NestExpressApplication;
  beforeAll(async () => {
    app = await appOver(desk.database, [IdentityModule], [ReleaseController]);
  });
  afterAll(() => app.close());

  const get = async (query = '', role: EmployerRole = 'approver') => {
    const { employerId } = employer;
    const someone = await makePerson(desk.database, 'Lara Looker', { [employerId]: [role] });
    const { status, body } = await request(app.getHttpServer())
      .get(`/v1/employers/${showId('emp', employerId)}/releases${query}`)
      .set('authorization', someone.authorization);
    return { status, ...(body as { items: ReleaseItem[]; nextCursor: string | null; code: string }) };
  };
  interface ReleaseItem {
    employeeId: string;
    status: string;
  }
  const told = async (query = '') =>
    (await get(query)).items.map(({ employeeId, status }) => `${employeeId} ${status}`);
  const paymentOf = async (run: string, line: number) => ({
    paymentId: showId('pay', await desk.paymentIn(employer, readId('run', run), line)),
    payRunId: run,
  });

  it('says who allowed which further pay, why, and what became of it, the newest first', async () => {
    await desk.upload(employer, csv(row('E1'), row('E2'), row('E3')));
    for (const employeeId of ['E1', 'E2', 'E3']) await release(employeeId);
    const { id } = (await desk.upload(employer, csv(row('E1', '5.00')))).answer;
    await withdraw('E2');
    const allowed = {
      period: '2026-11',
      kindOfPay: 'SALARY',
      sequence: 1,
      reason: 'paid too little',
      releasedBy: { id: showId('per', approver), name: 'Arno Approver' },
      releasedAt: expect.any(String),
    };
    expect((await get()).items).toEqual([
      { employeeId: 'E3', ...allowed, status: 'UNUSED', usedBy: null, withdrawn: null },
      {
        employeeId: 'E2',
        ...allowed,
        status: 'WITHDRAWN',
        usedBy: null,
        withdrawn: {
          at: expect.any(String),
          by: { id: showId('per', approver), name: 'Arno Approver' },
          reason: 'of another employee',
        },
      },
      { employeeId: 'E1', ...allowed, status: 'USED', usedBy: await paymentOf(id, 2), withdrawn: null },
    ]);
  });

  it('narrows to a period, and to what may still be used and be withdrawn, a page at a time', async () => {
    await desk.upload(employer, csv(row('E1'), row('E2'), row('E3')));
    await desk.upload(employer, csv(row('E1')), { period: '2026-10' });
    await release('E1', '2026-10');
    for (const employeeId of ['E1', 'E2', 'E3']) await release(employeeId);
    const { id } = (await desk.upload(employer, csv(row('E2', '5.00')))).answer;
    expect(await told('?unused=true')).toEqual(['E3 UNUSED', 'E1 UNUSED', 'E1 UNUSED']);
    expect(await told('?period=2026-10')).toEqual(['E1 UNUSED']);
    const first = await get('?period=2026-11&unused=true&limit=1');
    const second = await get(`?period=2026-11&unused=true&limit=1&cursor=${first.nextCursor}`);
    expect([...first.items, ...second.items].map(({ employeeId }) => employeeId)).toEqual(['E3', 'E1']);
    expect(second.nextCursor).toBeNull();
    await desk.cancel(employer, id);
    expect(await told('?period=2026-11&unused=true')).toEqual(['E3 UNUSED', 'E2 UNUSED', 'E1 UNUSED']);
    for (const { employeeId } of (await get('?period=2026-11&unused=true')).items)
      expect(await withdraw(employeeId)).toBe(1);
    expect(await told('?period=2026-11&unused=true')).toEqual([]);
  });

  it('tells of a release that was made with a row that it lapsed once that row was left out', async () => {
    await desk.upload(employer, csv(row('E1')));
    const { id } = (await desk.upload(employer, csv(row('E1', '5.00'), row('E2')))).answer;
    const runId = readId('run', id);
    const choice = {
      paymentId: await desk.paymentIn(employer, runId, 2),
      code: 'EMPLOYEE_ALREADY_PAID',
    } as const;
    await desk.releaseHold(employer, runId, choice, { personId: approver, reason: 'both are owed' });
    expect(await told()).toEqual(['E1 USED']);
    await desk.cancel(employer, id);
    expect(await told()).toEqual(['E1 LAPSED']);
    expect(await told('?unused=true')).toEqual([]);
  });

  it('is for those who see payments, and takes no mistyped filter', async () => {
    for (const role of ['approver', 'preparer', 'finance'] as const)
      expect((await get('', role)).status).toBe(200);
    expect((await get('', 'operator')).status).toBe(403);
    for (const query of ['?unused=yes', '?period=2026-13', '?perod=2026-11'])
      expect((await get(query)).status).toBe(422);
    expect(await get('?cursor=e30')).toMatchObject({ status: 422, code: 'CURSOR_INVALID' });
  });
});

describe('a request of a release that is repeated by its key', () => {
  let app: NestExpressApplication;
  beforeAll(async () => {
    app = await appOver(desk.database, [IdentityModule], [ReleaseController]);
  });
  afterAll(() => app.close());

  const sender = async () => {
    const { employerId } = employer;
    const someone = await makePerson(desk.database, 'Anna Approver', { [employerId]: ['approver'] });
    const body = { employeeId: 'E1', period: '2026-11', kindOfPay: 'SALARY', reason: 'paid too little' };
    return async (path: string) => {
      const { status, body: answer } = await request(app.getHttpServer())
        .post(`/v1/employers/${showId('emp', employerId)}/releases${path}`)
        .set('authorization', someone.authorization)
        .set('idempotency-key', 'k')
        .send(body);
      return { status, answer };
    };
  };
  const UNFINISHED = { status: 409, answer: { code: 'IDEMPOTENCY_UNFINISHED' } };
  const standing = () =>
    desk.query<{ sequence: number }>(
      employer,
      'SELECT sequence FROM pay_release WHERE withdrawn_at IS NULL ORDER BY sequence',
    );

  it('allows no second further payment where the answer was lost and a file has used the first since', async () => {
    const send = await sender();
    await desk.upload(employer, csv(row('E1')));
    expect(await send('')).toMatchObject({ status: 201, answer: { sequence: 1 } });
    await desk.asSuperuser(LEAVES_UNANSWERED);
    await desk.upload(employer, csv(row('E1', '5.00')));
    expect(await send('')).toMatchObject(UNFINISHED);
    expect(await standing()).toEqual([{ sequence: 1 }]);
  });

  it('takes back none that was given since, where the answer to a withdrawal was lost', async () => {
    const send = await sender();
    await desk.upload(employer, csv(row('E1')));
    await release('E1');
    expect(await send('/withdrawal')).toMatchObject({ status: 200, answer: { withdrawn: 1 } });
    await desk.asSuperuser(LEAVES_UNANSWERED);
    await release('E1');
    expect(await send('/withdrawal')).toMatchObject(UNFINISHED);
    expect(await standing()).toEqual([{ sequence: 2 }]);
  });
});
