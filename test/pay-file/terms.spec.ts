import { ZodValidationException } from 'nestjs-zod';
import { newId } from '../../src/database/new-id';
import { showId } from '../../src/http/prefixed-id';
import { readUploadFields } from '../../src/pay-file/terms';
import { csv, Desk, PayDesk, row } from './pay-desk';

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
});
beforeEach(async () => {
  employer = await desk.employer();
});
afterAll(() => desk.close());

const FILE = csv(row('E1'));

describe('the fields of an upload', () => {
  const read = (fields: Record<string, unknown>) => readUploadFields(Object.entries(fields));

  it('are read, with empty ones absent', () => {
    const id = newId();
    expect(
      read({
        period: '2026-11',
        accountId: showId('acc', id),
        submitAt: '2026-11-26T09:00:00+01:00',
        kindOfPay: '',
      }),
    ).toEqual({
      period: '2026-11',
      accountId: id,
      submitAt: new Date('2026-11-26T08:00:00Z'),
      kindOfPay: 'SALARY',
    });
  });

  it.each([
    ['period', '2026-13'],
    ['period', ['2026-11', '2026-12']],
    ['executionDate', '2026-02-29'],
    ['accountId', 'run_00000000000070008000000000000000'],
    ['kindOfPay', 'Bonus & more'],
    ['submitAt', '2026-11-26T09:00:00'],
    ['replyTo', 'me'],
  ])('refuse %s %j', (name, value) => {
    expect(() => read({ period: '2026-11', [name]: value })).toThrow(ZodValidationException);
  });

  it('keep of a file name what may be shown', () => {
    const name = (fileName: string) => read({ period: '2026-11', fileName }).fileName;
    expect(name('C:\\pay\\No\u202Evember\u0000.csv')).toBe('No vember .csv');
    expect(name('../../etc/passwd')).toBe('passwd');
    expect(name('\u0000/')).toBeUndefined();
    expect(name('x'.repeat(400))).toHaveLength(255);
  });
});

describe('the execution date', () => {
  it.each([
    ['EXECUTION_DATE_PAST', '2026-10-30', '2026-11-02'],
    ['EXECUTION_DATE_NOT_A_BANKING_DAY', '2026-11-28', '2026-11-30'],
    ['EXECUTION_DATE_NOT_A_BANKING_DAY', '2026-12-25', '2026-12-28'],
    ['EXECUTION_DATE_NOT_A_BANKING_DAY', '2026-11-11', '2026-11-12'],
    ['EXECUTION_DATE_TOO_FAR', '2027-11-04', '2026-11-02'],
  ])('is refused as %s on %s, and %s would do', async (code, executionDate, day) => {
    const intake = desk.intake({ closedDays: ['2026-11-11'] });
    const problem = await desk.refusal(employer, FILE, { executionDate }, intake);
    expect(problem).toMatchObject({ status: 422, code, extra: { nextBankingDay: day } });
    expect(problem.detail).toContain(day);
    await expect(desk.upload(employer, FILE, { executionDate: day }, intake)).resolves.toBeDefined();
  });

  it.each([
    ['EXECUTION_DATE_PAST', '2026-10-30'],
    ['CUT_OFF_PASSED', '2026-11-02'],
    ['EXECUTION_DATE_TOO_FAR', '2027-11-04'],
  ])('refused as %s after the cut-off of a day is told to be the next day', async (code, executionDate) => {
    const intake = desk.intake({ now: new Date('2026-11-02T15:00:00Z'), closedDays: ['2026-11-03'] });
    const problem = await desk.refusal(employer, FILE, { executionDate }, intake);
    expect(problem).toMatchObject({ code, extra: { nextBankingDay: '2026-11-04' } });
    await expect(desk.upload(employer, FILE, { executionDate: '2026-11-04' }, intake)).resolves.toBeDefined();
  });

  it('is told to be the first day where the next one is further ahead than the employer lets it be', async () => {
    await desk.set(employer, { daysAheadLimit: 26 });
    const problem = await desk.refusal(employer, FILE, { executionDate: '2026-11-28' });
    expect(problem).toMatchObject({
      code: 'EXECUTION_DATE_NOT_A_BANKING_DAY',
      extra: { nextBankingDay: '2026-11-02' },
    });
  });

  it('is not further ahead than the employer lets it be', async () => {
    await desk.set(employer, { daysAheadLimit: 25 });
    const problem = await desk.refusal(employer, FILE, { executionDate: '2026-11-30' });
    expect(problem).toMatchObject({ status: 422, code: 'EXECUTION_DATE_TOO_FAR' });
    expect(problem.detail).toContain('more than 25 days ahead');
    await expect(desk.upload(employer, FILE)).resolves.toBeDefined();
  });

  it('is a day at the bank: today there may be yesterday elsewhere', async () => {
    const justAfterMidnightInParis = desk.intake({ now: new Date('2026-11-26T23:30:00Z') });
    await expect(desk.upload(employer, FILE, {}, justAfterMidnightInParis)).resolves.toBeDefined();
    const other = await desk.employer();
    const problem = await desk.refusal(
      other,
      FILE,
      { executionDate: '2026-11-26' },
      justAfterMidnightInParis,
    );
    expect(problem.code).toBe('EXECUTION_DATE_PAST');
  });

  it('must be named where no schedule gives one', async () => {
    const problem = await desk.refusal(employer, FILE, { executionDate: '' });
    expect(problem).toMatchObject({ status: 422, code: 'EXECUTION_DATE_MISSING' });
  });
});

describe('the time of the submit', () => {
  it('is kept', async () => {
    const { answer } = await desk.upload(employer, FILE, { submitAt: '2026-11-26T10:00:00+01:00' });
    expect(answer.submitAt).toBe('2026-11-26T09:00:00.000Z');
  });

  it('is before the cut-off of the execution date', async () => {
    const problem = await desk.refusal(employer, FILE, { submitAt: '2026-11-27T15:00:00Z' });
    expect(problem).toMatchObject({
      code: 'SUBMIT_AT_TOO_LATE',
      extra: { latest: '2026-11-27T15:00:00.000Z' },
    });
  });
});

describe('the account', () => {
  it('is the only one the employer has', async () => {
    const { answer } = await desk.upload(employer, FILE);
    expect(answer.accountId).toBe(showId('acc', employer.accountId));
  });

  it.each([0, 2])('must be named, or made, when the employer has %i', async (accounts) => {
    const own = await desk.employer(accounts);
    expect(await desk.refusal(own, FILE)).toMatchObject({ status: 422, code: 'ACCOUNT_MISSING' });
  });

  it('is the only one that the bank has not closed, and no closed one that is named', async () => {
    const own = await desk.employer(2);
    const close = `UPDATE employer_account SET bank_status = 'CLOSED' WHERE id = $1`;
    const accountId = showId('acc', own.accountId);
    const named = await desk.upload(own, FILE, { accountId });
    await desk.query(own, close, [own.accountId]);
    const { answer } = await desk.upload(own, csv(row('E2')), { kindOfPay: 'BONUS' });
    expect(answer.accountId).not.toBe(accountId);
    const problem = await desk.refusal(own, csv(row('E3')), { accountId });
    expect(problem).toMatchObject({ status: 409, code: 'ACCOUNT_IS_CLOSED' });
    expect(problem.detail).toContain('name another account');
    expect(await desk.upload(own, FILE, { accountId })).toEqual({ answer: named.answer, replayed: true });
    await desk.query(own, `UPDATE employer_account SET bank_status = 'CLOSED'`);
    expect(await desk.refusal(own, csv(row('E3')))).toMatchObject({ code: 'ACCOUNT_MISSING' });
  });

  it('is none that was detached', async () => {
    const own = await desk.employer(2);
    await desk.query(own, `UPDATE employer_account SET detached_at = now() WHERE id = $1`, [own.accountId]);
    const { answer } = await desk.upload(own, FILE);
    const accountId = showId('acc', own.accountId);
    expect(answer.accountId).not.toBe(accountId);
    const problem = await desk.refusal(own, csv(row('E2')), { accountId });
    expect(problem).toMatchObject({ status: 409, code: 'ACCOUNT_DETACHED' });
    expect(problem.detail).toContain('name another account');
  });

  it('may be named among several, and is not another employer’s', async () => {
    const own = await desk.employer(2);
    const accountId = showId('acc', own.accountId);
    expect((await desk.upload(own, FILE, { accountId })).answer.accountId).toBe(accountId);
    expect(await desk.refusal(employer, FILE, { accountId })).toMatchObject({ code: 'ACCOUNT_UNKNOWN' });
  });
});

describe('an employer with a schedule', () => {
  const SUBMIT_AT = '2026-11-25T08:00:00.000Z';

  async function schedule(): Promise<string> {
    const scheduleId = newId();
    await desk.query(
      employer,
      `INSERT INTO pay_schedule (employer_id, id, account_id, kind_of_pay, when_closed, submit_days_before,
         submit_time, time_zone, first_period, created_by)
       VALUES ($1, $2, $3, 'SALARY', 'PREVIOUS', 1, '09:00', 'Europe/Madrid', '2026-11', $4)`,
      [employer.employerId, scheduleId, employer.accountId, employer.personId],
    );
    await desk.query(
      employer,
      `INSERT INTO schedule_period (employer_id, schedule_id, period, execution_date, submit_at)
       VALUES ($1, $2, '2026-11', '2026-11-26', $3)`,
      [employer.employerId, scheduleId, SUBMIT_AT],
    );
    return scheduleId;
  }

  it('takes both dates from it, and binds the run to the month', async () => {
    const scheduleId = await schedule();
    const { answer } = await desk.upload(employer, FILE, { executionDate: '' });
    expect(answer).toMatchObject({ executionDate: '2026-11-26', submitAt: SUBMIT_AT });
    const bound = await desk.query(
      employer,
      `SELECT r.schedule_id FROM schedule_period s JOIN pay_run r ON r.id = s.pay_run_id`,
    );
    expect(bound).toEqual([{ schedule_id: scheduleId }]);
  });

  it('cannot pay a month on another day', async () => {
    await schedule();
    const problem = await desk.refusal(employer, FILE, { executionDate: '2026-11-27' });
    expect(problem).toMatchObject({ status: 422, code: 'EXECUTION_DATE_NOT_SCHEDULED' });
    expect(problem.detail).toContain('2026-11-26');
  });

  it('has one run a month, answered again to the same file', async () => {
    await schedule();
    const first = await desk.upload(employer, FILE, { executionDate: '' });
    const again = await desk.upload(employer, FILE, { executionDate: '' });
    expect(again).toEqual({ answer: first.answer, replayed: true });
    const problem = await desk.refusal(employer, csv(row('E2')), { executionDate: '' });
    expect(problem).toMatchObject({
      status: 409,
      code: 'PERIOD_HAS_A_RUN',
      extra: { payRunId: first.answer.id },
    });
    expect(problem.detail).toContain(first.answer.id);
  });

  it('takes further runs of a month as supplements of its run, once that is approved', async () => {
    const scheduleId = await schedule();
    const { answer } = await desk.upload(employer, FILE, { executionDate: '' });
    const supplement = { supplementOf: answer.id };
    const refusal = await desk.refusal(employer, csv(row('E2')), { executionDate: '' });
    expect(refusal.extra['supplementOf']).toBe(answer.id);
    expect(await desk.refusal(employer, csv(row('E2')), supplement)).toMatchObject({
      status: 409,
      code: 'PARENT_NOT_APPROVED',
      message: expect.stringContaining('upload its supplement once it is approved'),
    });
    await desk.query(employer, `UPDATE pay_run SET status = 'APPROVED'`);
    expect(await desk.refusal(employer, csv(row('E2')), { ...supplement, executionDate: '' })).toMatchObject({
      code: 'EXECUTION_DATE_MISSING',
    });
    expect(
      await desk.refusal(employer, csv(row('E2')), { supplementOf: showId('run', newId()) }),
    ).toMatchObject({ status: 422, code: 'SUPPLEMENT_OF_UNKNOWN' });
    expect(await desk.refusal(employer, csv(row('E2')), { ...supplement, period: '2026-12' })).toMatchObject({
      status: 422,
      code: 'SUPPLEMENT_OF_ANOTHER_PAY',
    });
    const first = await desk.upload(employer, csv(row('E2')), supplement);
    const second = await desk.upload(employer, csv(row('E3')), supplement);
    expect([first, second].map((taken) => [taken.answer.parentRunId, taken.answer.sequence])).toEqual([
      [answer.id, 1],
      [answer.id, 2],
    ]);
    expect((await desk.upload(employer, csv(row('E3')), supplement)).replayed).toBe(true);
    const bound = await desk.query(
      employer,
      `SELECT r.schedule_id, s.pay_run_id IS NULL AS free FROM pay_run r
       LEFT JOIN schedule_period s ON s.pay_run_id = r.id ORDER BY r.sequence`,
    );
    expect(bound).toEqual([
      { schedule_id: scheduleId, free: false },
      { schedule_id: scheduleId, free: true },
      { schedule_id: scheduleId, free: true },
    ]);
  });

  it('may pay a month whose day has passed on another', async () => {
    await schedule();
    const late = desk.intake({ now: new Date('2026-11-26T15:00:01Z') });
    const problem = await desk.refusal(employer, FILE, { executionDate: '' }, late);
    expect(problem.code).toBe('CUT_OFF_PASSED');
    await expect(desk.upload(employer, FILE, { executionDate: '2026-11-27' }, late)).resolves.toBeDefined();
  });

  it('may pay a month whose day became a closed day on another', async () => {
    await schedule();
    const intake = desk.intake({ closedDays: ['2026-11-26'] });
    const problem = await desk.refusal(employer, FILE, { executionDate: '' }, intake);
    expect(problem.code).toBe('EXECUTION_DATE_NOT_A_BANKING_DAY');
    const executionDate = String(problem.extra['nextBankingDay']);
    await expect(desk.upload(employer, FILE, { executionDate }, intake)).resolves.toBeDefined();
  });

  it('makes one run of two files that come at once', async () => {
    await schedule();
    const ended = await Promise.allSettled(
      ['E1', 'E2'].map((id) => desk.upload(employer, csv(row(id)), { executionDate: '' })),
    );
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await desk.stored(employer)).runs).toBe(1);
  });

  it('is free in months the schedule does not hold, and for other kinds of pay', async () => {
    await schedule();
    await expect(desk.upload(employer, FILE, { kindOfPay: 'BONUS' })).resolves.toBeDefined();
    const december = { period: '2026-12', executionDate: '2026-12-23' };
    await expect(desk.upload(employer, FILE, december)).resolves.toBeDefined();
  });
});
