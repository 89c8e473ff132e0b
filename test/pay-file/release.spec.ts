import { readId } from '../../src/http/prefixed-id';
import { releaseFurtherPay } from '../../src/pay-file/release';
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
  desk.database.inEmployer(employer.employerId, (tx) =>
    releaseFurtherPay(tx, by, { employeeId, period, kindOfPay, reason: 'paid too little' }),
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
    expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([0, 2, 0]);
  });

  it('is used by the file of another person than who made it', async () => {
    await desk.upload(employer, csv(row('E1')));
    await release('E1', '2026-11', 'SALARY', employer.personId);
    const somebodyElse = { ...employer, personId: await desk.person('Otto Other') };
    const { held } = (await desk.upload(somebodyElse, csv(row('E1', '5.00')))).answer;
    expect(held).toMatchObject({ payments: 0 });
    expect((await sequences()).map((payment) => payment.release_sequence)).toEqual([0, 1]);
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
