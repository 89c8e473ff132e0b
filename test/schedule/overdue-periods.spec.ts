import { Logger } from '@nestjs/common';
import { newId } from '../../src/database/new-id';
import { showId } from '../../src/http/prefixed-id';
import { clear, raise } from '../../src/pay-run/attention.store';
import { PaySchedule } from '../../src/pay-run/pay-schedule.entity';
import { testConfig } from '../http/test-app';
import { dueAt, execute, TestDatabase, testDatabase } from '../support/database';
import { bindRun, makeSchedule, openReplica, periodsOf, Replica, SetClock } from './schedules';

const MARCH_DUE = '2026-03-23T08:00:00.000Z';
const clock = new SetClock('2026-03-10T10:00:00Z');
let store: TestDatabase;
let one: Replica;
let other: Replica;
let schedule: PaySchedule;

beforeEach(async () => {
  clock.set('2026-03-10T10:00:00Z');
  store = await testDatabase();
  one = await openReplica(store.url, clock, testConfig());
  other = await openReplica(store.url, clock, testConfig());
  schedule = await makeSchedule(one.database, '2026-03-10T10:00:00Z');
  await one.maker.tick();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await one.dataSource.destroy();
  await other.dataSource.destroy();
  await store.drop();
});

const query = <Row>(sql: string, values: unknown[] = []) =>
  one.database.inEmployer(schedule.employerId, (tx) => tx.query<Row>(sql, values));
const look = async () => {
  await Promise.all([one.overdue.tick(), other.overdue.tick()]);
  return open();
};
/** As the list of the schedule's periods says it. */
const isOverdue = async (period: string) => {
  const months = await periodsOf(one.database, schedule);
  const overdue = await one.database.inEmployer(schedule.employerId, (tx) =>
    one.overdue.among(tx, schedule, months),
  );
  return new Set<string>(overdue).has(period);
};
const open = async () =>
  (
    await query<{ happened: string }>(
      `SELECT happened FROM attention WHERE kind = 'PERIOD_OVERDUE' AND resolved_at IS NULL ORDER BY id`,
    )
  ).map(({ happened }) => happened);
/** To be executed on the 25th, or the day that is said. */
const due = (period: string, at: string, missing: string, on = `${period}-25`) =>
  `${theRun('SALARY', period)} was to be submitted at ${at}, to be executed on ${on}, and ${missing}.`;
const theRun = (kindOfPay: string, period: string) =>
  `The ${kindOfPay} run of period ${period} from account ${showId('acc', schedule.accountId)}`;
const notApproved = (id: string, version = 1) => `version ${version} of ${showId('run', id)} is not approved`;
const moved = (payRunId: string, status: string) =>
  query('UPDATE pay_run SET status = $2 WHERE id = $1', [payRunId, status]);
/** A run of March, made at ten on the tenth unless it is said when. */
const bound = async (madeAt = '2026-03-10T10:00:00Z') => {
  const id = await bindRun(one.database, schedule.employerId, '2026-03', madeAt);
  await moved(id, 'READY');
  return id;
};

it('tells once that no run is there when its submit is due, and then that it is not approved', async () => {
  clock.set('2026-03-23T07:59:59Z');
  expect(await look()).toEqual([]);
  clock.set(MARCH_DUE);
  const missing = [due('2026-03', MARCH_DUE, 'there is none')];
  expect([await look(), await look()]).toEqual([missing, missing]);
  const id = await bound();
  const unapproved = [due('2026-03', MARCH_DUE, notApproved(id))];
  expect([await look(), await look()]).toEqual([unapproved, unapproved]);
  await moved(id, 'APPROVED');
  expect(await look()).toEqual([]);
  expect(await query('SELECT resolution, pay_run_id FROM attention ORDER BY id')).toEqual([
    { resolution: 'the period is not overdue any more', pay_run_id: null },
    { resolution: 'the period is not overdue any more', pay_run_id: id },
  ]);
});

it('tells of a run that people amended, and that the bank does not let be taken back for long', async () => {
  const id = await bound();
  await moved(id, 'APPROVED');
  await moved(id, 'BUILDING');
  clock.set(MARCH_DUE);
  const amend = (at: string) =>
    query(
      `INSERT INTO amendment (employer_id, id, pay_run_id, reason, proposed_by, proposed_at)
       SELECT employer_id, id, id, 'it names one too many', (SELECT id FROM person LIMIT 1), $2 FROM pay_run WHERE id = $1`,
      [id, at],
    );
  await amend('2026-03-23T07:51:00Z');
  expect(await look()).toEqual([]);
  clock.set('2026-03-23T08:01:00Z');
  expect(await look()).toEqual([due('2026-03', MARCH_DUE, notApproved(id))]);
  await query('UPDATE amendment SET applied_as_version = 2');
  expect(await look()).toEqual([]);
});

it('asks nothing of a month that a run of former terms pays already', async () => {
  const id = await bound();
  await moved(id, 'APPROVED');
  await query('UPDATE schedule_period SET pay_run_id = NULL');
  clock.set(MARCH_DUE);
  expect(await look()).toEqual([]);
  expect(await isOverdue('2026-03')).toBe(false);
  await moved(id, 'CANCELLING');
  expect(await look()).toEqual([due('2026-03', MARCH_DUE, 'there is none')]);
});

describe('a month of which a run is there that may not have paid it', () => {
  const reached = ['READY', 'APPROVED', 'BUILDING', 'VERIFIED', 'SUBMITTING', 'FOLLOWING'];
  /** A run of no schedule, as one that was made before the month was, of so many payments. */
  const madeBefore = async (rows: number, ...statuses: string[]) => {
    const id = newId();
    await query(
      `INSERT INTO pay_run (employer_id, id, account_id, period, kind_of_pay, execution_date, status, row_count,
         total_minor, currency, created_by, created_at)
       SELECT employer_id, $1, account_id, '2026-03', kind_of_pay, '2026-02-27', 'DRAFT', $2, 100, 'EUR', created_by,
         '2026-02-20T10:00:00Z' FROM pay_schedule`,
      [id, rows],
    );
    for (const status of statuses) await moved(id, status);
    return id;
  };

  it('is told as overdue where that run paid nobody, be it of its schedule or not', async () => {
    const before = await madeBefore(1, ...reached, 'FAILED');
    clock.set(MARCH_DUE);
    expect(await look()).toEqual([
      due('2026-03', MARCH_DUE, `there is none: ${showId('run', before)} paid nobody`),
    ]);
    expect(await isOverdue('2026-03')).toBe(true);
    const id = await bound();
    for (const status of reached.slice(1)) await moved(id, status);
    expect([await look(), await isOverdue('2026-03')]).toEqual([[], false]);
    await moved(id, 'FAILED');
    expect(await look()).toEqual([
      due('2026-03', MARCH_DUE, `there is none: ${showId('run', id)} paid nobody`),
    ]);
    expect(await isOverdue('2026-03')).toBe(true);
    expect(await query('SELECT certain FROM attention WHERE resolved_at IS NULL')).toEqual([
      { certain: expect.stringMatching(/^Nobody of this month is paid by the run that is named/) },
    ]);
    await query(
      `INSERT INTO pay_run (employer_id, id, account_id, period, kind_of_pay, execution_date, status, schedule_id,
         sequence, parent_run_id, row_count, total_minor, currency, created_by)
       SELECT employer_id, $2, account_id, period, kind_of_pay, '2026-03-26', 'DRAFT', schedule_id, 1, id, 1, 1, 'EUR',
         created_by FROM pay_run WHERE id = $1`,
      [id, newId()],
    );
    expect([await look(), await isOverdue('2026-03')]).toEqual([[], false]);
  });

  it('is told once, with that run and its payments, where it is of no schedule, until two people say so', async () => {
    const id = await madeBefore(1, ...reached, 'SETTLED');
    clock.set(MARCH_DUE);
    const told = [
      due(
        '2026-03',
        MARCH_DUE,
        `${showId('run', id)} of 1 payments is of this month; no run of its schedule is there`,
      ),
    ];
    expect([await look(), await look()]).toEqual([told, told]);
    expect(await query('SELECT certain FROM attention')).toEqual([
      { certain: expect.stringMatching(/^The schedule sends nothing of this month by itself\./) },
    ]);
    await decided();
    expect(await look()).toEqual([]);
  });

  it('is closed once the run of the schedule is there', async () => {
    await madeBefore(1, ...reached, 'SETTLED');
    clock.set(MARCH_DUE);
    expect(await look()).toHaveLength(1);
    await moved(await bound(), 'APPROVED');
    expect(await look()).toEqual([]);
  });
});

it("is left to replicas whose clock is the database's", async () => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
  const late = await openReplica(store.url, new SetClock('2026-03-23T07:00:00Z'), testConfig());
  clock.set(MARCH_DUE);
  const told = await look();
  expect(told).toHaveLength(1);
  const real = Date.now;
  const off = jest.spyOn(Date, 'now').mockImplementation(() => real() - 3_600_000);
  await late.overdue.tick();
  expect(await open()).toEqual(told);
  off.mockRestore();
  await late.overdue.tick();
  expect(await open()).toEqual([]);
  await late.dataSource.destroy();
});

it('tells of each month by itself', async () => {
  clock.set('2026-04-22T07:00:00Z');
  expect(await look()).toEqual([
    due('2026-03', MARCH_DUE, 'there is none'),
    due('2026-04', '2026-04-22T07:00:00.000Z', 'there is none', '2026-04-24'),
  ]);
  const id = await bound();
  await moved(id, 'APPROVED');
  expect(await look()).toEqual([due('2026-04', '2026-04-22T07:00:00.000Z', 'there is none', '2026-04-24')]);
});

it('does not ask again what two people decided', async () => {
  clock.set(MARCH_DUE);
  await look();
  await decided();
  expect(await look()).toEqual([]);
});

it('asks again of a month that had a run meanwhile, and of a run that was approved meanwhile', async () => {
  clock.set(MARCH_DUE);
  await look();
  await decided();
  const id = await bound();
  await look();
  await decided();
  await execute(
    store.superuserUrl,
    `SET session_replication_role = replica;
     INSERT INTO approval (employer_id, id, pay_run_id, run_version, approver_id, prepared_by, root_hash, voided_at,
       voided_reason)
     SELECT employer_id, '${newId()}', id, 1, '${await person()}', created_by, decode(repeat('00', 32), 'hex'),
       '2026-03-23T09:00:00Z', 'a look first' FROM pay_run`,
  );
  expect(await look()).toEqual([
    expect.stringMatching(/its approvals were taken back at 2026-03-23T09:00:00.000Z\.$/),
  ]);
  for (const status of ['CANCELLING', 'CANCELLED']) await moved(id, status);
  await query('UPDATE schedule_period SET pay_run_id = NULL WHERE pay_run_id = $1', [id]);
  expect(await look()).toEqual([
    due('2026-03', MARCH_DUE, `there is none: ${showId('run', id)} was cancelled`),
  ]);
});

async function decided(): Promise<void> {
  await query(
    `WITH decided AS (
       UPDATE attention SET resolved_at = now(), resolution = 'two people said so' WHERE resolved_at IS NULL RETURNING employer_id, id)
     INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by,
       confirmed_at)
     SELECT employer_id, $1, id, 'ACKNOWLEDGE', 'nobody is paid in March', $2, $3, now() FROM decided`,
    [newId(), schedule.createdBy, await person()],
  );
}

it('leaves it to the attention of a lapsed approval while that is open', async () => {
  const id = await bound();
  clock.set(MARCH_DUE);
  const lapsed = { kind: 'APPROVAL_LAPSED', subjectId: id, payRunId: id, happened: 'a test' } as const;
  await one.database.inEmployer(schedule.employerId, (tx) => raise(tx, lapsed));
  expect(await look()).toEqual([]);
  await one.database.inEmployer(schedule.employerId, (tx) => clear(tx, ['APPROVAL_LAPSED'], id, 'seen'));
  expect(await look()).toHaveLength(1);
});

it('tells of no month that was due before its schedule was made, or long ago', async () => {
  await query('UPDATE pay_schedule SET created_at = $1', [MARCH_DUE]);
  clock.set('2026-03-24T10:00:00Z');
  expect(await look()).toEqual([]);
  clock.set('2026-05-24T10:00:00Z');
  expect(await look()).toEqual([due('2026-05', '2026-05-21T07:00:00.000Z', 'there is none')]);
  clock.set('2026-06-21T07:00:00Z');
  expect(await look()).toHaveLength(1);
});

it('tells of a run that was uploaded after its month was due, also where the schedule is younger', async () => {
  await query('UPDATE pay_schedule SET created_at = $1', ['2026-03-23T09:00:00Z']);
  const { execution_date: day } = (
    await query<{ execution_date: string }>(
      `SELECT execution_date::text AS execution_date FROM schedule_period WHERE period = '2026-03'`,
    )
  )[0]!;
  const id = await bound('2026-03-23T09:00:00Z');
  const begins = new Date(Date.parse(`${day}T00:00:00Z`) - 3_600_000).toISOString();
  clock.set(new Date(Date.parse(begins) - 1).toISOString());
  expect(await look()).toEqual([]);
  clock.set(begins);
  expect(await look()).toEqual([due('2026-03', MARCH_DUE, notApproved(id))]);
});

it('asks anew of a run that two people acknowledged and that was amended to a later date', async () => {
  const id = await bound();
  clock.set(MARCH_DUE);
  expect(await look()).toHaveLength(1);
  await decided();
  expect(await look()).toEqual([]);
  await secondVersion(id, '2026-03-23T12:00:00Z', '2026-04-09');
  clock.set('2026-04-08T21:59:59Z');
  expect(await look()).toEqual([]);
  clock.set('2026-04-08T22:00:00Z');
  expect(await look()).toEqual([due('2026-03', MARCH_DUE, notApproved(id, 2), '2026-04-09')]);
});

it('asks anew of a run that two people acknowledged and that was amended on its day', async () => {
  const id = await bound();
  clock.set(MARCH_DUE);
  expect(await look()).toHaveLength(1);
  await decided();
  await secondVersion(id, '2026-03-25T08:00:00Z', '2026-03-25');
  clock.set('2026-03-25T08:59:59Z');
  expect(await look()).toEqual([]);
  clock.set('2026-03-25T09:00:00Z');
  expect(await look()).toEqual([due('2026-03', MARCH_DUE, notApproved(id, 2))]);
});

async function secondVersion(id: string, madeAt: string, executionDate: string): Promise<void> {
  await execute(
    store.superuserUrl,
    `INSERT INTO pay_run_version (employer_id, pay_run_id, run_version, root_hash, row_count, total_minor,
       execution_date, prepared_by, reason, created_at)
     SELECT employer_id, id, 2, decode(repeat('00', 32), 'hex'), 0, 0, $3, created_by, 'later', $2
     FROM pay_run WHERE id = $1`,
    [id, madeAt, executionDate],
  );
  await query(`UPDATE pay_run SET run_version = 2, execution_date = $2 WHERE id = $1`, [id, executionDate]);
}

it('says which pay lacks its run, and nothing of the other pay of the month', async () => {
  await query(
    `INSERT INTO pay_schedule SELECT (jsonb_populate_record(s, jsonb_build_object('id', $1::uuid, 'kind_of_pay', 'BONUS'))).*
     FROM pay_schedule s`,
    [newId()],
  );
  await one.maker.tick();
  const id = await bindRun(one.database, schedule.employerId, '2026-03', '2026-03-10T10:00:00Z', 'SALARY');
  for (const status of ['READY', 'APPROVED', 'BUILDING', 'VERIFIED', 'SUBMITTING', 'FOLLOWING', 'SETTLED'])
    await moved(id, status);
  clock.set(MARCH_DUE);
  const bonus = `${theRun('BONUS', '2026-03')} was to be submitted at ${MARCH_DUE}, to be executed on 2026-03-25`;
  expect(await look()).toEqual([`${bonus}, and there is none.`]);
  expect(await query(`SELECT certain FROM attention`)).toEqual([
    { certain: expect.stringMatching(/^No run of this month of the schedule is submitted\./) },
  ]);
});

it('tells of a month whose run is being cancelled, which the bank holds up', async () => {
  const id = await bound();
  clock.set(MARCH_DUE);
  expect(await look()).toEqual([due('2026-03', MARCH_DUE, notApproved(id))]);
  await moved(id, 'CANCELLING');
  await look();
  expect(await look()).toEqual([
    due(
      '2026-03',
      MARCH_DUE,
      `${showId('run', id)} is being cancelled, which ends once the bank has shown what became of it`,
    ),
  ]);
  expect(await query('SELECT certain FROM attention WHERE resolved_at IS NULL')).toEqual([
    { certain: expect.stringMatching(/^Nothing more of this run is sent\..* once it is CANCELLED/) },
  ]);
  expect(await isOverdue('2026-03')).toBe(true);
});

it.each(['2026-03-20T08:00:00.000Z', '2026-03-25T09:00:00.000Z'])(
  'goes by the time of the run where people gave another than that of the schedule: %s',
  async (at) => {
    const id = await bound();
    await dueAt(store.superuserUrl, `'${at}'`, id);
    const before = new Date(new Date(at).getTime() - 1_000).toISOString();
    clock.set(before);
    expect([await look(), await isOverdue('2026-03')]).toEqual([[], false]);
    clock.set(at);
    expect(await look()).toEqual([due('2026-03', at, notApproved(id))]);
    expect(await isOverdue('2026-03')).toBe(true);
  },
);

it('is told of by the cut-off where the time of the run lies behind that', async () => {
  const id = await bound();
  const [cutOff, at] = ['2026-03-25T13:00:00.000Z', '2026-03-25T14:00:00.000Z'];
  await dueAt(store.superuserUrl, `'${at}'`, id);
  const earlier = await openReplica(store.url, clock, { ...testConfig(), BANK_CUT_OFF: '14:00' });
  const lookEarlier = () => earlier.overdue.tick().then(open);
  clock.set(new Date(Date.parse(cutOff) - 1).toISOString());
  expect(await lookEarlier()).toEqual([]);
  clock.set(cutOff);
  expect(await lookEarlier()).toEqual([due('2026-03', at, notApproved(id))]);
  const listed = await earlier.database.inEmployer(schedule.employerId, async (tx) =>
    earlier.overdue.among(tx, schedule, await periodsOf(one.database, schedule)),
  );
  expect([...listed]).toEqual(['2026-03']);
  await earlier.dataSource.destroy();
});

it('is told of by the cut-off where a month without a run was to be submitted after that', async () => {
  const [cutOff, at] = ['2026-03-23T13:00:00.000Z', '2026-03-23T14:30:00.000Z'];
  await query(
    `UPDATE schedule_period SET execution_date = '2026-03-23', submit_at = $1 WHERE period = '2026-03'`,
    [at],
  );
  const earlier = await openReplica(store.url, clock, { ...testConfig(), BANK_CUT_OFF: '14:00' });
  const lookEarlier = () => earlier.overdue.tick().then(open);
  const listed = async () => {
    const months = await periodsOf(one.database, schedule);
    return [
      ...(await earlier.database.inEmployer(schedule.employerId, (tx) =>
        earlier.overdue.among(tx, schedule, months),
      )),
    ];
  };
  clock.set(new Date(Date.parse(cutOff) - 1).toISOString());
  expect([await lookEarlier(), await listed()]).toEqual([[], []]);
  clock.set(cutOff);
  const missing = [due('2026-03', at, 'there is none', '2026-03-23')];
  expect([await lookEarlier(), await listed()]).toEqual([missing, ['2026-03']]);
  await earlier.dataSource.destroy();
});

describe('a run of no schedule', () => {
  /** Made at ten on the tenth, to be executed on the 25th. */
  const unscheduled = async (submitAt: string | null, executionDate = '2026-03-25') => {
    const id = newId();
    await query(
      `INSERT INTO pay_run (employer_id, id, account_id, period, kind_of_pay, execution_date, submit_at, status,
         row_count, total_minor, currency, created_by, created_at)
       SELECT employer_id, $1, account_id, '2026-03', 'BONUS', $2, $3, 'DRAFT', 2, 300, 'EUR', created_by, $4
       FROM pay_schedule`,
      [id, executionDate, submitAt, '2026-03-10T10:00:00Z'],
    );
    await moved(id, 'READY');
    return id;
  };
  beforeEach(() => query('UPDATE pay_schedule SET active = false'));

  it.each([
    ['at its submit', '2026-03-20T08:00:00.000Z', '2026-03-25', '2026-03-20T08:00:00.000Z'],
    ['an hour after it was made on its day', null, '2026-03-10', '2026-03-10T11:00:00.000Z'],
    ['when its execution date begins', null, '2026-03-25', '2026-03-24T23:00:00.000Z'],
    [
      'an hour after it was made, after its submit',
      '2026-03-10T09:00:00.000Z',
      '2026-03-10',
      '2026-03-10T11:00:00.000Z',
    ],
    [
      'when its execution date begins, made after its submit',
      '2026-03-10T09:00:00.000Z',
      '2026-03-25',
      '2026-03-24T23:00:00.000Z',
    ],
  ])('is told once as not approved, with its own submit: %s', async (_when, submitAt, executionDate, at) => {
    const id = await unscheduled(submitAt, executionDate);
    clock.set(new Date(Date.parse(at) - 1).toISOString());
    expect(await look()).toEqual([]);
    clock.set(at);
    const planned = submitAt === null ? 'is' : `was to be submitted at ${submitAt},`;
    const told = [
      `${theRun('BONUS', '2026-03')} ${planned} to be executed on ${executionDate}, and ${notApproved(id)}.`,
    ];
    expect([await look(), await look()]).toEqual([told, told]);
    expect(await query('SELECT payments, certain FROM attention')).toEqual([
      { payments: 2, certain: expect.stringMatching(/^Nothing of this run is submitted/) },
    ]);
    await moved(id, 'APPROVED');
    expect(await look()).toEqual([]);
  });

  it('is told of no more once it is cancelled, or a month later', async () => {
    const id = await unscheduled('2026-03-20T08:00:00Z');
    clock.set('2026-04-24T10:00:00Z');
    expect(await look()).toEqual([]);
    clock.set('2026-03-21T10:00:00Z');
    expect(await look()).toHaveLength(1);
    await moved(id, 'CANCELLING');
    expect(await look()).toEqual([]);
  });
});

async function person(): Promise<string> {
  const id = newId();
  await one.database.outsideEmployers((tx) =>
    tx.query(`INSERT INTO person (id, name) VALUES ($1, 'Sam Second')`, [id]),
  );
  return id;
}
