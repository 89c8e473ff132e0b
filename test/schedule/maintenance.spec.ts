import { Logger } from '@nestjs/common';
import { ClockWatch } from '../../src/database/clock-watch';
import { PersonalData } from '../../src/database/personal-data';
import { IdempotencyKeys } from '../../src/identity/idempotency-keys';
import { Maintenance } from '../../src/schedule/maintenance';
import { testConfig } from '../http/test-app';
import { execute, testDatabase, TestDatabase } from '../support/database';
import { makeEmployerWithAccount, openReplica, Replica, SetClock } from './schedules';

const clock = new SetClock('2026-12-01T00:00:00Z');
let store: TestDatabase;
let replica: Replica;
let maintenance: Maintenance;

beforeAll(async () => {
  store = await testDatabase();
  replica = await openReplica(store.url, clock, testConfig());
  const keys = new IdempotencyKeys(replica.database, new PersonalData(testConfig()));
  maintenance = new Maintenance(replica.database, keys, clock, new ClockWatch(replica.database));
});

afterAll(async () => {
  await replica.dataSource.destroy();
  await store.drop();
});

async function monthlyPartitions(): Promise<string[]> {
  const rows = await replica.database.outsideEmployers((tx) =>
    tx.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits
       WHERE inhparent = 'state_change'::regclass AND inhrelid::regclass::text ~ '[0-9]{6}$' ORDER BY 1`,
    ),
  );
  return rows.map(({ name }) => name);
}

it('makes the partitions that are missing of this month and the next two, as the application’s role', async () => {
  const before = await monthlyPartitions();
  expect(before.length).toBeGreaterThanOrEqual(3);
  await execute(store.superuserUrl, `DROP TABLE ${before.slice(0, 3).join(', ')}`);
  expect(await maintenance.ensurePartitions()).toBe(3);
  expect(await monthlyPartitions()).toEqual(before);
});

it('makes each partition once, however many ask at the same time', async () => {
  const [first = ''] = await monthlyPartitions();
  await execute(store.superuserUrl, `DROP TABLE ${first}`);
  const made = await Promise.all([1, 2, 3, 4].map(() => maintenance.ensurePartitions()));
  expect(made.sort()).toEqual([0, 0, 0, 1]);
});

it('forgets the idempotency keys of every employer after thirty days, and no younger ones', async () => {
  for (const name of ['one', 'other']) {
    const { employerId, personId } = await makeEmployerWithAccount(replica.database);
    await replica.database.inEmployer(employerId, (tx) =>
      tx.query(
        `INSERT INTO idempotency_key (employer_id, person_id, key, fingerprint, created_at)
         SELECT $1, $2, $3 || age, sha256('x'), timestamptz '2026-12-01T00:00:00Z' - age
         FROM unnest(ARRAY[interval '31 days', interval '29 days']) AS age`,
        [employerId, personId, name],
      ),
    );
  }
  expect(await maintenance.forgetIdempotencyKeys()).toBe(2);
  expect(await maintenance.forgetIdempotencyKeys()).toBe(0);
  clock.set('2026-12-03T00:00:00Z');
  expect(await maintenance.forgetIdempotencyKeys()).toBe(2);
});

it("forgets nothing by a clock that is not the database's", async () => {
  clock.set('2026-12-01T00:00:00Z');
  const { employerId, personId } = await makeEmployerWithAccount(replica.database);
  const count = async () => {
    const rows = await replica.database.inEmployer(employerId, (tx) =>
      tx.query(`SELECT 1 FROM idempotency_key UNION ALL SELECT 1 FROM faulty_file`),
    );
    return rows.length;
  };
  await replica.database.inEmployer(employerId, async (tx) => {
    await tx.query(
      `INSERT INTO idempotency_key (employer_id, person_id, key, fingerprint, created_at)
       VALUES ($1, $2, 'kept', sha256('x'), '2026-11-30')`,
      [employerId, personId],
    );
    await tx.query(
      `INSERT INTO faulty_file (employer_id, id, sha256, layout, row_count, fault_count, read_rows, uploaded_by, expires_at)
       VALUES ($1, gen_random_uuid(), sha256('x'), '{}', 1, 1, 1, $2, '2026-12-03')`,
      [employerId, personId],
    );
  });
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() + 40 * 86_400_000);
  clock.set('2027-01-10T00:00:00Z');
  expect(await maintenance.forgetIdempotencyKeys()).toBe(0);
  expect(await maintenance.forgetRefusedFiles()).toBe(0);
  jest.restoreAllMocks();
  expect(await count()).toBe(2);
  expect(await maintenance.forgetIdempotencyKeys()).toBeGreaterThanOrEqual(1);
  expect(await maintenance.forgetRefusedFiles()).toBe(1);
});

it('forgets the rows of refused files of every employer when their time has come, and of no run', async () => {
  clock.set('2026-12-01T00:00:00Z');
  const employers = await Promise.all([1, 2].map(() => makeEmployerWithAccount(replica.database)));
  for (const { employerId, personId } of employers) {
    await replica.database.inEmployer(employerId, (tx) =>
      tx.query(
        `INSERT INTO faulty_file (employer_id, id, sha256, layout, row_count, fault_count, read_rows, uploaded_by,
           expires_at)
         SELECT $1, gen_random_uuid(), sha256('x'), '{}', 1, 1, 1, $2, expires_at
         FROM unnest(ARRAY['2026-12-01', '2026-12-03']::timestamptz[]) AS expires_at`,
        [employerId, personId],
      ),
    );
  }
  expect(await maintenance.forgetRefusedFiles()).toBe(2);
  expect(await maintenance.forgetRefusedFiles()).toBe(0);
  clock.set('2026-12-03T00:00:00Z');
  expect(await maintenance.forgetRefusedFiles()).toBe(2);
});
