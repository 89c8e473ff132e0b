import { newId } from '../../src/database/new-id';
import { showId } from '../../src/http/prefixed-id';
import { clear, raise } from '../../src/pay-run/attention.store';
import { PaySchedule } from '../../src/pay-run/pay-schedule.entity';
import { testConfig } from '../http/test-app';
import { testDatabase, TestDatabase } from '../support/database';
import { bindRun, makeSchedule, openReplica, Replica, SetClock } from './schedules';

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
const open = async () =>
  (
    await query<{ happened: string }>(
      `SELECT happened FROM attention WHERE kind = 'PERIOD_OVERDUE' AND resolved_at IS NULL ORDER BY id`,
    )
  ).map(({ happened }) => happened);
const due = (period: string, at: string, missing: string) =>
  `The run of period ${period} was to be submitted at ${at}, and ${missing}.`;
const moved = (payRunId: string, status: string) =>
  query('UPDATE pay_run SET status = $2 WHERE id = $1', [payRunId, status]);
const bound = async () => {
  const id = await bindRun(one.database, schedule.employerId, '2026-03');
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
  const unapproved = [due('2026-03', MARCH_DUE, `${showId('run', id)} is not approved`)];
  expect([await look(), await look()]).toEqual([unapproved, unapproved]);
  await moved(id, 'APPROVED');
  expect(await look()).toEqual([]);
  expect(await query('SELECT resolution, pay_run_id FROM attention ORDER BY id')).toEqual([
    { resolution: 'the period is not overdue any more', pay_run_id: null },
    { resolution: 'the period is not overdue any more', pay_run_id: id },
  ]);
});

it('tells of each month by itself', async () => {
  clock.set('2026-04-22T07:00:00Z');
  expect(await look()).toEqual([
    due('2026-03', MARCH_DUE, 'there is none'),
    due('2026-04', '2026-04-22T07:00:00.000Z', 'there is none'),
  ]);
  const id = await bound();
  await moved(id, 'APPROVED');
  expect(await look()).toEqual([due('2026-04', '2026-04-22T07:00:00.000Z', 'there is none')]);
});

it('does not ask again what two people decided', async () => {
  clock.set(MARCH_DUE);
  await look();
  await query(
    `WITH decided AS (
       UPDATE attention SET resolved_at = now(), resolution = 'two people said so' RETURNING employer_id, id)
     INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by,
       confirmed_at)
     SELECT employer_id, $1, id, 'ACKNOWLEDGE', 'nobody is paid in March', $2, $3, now() FROM decided`,
    [newId(), schedule.createdBy, await person()],
  );
  expect(await look()).toEqual([]);
});

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

async function person(): Promise<string> {
  const id = newId();
  await one.database.outsideEmployers((tx) =>
    tx.query(`INSERT INTO person (id, name) VALUES ($1, 'Sam Second')`, [id]),
  );
  return id;
}
