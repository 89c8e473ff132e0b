import { DataSource, EntityTarget, ObjectLiteral } from 'typeorm';
import { findById, readById, updateById } from '../../src/database/by-id';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { Database } from '../../src/database/database';
import { EmployerAccount } from '../../src/employer/employer.entity';
import { ENTITIES } from '../../src/entities';
import { Attention } from '../../src/pay-run/attention.entity';
import { Instruction, PlannedInstruction } from '../../src/pay-run/instruction.entity';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { execute, TestDatabase, testDatabase } from '../support/database';
import { idsOf, twoEmployers } from './two-employers';

const OURS = idsOf(1).employer;
const THEIRS = idsOf(2).employer;
const READ: readonly [string, EntityTarget<ObjectLiteral & { id: string }>][] = [
  ['instruction', Instruction],
  ['planned instruction', PlannedInstruction],
  ['run', PayRun],
  ['account', EmployerAccount],
  ['question', Attention],
];

let server: TestDatabase;
let source: DataSource;
let database: Database;

beforeAll(async () => {
  server = await testDatabase();
  await execute(server.superuserUrl, twoEmployers());
  source = await openDataSource(dataSourceOptions(server.url, ENTITIES, 2));
  database = new Database(source);
});
afterAll(async () => {
  await source.destroy();
  await server.drop();
});

describe.each(READ)('a %s read by its id', (_what, entity) => {
  const known = (employerId: string) =>
    database.inEmployer(employerId, (tx) => tx.manager.findOneByOrFail(entity, { employerId }));

  it('is what TypeORM reads', async () => {
    const expected = await known(OURS);
    const read = await database.inEmployer(OURS, (tx) => findById(tx, entity, expected.id));
    expect(read).toEqual(expected);
    expect(read?.constructor).toBe(expected.constructor);
    expect(await database.inEmployer(OURS, (tx) => readById(tx, entity, expected.id))).toEqual(expected);
  });

  it('is not another employer’s', async () => {
    const { id } = await known(THEIRS);
    expect(await database.inEmployer(OURS, (tx) => findById(tx, entity, id))).toBeUndefined();
    await expect(database.inEmployer(OURS, (tx) => readById(tx, entity, id))).rejects.toThrow('is gone');
  });
});

it('stays locked to the end of the transaction where that is asked for', async () => {
  const { id } = await database.inEmployer(OURS, (tx) =>
    tx.manager.findOneByOrFail(PayRun, { employerId: OURS }),
  );
  const lockable = () =>
    database.inEmployer(OURS, async (tx) => {
      const rows = await tx.query(`SELECT FROM pay_run WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED`, [id]);
      return rows.length === 1;
    });
  const whileRead = (lock: 'none' | 'for_key_share' | 'pessimistic_read' | 'for_no_key_update') =>
    database.inEmployer(OURS, async (tx) => {
      await findById(tx, PayRun, id, lock);
      return lockable();
    });
  expect(await whileRead('none')).toBe(true);
  expect(await whileRead('for_key_share')).toBe(true);
  expect(await whileRead('pessimistic_read')).toBe(false);
  expect(await whileRead('for_no_key_update')).toBe(false);
});

describe('fields written by the id of their row', () => {
  const read = (employerId: string) =>
    database.inEmployer(employerId, (tx) => tx.manager.findOneByOrFail(PayRun, { employerId }));
  const fields = {
    balanceBeforeMinor: 9_007_199_254_740_993n,
    balanceReadAt: new Date('2026-03-02T10:00:00.123Z'),
    lapseReason: null,
    stoppedReason: undefined,
  };

  it('are what TypeORM reads again, and what is not given stays', async () => {
    const before = await read(OURS);
    await database.inEmployer(OURS, (tx) => updateById(tx, PayRun, { id: before.id }, fields));
    const { stoppedReason, ...given } = fields;
    expect(stoppedReason).toBeUndefined();
    expect(await read(OURS)).toEqual({ ...before, ...given });
  });

  it('are not written where the row is another employer’s, or not what it was', async () => {
    const [ours, theirs] = [await read(OURS), await read(THEIRS)];
    const other = ours.status === 'SETTLED' ? 'FAILED' : 'SETTLED';
    const later = { balanceBeforeMinor: 1n };
    await database.inEmployer(OURS, async (tx) => {
      await updateById(tx, PayRun, { id: theirs.id }, later);
      await updateById(tx, PayRun, { id: ours.id, status: other }, later);
    });
    expect([await read(OURS), await read(THEIRS)]).toEqual([ours, theirs]);
  });
});
