import { newId } from '../../src/database/new-id';
import { showId } from '../../src/http/prefixed-id';
import { PaySchedule } from '../../src/pay-run/pay-schedule.entity';
import { testConfig } from '../http/test-app';
import { dueAt, execute, TestDatabase, testDatabase } from '../support/database';
import { bindRun, makeSchedule, openReplica, Replica, SetClock } from './schedules';

const SUBMIT_AT = '2026-03-23T08:00:00.000Z';
const clock = new SetClock('2026-03-10T10:00:00Z');
let store: TestDatabase;
let replica: Replica;
let schedule: PaySchedule;
let id: string;

beforeEach(async () => {
  clock.set('2026-03-10T10:00:00Z');
  store = await testDatabase();
  replica = await openReplica(store.url, clock, testConfig());
  schedule = await makeSchedule(replica.database, '2026-03-10T10:00:00Z');
  await replica.maker.tick();
  id = await bindRun(replica.database, schedule.employerId, '2026-03', '2026-03-10T10:00:00Z');
  await moved('READY', 'APPROVED');
});

afterEach(async () => {
  await replica.dataSource.destroy();
  await store.drop();
});

const query = <Row>(sql: string, values: unknown[] = []) =>
  replica.database.inEmployer(schedule.employerId, (tx) => tx.query<Row>(sql, values));
const moved = async (...statuses: string[]) => {
  for (const status of statuses) await query('UPDATE pay_run SET status = $2 WHERE id = $1', [id, status]);
};
const look = async () => {
  await replica.overdue.tick();
  return query<{ kind: string; happened: string }>(
    'SELECT kind, happened FROM attention WHERE resolved_at IS NULL ORDER BY id',
  );
};
const toldSo = (held: string, ...levels: string[]) => [
  {
    kind: 'DUE_BUT_STOPPED',
    happened: `Version 1 of ${showId('run', id)}, approved at no time, is due for 2026-03-25 and ${held}: ${levels.join(', ')}.`,
  },
];
const told = (...levels: string[]) => toldSo('held back', ...levels);
const MID_RUN = 'held back in mid-run';
const INSTALLATION = 'every submit of the installation is stopped';

const breachOfAnother = async () => {
  const [other, subject] = [newId(), newId()];
  await replica.database.inEmployer(other, (tx) =>
    tx.query(`INSERT INTO employer (id, name, time_zone) VALUES ($1::uuid, $1::text, 'Europe/Paris')`, [
      other,
    ]),
  );
  await replica.database.inEmployer(other, async (tx) => {
    await tx.query(
      `UPDATE service_switch SET submits_off = true, reason = 'TOTAL_MISMATCH_AFTER_SUBMIT', changed_at = clock_timestamp()`,
    );
    await tx.query(
      `INSERT INTO service_stop (id, employer_id, kind, subject_id)
       VALUES ($1, $2, 'TOTAL_MISMATCH_AFTER_SUBMIT', $1)`,
      [subject, other],
    );
    await tx.query(
      `INSERT INTO attention (employer_id, id, kind, subject_id, happened, certain, ask_bank)
       VALUES ($2, $1, 'TOTAL_MISMATCH_AFTER_SUBMIT', $1, 'this', 'that', 'whether')`,
      [subject, other],
    );
  });
};
const resumed = () =>
  execute(
    store.superuserUrl,
    `WITH people AS (
       INSERT INTO person (id, name) SELECT gen_random_uuid(), name FROM unnest('{Tom Third,Fay Fourth}'::text[]) AS name
       RETURNING id)
     INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
     SELECT a.employer_id, gen_random_uuid(), a.id, 'RESUME', 'the bank knows', p.ids[1], p.ids[2], now()
     FROM attention a, (SELECT array_agg(id) AS ids FROM people) AS p WHERE a.kind = 'TOTAL_MISMATCH_AFTER_SUBMIT';
     UPDATE service_stop SET lifted_at = now();
     UPDATE service_switch SET submits_off = false, reason = NULL`,
  );

it("tells of an approved run that another employer's breach holds back once it is due, and nothing of the other", async () => {
  await breachOfAnother();
  expect(await look()).toEqual([]);
  clock.set(SUBMIT_AT);
  expect(await look()).toEqual(told(INSTALLATION));
  expect(await look()).toEqual(told(INSTALLATION));
  await resumed();
  expect(await look()).toEqual([]);
  expect(await query('SELECT resolution FROM attention')).toEqual([
    { resolution: 'the run is not held back any more' },
  ]);
});

it.each([['BUILDING'], ['VERIFIED']])('tells of one that is stopped while it is %s', async (status) => {
  await moved(...(status === 'BUILDING' ? ['BUILDING'] : ['BUILDING', 'VERIFIED']));
  await query(`UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a look' WHERE id = $1`, [id]);
  expect(await look()).toEqual(told('the run itself is stopped'));
});

const parts = (...statuses: string[]) =>
  execute(
    store.superuserUrl,
    `SET session_replication_role = replica; DELETE FROM instruction;
     INSERT INTO instruction (employer_id, id, pay_run_id, planned_instruction_id, attempt, status)
       SELECT employer_id, gen_random_uuid(), id, gen_random_uuid(), 1, s FROM pay_run, unnest('{${statuses.join()}}'::text[]) AS s`,
  );

it('tells of one that is stopped while it is submitted, what is certain of it, until nothing of it is left to be sent', async () => {
  await moved('BUILDING', 'VERIFIED', 'SUBMITTING');
  await parts('SUBMITTED', 'VERIFIED');
  await stopped('a look');
  expect(await certain()).toEqual([
    {
      happened: toldSo(MID_RUN, 'the run itself is stopped')[0]!.happened,
      certain: expect.stringMatching(/^What of this run was submitted before the stop .* becomes VOID/),
    },
  ]);
  await parts('SUBMITTED', 'RELEASED');
  expect(await certain()).toEqual([]);
});

it.each([[false], [true]])(
  'tells anew where more of it is left to be sent, as submits of it provably never left: acknowledged before %s',
  async (isAcknowledged) => {
    await moved('BUILDING', 'VERIFIED', 'SUBMITTING');
    await execute(
      store.superuserUrl,
      `SET session_replication_role = replica;
       INSERT INTO planned_instruction (employer_id, id, pay_run_id, run_version, ordinal, first_row, last_row, row_count, total_minor, row_hash)
         SELECT employer_id, gen_random_uuid(), id, run_version, n, n, n, 1, 100 * n, decode(repeat('00', 32), 'hex') FROM pay_run, generate_series(1, 3) AS n;
       INSERT INTO instruction (employer_id, id, pay_run_id, planned_instruction_id, attempt, status)
         SELECT employer_id, gen_random_uuid(), pay_run_id, id, 1, CASE ordinal WHEN 1 THEN 'VERIFIED' ELSE 'SUBMIT_INTENT' END
         FROM planned_instruction`,
    );
    await stopped('a look');
    const left = async () => {
      await look();
      return query(
        `SELECT payments, amount_minor FROM attention WHERE kind = 'DUE_BUT_STOPPED' AND resolved_at IS NULL`,
      );
    };
    expect(await left()).toEqual([{ payments: 1, amount_minor: '100' }]);
    if (isAcknowledged) await acknowledged();
    await execute(
      store.superuserUrl,
      `SET session_replication_role = replica; UPDATE instruction SET status = 'VERIFIED'`,
    );
    for (let n = 0; n < 2; n += 1) expect(await left()).toEqual([{ payments: 3, amount_minor: '600' }]);
    await acknowledged();
    expect(await left()).toEqual([]);
  },
);

it('tells at once of a run without a time of its own, which is due since its approval', async () => {
  await dueAt(store.superuserUrl, 'NULL');
  await breachOfAnother();
  expect(await look()).toEqual(told(INSTALLATION));
});

it('tells anew where another switch is thrown too, and closes when the run waits for a new approval', async () => {
  clock.set(SUBMIT_AT);
  await query(`UPDATE employer SET stopped_at = now(), stopped_reason = 'a look'`);
  expect(await look()).toEqual(told('the employer is stopped'));
  await breachOfAnother();
  expect(await look()).toEqual(told(INSTALLATION, 'the employer is stopped'));
  await moved('READY');
  expect((await look()).map(({ kind }) => kind)).toEqual(['PERIOD_OVERDUE']);
});

const acknowledged = async () => {
  const second = newId();
  await replica.database.outsideEmployers((tx) =>
    tx.query(`INSERT INTO person (id, name) VALUES ($1, 'Sam Second')`, [second]),
  );
  await query(
    `WITH decided AS (
       UPDATE attention SET resolved_at = now(), resolution = 'two people said so' WHERE resolved_at IS NULL RETURNING employer_id, id)
     INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by,
       confirmed_at)
     SELECT employer_id, $1, id, 'ACKNOWLEDGE', 'it is not paid today', $2, $3, now() FROM decided`,
    [newId(), schedule.createdBy, second],
  );
};

it('does not ask again what two people decided', async () => {
  clock.set(SUBMIT_AT);
  await query(`UPDATE employer SET stopped_at = now(), stopped_reason = 'a look'`);
  await look();
  await acknowledged();
  expect(await look()).toEqual([]);
});

it.each([[false], [true]])(
  'tells anew of one that was resumed and is stopped again, once some of it is submitted: acknowledged before %s',
  async (isAcknowledged) => {
    await moved('BUILDING', 'VERIFIED');
    await stopped('a look');
    expect(await look()).toEqual(told('the run itself is stopped'));
    if (isAcknowledged) await acknowledged();
    await moved('SUBMITTING');
    await parts('SUBMITTED', 'VERIFIED');
    const inMidRun = toldSo(MID_RUN, 'the run itself is stopped');
    for (let n = 0; n < 2; n += 1) expect(await look()).toEqual(inMidRun);
    expect(await certain()).toMatchObject([
      { certain: expect.stringMatching(/^What of this run was submitted/) },
    ]);
    await acknowledged();
    expect(await look()).toEqual([]);
  },
);

const goingOn = () =>
  execute(
    store.superuserUrl,
    `SET session_replication_role = replica;
     UPDATE employer SET stopped_at = NULL, stopped_reason = NULL;
     UPDATE service_stop SET lifted_at = now();
     UPDATE service_switch SET submits_off = false, reason = NULL, changed_at = now()`,
  );
const submitsOff = () =>
  query(`UPDATE service_switch SET submits_off = true, reason = 'a look', changed_at = clock_timestamp()`);

it.each([
  [
    'the employer is stopped',
    () => query(`UPDATE employer SET stopped_at = now(), stopped_reason = 'a look'`),
  ],
  [INSTALLATION, submitsOff],
  [INSTALLATION, breachOfAnother],
])(
  'tells of one that is stopped again in mid-run, though the stop before was acknowledged: %s',
  async (level, stops: () => Promise<unknown>) => {
    await moved('BUILDING', 'VERIFIED', 'SUBMITTING');
    await parts('SUBMITTED', 'VERIFIED', 'VERIFIED');
    const inMidRun = toldSo(MID_RUN, level);
    await stops();
    expect(await look()).toEqual(inMidRun);
    await acknowledged();
    expect(await look()).toEqual([]);
    await goingOn();
    await parts('SUBMITTED', 'SUBMITTED', 'VERIFIED');
    expect(await look()).toEqual([]);
    await stops();
    for (let n = 0; n < 2; n += 1) expect(await look()).toEqual(inMidRun);
    await acknowledged();
    expect(await look()).toEqual([]);
  },
);

it('does not ask again what was decided where somebody throws the switch too', async () => {
  clock.set(SUBMIT_AT);
  await breachOfAnother();
  await look();
  await acknowledged();
  await submitsOff();
  expect(await look()).toEqual([]);
  // What threw it first is decided, and it stays where it is.
  await execute(
    store.superuserUrl,
    `SET session_replication_role = replica; UPDATE service_stop SET lifted_at = now()`,
  );
  expect(await look()).toEqual([]);
});

const certain = async () => {
  await replica.overdue.tick();
  return query<{ happened: string; certain: string }>(
    `SELECT happened, certain FROM attention WHERE kind = 'DUE_BUT_STOPPED' AND resolved_at IS NULL`,
  );
};
const stopped = (reason: string) =>
  query(`UPDATE pay_run SET stopped_at = now(), stopped_reason = $2 WHERE id = $1`, [id, reason]);
const forgotten = () =>
  execute(
    store.superuserUrl,
    `INSERT INTO database_restore (id, what, told_at) VALUES (gen_random_uuid(), 'a test', now());
     INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status)
     SELECT r.employer_id, '4711', d.id, r.id, 'SETTLED' FROM pay_run r, database_restore d`,
  );

it('does not say that nothing is submitted, nor to resume it, of a run with a submit that a restored database has forgotten', async () => {
  clock.set(SUBMIT_AT);
  await stopped('a look');
  expect(await certain()).toMatchObject([
    { certain: expect.stringMatching(/^Nothing of this run is submitted\. It goes on by itself once/) },
  ]);
  await forgotten();
  expect(await certain()).toEqual([
    {
      happened: expect.stringContaining(
        'held back: the run itself is stopped, and the bank has, or may have, submits of it that are not in the record.',
      ),
      certain:
        'The bank has, or may have, submits of this run that are not in the record: it pays nobody of these again. Where the bank has them it is not resumed, but cancelled, or decided by its UNRECORDED_SUBMIT where that is asked.',
    },
  ]);
  expect(await certain()).toHaveLength(1);
});

it('says who lets a run go on of which a restore left it unclear whether it was submitted', async () => {
  clock.set(SUBMIT_AT);
  await stopped('RESTORED_UNCLEAR');
  expect(await certain()).toEqual([
    {
      happened: expect.stringContaining(
        'the run itself is stopped, as it may have been submitted or amended, or its people paid, before a restore.',
      ),
      certain:
        'A run that was forgotten with its submits may have paid its people, the bank may have submits of this run itself that are not in the record, or what is submitted of it may be of a later version than the record has. It goes on once it is certain that none of this is so, and one person then stops it and another resumes it; otherwise it is cancelled, or stays stopped where a part of it is submitted.',
    },
  ]);
  await forgotten();
  expect(await certain()).toMatchObject([{ certain: expect.stringContaining('UNRECORDED_SUBMIT') }]);
});
