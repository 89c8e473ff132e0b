import { DataSource } from 'typeorm';
import { Database } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { ENTITIES } from '../../src/entities';
import { Attention } from '../../src/pay-run/attention.entity';
import { clear, raiseNaming, raiseUndecided } from '../../src/pay-run/attention.store';
import { APPROVER, idsOf, PREPARER, twoEmployers } from '../database/two-employers';
import { execute, select, TestDatabase, testDatabase } from '../support/database';
import { eventually } from '../support/payroll';

const ours = idsOf(1);
const kind = 'UNKNOWN_STATUS';
const shown = { kind, subjectId: ours.run, happened: 'The bank showed PRO_ODD (rows 2).' } as const;

let server: TestDatabase;
let source: DataSource;
let database: Database;
beforeEach(async () => {
  server = await testDatabase();
  await execute(server.superuserUrl, twoEmployers());
  await execute(
    server.superuserUrl,
    `UPDATE attention SET resolved_at = now(), resolution = 'before the test'`,
  );
  source = await openDataSource(dataSourceOptions(server.url, ENTITIES, 2));
  database = new Database(source);
});
afterEach(async () => {
  await source.destroy();
  await server.drop();
});

const open = () => select(server.superuserUrl, `SELECT happened FROM attention WHERE resolved_at IS NULL`);

describe.each([
  ['raiseUndecided', raiseUndecided],
  [
    'raiseNaming',
    (...[tx, alarm]: Parameters<typeof raiseUndecided>) => raiseNaming(tx, alarm, [' PRO_ODD (']),
  ],
])('what every read shows again (%s)', (_, tell) => {
  const read = (alarm: Parameters<typeof raiseUndecided>[1] = shown) =>
    database.inEmployer(ours.employer, (tx) => tell(tx, alarm));

  /** Two people decide; `meanwhile` happens after their decision and before its commit. */
  const decided = (meanwhile: () => Promise<void> = () => Promise.resolve()) =>
    database.inEmployer(ours.employer, async (tx) => {
      const { id } = await tx.manager
        .createQueryBuilder(Attention, 'a')
        .where('a.kind = :kind AND a.resolvedAt IS NULL', { kind })
        .getOneOrFail();
      await tx.query(
        `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by,
           confirmed_at) VALUES ($1, gen_random_uuid(), $2, 'ACKNOWLEDGE', 'the bank looks', $3, $4, now())`,
        [ours.employer, id, PREPARER, APPROVER],
      );
      await clear(tx, [kind], ours.run, 'two people said so');
      await meanwhile();
    });

  it('is asked once, and not again once two people have decided it', async () => {
    await read();
    await read();
    expect(await open()).toEqual([{ happened: shown.happened }]);
    await decided();
    await read();
    expect(await open()).toEqual([]);
  });

  it('is not asked again by a read that was under way while two people decided', async () => {
    await read();
    let underWay = Promise.resolve();
    await decided(async () => {
      underWay = read();
      await eventually(async () => {
        const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
        return (await select(server.superuserUrl, waiting)).length > 0;
      }, 5_000);
    });
    await underWay;
    expect(await open()).toEqual([]);
  });

  it('is asked again when it is something else than was decided', async () => {
    await read();
    await decided();
    const more = { ...shown, happened: 'The bank showed PRO_ODD (rows 2), PRO_EVEN (rows 3).' };
    await read(more);
    expect(await open()).toEqual([{ happened: more.happened }]);
  });
});
