import { newId } from '../../src/database/new-id';
import { showId } from '../../src/http/prefixed-id';
import { PaySchedule } from '../../src/pay-run/pay-schedule.entity';
import { testConfig } from '../http/test-app';
import { execute, testDatabase, TestDatabase } from '../support/database';
import { bindRun, makeSchedule, openReplica, Replica, SetClock } from './schedules';

/** The run is executed on 2026-03-25, and the bank takes it until 15:00 UTC. */
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
  await moved('READY', 'APPROVED', 'BUILDING');
  clock.set('2026-03-24T09:00:00Z');
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
  await replica.waiting.tick();
  return query<{ kind: string; happened: string }>(
    'SELECT kind, happened FROM attention WHERE resolved_at IS NULL ORDER BY id',
  );
};
const kinds = async () => (await look()).map(({ kind }) => kind);

/** As if the last steps of the run had failed for so long. */
const waits = (minutes: number, what = 'GET /api/distributor/v1/accounts/1: it failed') =>
  query(
    `INSERT INTO lease (subject_id, kind, employer_id, wake_at, waits_for, waits_since)
     VALUES ($1, 'RUN', $2, now(), $3, now() - make_interval(mins => $4))
     ON CONFLICT (subject_id) DO UPDATE SET waits_for = excluded.waits_for, waits_since = excluded.waits_since`,
    [id, schedule.employerId, what, minutes],
  );
const goesOn = () => query('UPDATE lease SET waits_for = NULL, waits_since = NULL');

const asked = (kind: string, happened: string) =>
  query(
    `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, happened, certain, ask_bank)
     VALUES ($1, $2, $3, $4, $4, $5, 'that', 'whether')`,
    [schedule.employerId, newId(), kind, id, happened],
  );
const acknowledged = async () => {
  const second = newId();
  await replica.database.outsideEmployers((tx) =>
    tx.query(`INSERT INTO person (id, name) VALUES ($1, 'Sam Second')`, [second]),
  );
  await query(
    `WITH decided AS (
       UPDATE attention SET resolved_at = now(), resolution = 'two people said so' WHERE resolved_at IS NULL
       RETURNING employer_id, id)
     INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by,
       confirmed_at)
     SELECT employer_id, $1, id, 'ACKNOWLEDGE', 'we know', $2, $3, now() FROM decided`,
    [newId(), schedule.createdBy, second],
  );
};

it('tells, once, of a run whose work has failed for ten minutes, by whichever process, and closes it when it gets on', async () => {
  await waits(9);
  expect(await look()).toEqual([]);
  await waits(11);
  const [told, ...others] = await look();
  expect([told?.kind, others]).toEqual(['DUE_BUT_WAITING', []]);
  expect(told?.happened).toMatch(
    /^Version 1 of run_\w+, approved at no time, is due for 2026-03-25 and has not got on since \S+Z, and is tried again and again; it failed last in GET \/api\/distributor\/v1\/accounts\/1: it failed\. The bank takes it until 2026-03-25T15:00:00\.000Z, 30 h 0 min after this was told, and what is left to be sent takes 1 min\.$/,
  );
  expect(told?.happened).toContain(showId('run', id));
  expect(await look()).toHaveLength(1);
  await goesOn();
  expect(await look()).toEqual([]);
});

it('keeps asking while another part of the run fails, though not for long yet', async () => {
  await waits(11);
  expect(await kinds()).toEqual(['DUE_BUT_WAITING']);
  await waits(1);
  expect(await kinds()).toEqual(['DUE_BUT_WAITING']);
});

it.each([
  ['waits for its place since', `UPDATE lease SET wake_at = now() - interval '2 minutes'`],
  [
    'has added payments since',
    `SET session_replication_role = replica;
     INSERT INTO instruction (employer_id, id, pay_run_id, planned_instruction_id, attempt, status)
       SELECT employer_id, gen_random_uuid(), id, gen_random_uuid(), 1, 'BUILDING' FROM pay_run;
     INSERT INTO bank_payment (employer_id, instruction_id, row_no, payment_id, add_outcome, bank_payment_id, last_seen_at)
       SELECT employer_id, id, 1, gen_random_uuid(), 'ADDED', '1', now() - interval '1 minute' FROM instruction;
     UPDATE lease SET kind = 'INSTRUCTION', subject_id = instruction.id FROM instruction`,
  ],
])('does not tell of work that failed once and %s', async (_, sql) => {
  await waits(11);
  await execute(store.superuserUrl, sql);
  expect(await look()).toEqual([]);
});

it('stands until the run ends once it is too late', async () => {
  await waits(11);
  await look();
  clock.set('2026-03-25T15:00:01Z');
  expect(await kinds()).toEqual(['DUE_BUT_WAITING']);
  await query(`UPDATE pay_run SET lapse_reason = 'too late'`);
  expect(await look()).toEqual([]);
});

it('does not ask again of an outage that was acknowledged, and does of the next', async () => {
  await waits(11);
  await look();
  await acknowledged();
  expect(await look()).toEqual([]);
  await goesOn();
  await execute(
    store.superuserUrl,
    `SET session_replication_role = replica; UPDATE attention SET opened_at = opened_at - interval '1 hour'`,
  );
  await waits(11);
  expect(await kinds()).toEqual(['DUE_BUT_WAITING']);
});

it('says that nobody at the bank can mend what fails in the service itself', async () => {
  await waits(11, 'this service: an error that its log tells');
  await look();
  expect(await query('SELECT ask_bank FROM attention')).toEqual([
    { ask_bank: 'Nothing: this is decided here.' },
  ]);
});

it.each([
  ['a switch holds it back', `UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a look'`],
  ['its approval lapsed', `UPDATE pay_run SET lapse_reason = 'too late'`],
])('asks nothing where %s, which is told otherwise', async (_, sql) => {
  await waits(11);
  await look();
  await query(sql);
  expect(await look()).toEqual([]);
});

describe('a run that is being submitted', () => {
  /** Three payments, of 10.00 each, of an instruction in each of these states. */
  const instructions = async (...statuses: string[]) => {
    await moved('VERIFIED', 'SUBMITTING');
    for (const [n, status] of statuses.entries())
      await execute(
        store.superuserUrl,
        `SET session_replication_role = replica;
         WITH planned AS (
           INSERT INTO planned_instruction (employer_id, id, pay_run_id, run_version, ordinal, first_row, last_row,
             row_count, total_minor, row_hash)
           SELECT employer_id, gen_random_uuid(), id, run_version, ${n + 1}, ${n * 3 + 1}, ${n * 3 + 3},
             3, 3000, decode(repeat('00', 32), 'hex') FROM pay_run RETURNING *)
         INSERT INTO instruction (employer_id, id, pay_run_id, planned_instruction_id, attempt, status, outcome)
         SELECT employer_id, gen_random_uuid(), pay_run_id, id, attempt, status, 'SETTLED'
         FROM planned, unnest(string_to_array('${status}', ',')) WITH ORDINALITY AS made (status, attempt)`,
      );
  };

  it('is told by what of it is not submitted: no more is held up, and of the rest nothing is said to be paid', async () => {
    await instructions(
      'SUBMITTED',
      'SUBMIT_UNKNOWN',
      'SUBMIT_INTENT',
      'RELEASED',
      'VERIFIED',
      'ABANDONED,BUILDING',
      'ABANDONED',
    );
    await waits(11);
    await look();
    expect(await query('SELECT payments, amount_minor AS amount, certain FROM attention')).toEqual([
      {
        payments: 9,
        amount: '9000',
        certain:
          'What of this run is not submitted yet waits, and is tried again by itself; what was submitted is followed, and is not sent again. What is not submitted by the cut-off becomes VOID and can be paid by a successor.',
      },
    ]);
  });

  it('is not said to be unsubmitted as a whole where it stands still and time is nearly over', async () => {
    await instructions('SUBMITTED', 'VERIFIED');
    clock.set('2026-03-25T14:10:00Z');
    expect(await look()).toMatchObject([
      { happened: expect.stringMatching(/is not submitted in full yet, though/) },
    ]);
  });
});

describe('a run that gets to the bank', () => {
  /** Of its 100 payments so many have, one every so many seconds, until a moment ago. */
  const added = (count: number, seconds: number) =>
    execute(
      store.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE pay_run SET row_count = 100;
       INSERT INTO instruction (employer_id, id, pay_run_id, planned_instruction_id, attempt, status)
         SELECT employer_id, gen_random_uuid(), id, gen_random_uuid(), 1, 'BUILDING' FROM pay_run;
       INSERT INTO bank_payment (employer_id, instruction_id, row_no, payment_id, add_outcome, bank_payment_id, last_seen_at)
         SELECT employer_id, id, n, gen_random_uuid(), 'ADDED', n::text, now() - make_interval(secs => n * ${seconds})
         FROM instruction, generate_series(1, ${count}) AS n`,
    );

  it.each([
    ['at a pace that is too slow', 40, 120, '2026-03-25T13:30:00Z', 1],
    ['at one that will do', 40, 120, '2026-03-25T12:30:00Z', 0],
    ['since a moment ago', 4, 60, '2026-03-25T13:30:00Z', 0],
    ['and has got there', 100, 120, '2026-03-25T13:30:00Z', 0],
  ])('%s is told of as long as that will not do', async (_, count, seconds, at, told) => {
    await added(count, seconds);
    clock.set(at);
    expect(await kinds()).toEqual(Array(told).fill('DUE_BUT_WAITING'));
  });

  it('too slowly says at which pace, what the bank is asked, and is not told of again once it is acknowledged', async () => {
    await added(40, 120);
    clock.set('2026-03-25T13:30:00Z');
    const [told] = await look();
    expect(told?.happened).toMatch(
      /is due for 2026-03-25 and gets to the bank too slowly: it took 4 payments in the last 8 min, and 60 are left\. The bank takes it until 2026-03-25T15:00:00\.000Z, 1 h 30 min after this was told, and what is left to be sent takes 2 h 0 min\.$/,
    );
    expect(await query('SELECT ask_bank FROM attention')).toEqual([
      { ask_bank: expect.stringMatching(/^How many requests/) },
    ]);
    await acknowledged();
    expect(await look()).toEqual([]);
    await execute(
      store.superuserUrl,
      `UPDATE bank_payment SET last_seen_at = last_seen_at - interval '20 s'`,
    );
    expect(await look()).toEqual([]);
  });
});

describe('an hour before it would be too late', () => {
  const TOLD = /is not submitted in full yet, though the time for that is nearly over: /;
  beforeEach(() => clock.set('2026-03-25T14:10:00Z'));

  it('people hear of a run that stands still though nobody is asked about it', async () => {
    clock.set('2026-03-25T13:00:00Z');
    expect(await look()).toEqual([]);
    clock.set('2026-03-25T14:10:00Z');
    const told = await look();
    expect(told).toMatchObject([
      { kind: 'DUE_BUT_WAITING', happened: expect.stringMatching(/: nothing says what it waits for\./) },
    ]);
    expect(told[0]?.happened).toMatch(/50 min after this was told/);
    await acknowledged();
    expect(await look()).toEqual([]);
  });

  it('they hear once more of what they acknowledged, such as an account that was never probed', async () => {
    await asked('ACCOUNT_UNUSABLE', 'the run waits for its account, which is not ready: probe again.');
    expect(await kinds()).toEqual(['ACCOUNT_UNUSABLE']);
    await acknowledged();
    const told = await look();
    expect(told).toMatchObject([{ kind: 'DUE_BUT_WAITING', happened: expect.stringMatching(TOLD) }]);
    expect(told[0]?.happened).toMatch(/ACCOUNT_UNUSABLE was acknowledged.*not ready: probe again/);
    await moved('VERIFIED', 'SUBMITTING');
    expect(await look()).toEqual([]);
  });

  it.each([
    ['how an attempt that was given up differed', 'ECHO_MISMATCH', 'ABANDONED', 'a name differs'],
    ['what was foreign in one that was given up', 'FOREIGN_RECORD', 'ABANDONED', 'a payment is foreign'],
    ['why a successor was refused', 'REPLACED_UNSEEN', 'ABANDONED', 'A successor of the run would pay again'],
    [
      'what the bank wants to be done to what was sent',
      'BANK_ACTION_REQUIRED',
      'SUBMITTED',
      'a person must sign',
    ],
    ['what a status of what was sent means', 'UNKNOWN_STATUS', 'SUBMITTED', 'PRO_MANUAL_REVIEW'],
    ['whether a submit arrived', 'SUBMIT_UNKNOWN', 'SUBMIT_UNKNOWN', 'there was no answer'],
    ['why a submit was refused', 'SUBMIT_REFUSED', 'SUBMIT_REFUSED', 'it was refused'],
    ['what the bank ended', 'ENDED_BY_BANK', 'SUBMITTED', 'it shows it as cancelled'],
  ])('they hear of a run of which nothing is asked but %s', async (_, kind, status, happened) => {
    await asked(kind, happened);
    await execute(
      store.superuserUrl,
      `SET session_replication_role = replica;
       INSERT INTO instruction (employer_id, id, pay_run_id, planned_instruction_id, attempt, status)
         SELECT employer_id, gen_random_uuid(), id, gen_random_uuid(), 1, '${status}' FROM pay_run;
       UPDATE attention SET instruction_id = instruction.id, subject_id = instruction.id FROM instruction
         WHERE kind <> 'REPLACED_UNSEEN'`,
    );
    expect(await look()).toMatchObject([{ kind }, { happened: expect.stringMatching(TOLD) }]);
  });

  /** It is asked about a planned instruction whose last attempt was given up. */
  const askedOfPlan = async (kind: string, happened: string) => {
    await asked(kind, happened);
    await execute(
      store.superuserUrl,
      `SET session_replication_role = replica;
       INSERT INTO instruction (employer_id, id, pay_run_id, planned_instruction_id, attempt, status)
         SELECT employer_id, gen_random_uuid(), id, gen_random_uuid(), 3, 'ABANDONED' FROM pay_run;
       UPDATE attention SET instruction_id = instruction.id, subject_id = instruction.planned_instruction_id
         FROM instruction`,
    );
  };

  it('they hear nothing while it is asked whether to build once more what was given up too often', async () => {
    await askedOfPlan('REBUILD_LIMIT', 'it was given up three times');
    expect(await kinds()).toEqual(['REBUILD_LIMIT']);
  });

  it.each(['ECHO_MISMATCH', 'FOREIGN_RECORD'])(
    'they hear of a run of which nothing is asked but how its attempts differed (%s)',
    async (kind) => {
      await askedOfPlan(kind, 'row 3 differs in iban');
      expect(await look()).toMatchObject([{ kind }, { happened: expect.stringMatching(TOLD) }]);
    },
  );

  it('they hear nothing while it is asked how what is being built differs', async () => {
    await asked('ECHO_MISMATCH', 'a name differs');
    expect(await kinds()).toEqual(['ECHO_MISMATCH']);
  });

  it('they hear once more of an outage that they acknowledged', async () => {
    clock.set('2026-03-25T09:00:00Z');
    await waits(11);
    await look();
    await acknowledged();
    expect(await look()).toEqual([]);
    clock.set('2026-03-25T14:10:00Z');
    expect(await look()).toMatchObject([{ happened: expect.stringMatching(TOLD) }]);
  });

  it.each([
    [
      'that is not due yet',
      `SET session_replication_role = replica; UPDATE pay_run SET submit_at = '2026-03-25T14:30:00Z'`,
    ],
    [
      'that moved a moment ago',
      `INSERT INTO state_change (employer_id, seq, subject, subject_id, pay_run_id, from_status, to_status, actor)
       SELECT employer_id, 1000, 'pay_run', id, id, 'APPROVED', 'BUILDING', 'service' FROM pay_run`,
    ],
    ['that a switch holds back', `UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a look'`],
  ])('they hear nothing of one %s', async (_, sql) => {
    await execute(store.superuserUrl, sql);
    expect(await look()).toEqual([]);
  });
});
