import { DataSource } from 'typeorm';
import { BankList, BankLists, lastSeen, ListSeen } from '../../src/database/bank-lists';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { Database } from '../../src/database/database';
import { execute, TestDatabase, testDatabase } from '../support/database';

let server: TestDatabase;
let source: DataSource;
let database: Database;
let lists: BankLists;

beforeAll(async () => {
  server = await testDatabase();
  source = await openDataSource(dataSourceOptions(server.url, [], 2));
  database = new Database(source);
  lists = new BankLists(database);
});
afterAll(async () => {
  await source.destroy();
  await server.drop();
});
beforeEach(() => execute(server.superuserUrl, 'DELETE FROM bank_list'));

const seen = (list: BankList): Promise<ListSeen> => database.outsideEmployers((tx) => lastSeen(tx, list));

describe('how long the lists of the bank are', () => {
  it('is as the last reading showed it, of each list for itself', async () => {
    await lists.remember('PAYMENTS', { rows: 900, pageRows: 50 });
    await lists.remember('PAYMENTS', { rows: 40, pageRows: 20 });
    await lists.remember('INSTRUCTION_PAYMENTS', { rows: 7, pageRows: 5 });
    expect(await seen('PAYMENTS')).toEqual({ rows: 40, pageRows: 20 });
    expect(await seen('INSTRUCTION_PAYMENTS')).toEqual({ rows: 7, pageRows: 5 });
  });

  it('keeps the page size through a reading of a single page, which tells none', async () => {
    await lists.remember('PAYMENTS', { rows: 40, pageRows: 20 });
    await lists.remember('PAYMENTS', { rows: 3 });
    expect(await seen('PAYMENTS')).toEqual({ rows: 3, pageRows: 20 });
  });

  it('is not believed for longer than a day, but pages stay as large as they were', async () => {
    await lists.remember('PAYMENTS', { rows: 40, pageRows: 20 });
    await execute(server.superuserUrl, `UPDATE bank_list SET read_at = now() - interval '25 hours'`);
    expect(await seen('PAYMENTS')).toEqual({ rows: 0, pageRows: 20 });
  });

  it('keeps that a list lacked what another read showed, for 40 days', async () => {
    await lists.rememberLacking('INSTRUCTION_PAYMENTS');
    await lists.remember('INSTRUCTION_PAYMENTS', { rows: 7, pageRows: 5 });
    await lists.remember('PAYMENTS', { rows: 40 });
    expect(await seen('INSTRUCTION_PAYMENTS')).toEqual({ rows: 7, pageRows: 5, lacksSome: true });
    expect(await seen('PAYMENTS')).toEqual({ rows: 40 });
    await lists.rememberLacking('PAYMENTS');
    expect(await seen('PAYMENTS')).toMatchObject({ rows: 40, lacksSome: true });
    await execute(server.superuserUrl, `UPDATE bank_list SET lacked_at = now() - interval '41 days'`);
    expect(await seen('PAYMENTS')).toEqual({ rows: 40 });
  });

  it('keeps when the general one showed what is not submitted, and is asked for how long that is believed', async () => {
    await lists.remember('PAYMENTS', { rows: 40, pageRows: 20 });
    expect(await lists.showsUnsubmitted(20)).toBe(false);
    await lists.rememberUnsubmitted();
    await execute(
      server.superuserUrl,
      `UPDATE bank_list SET unsubmitted_shown_at = unsubmitted_shown_at - interval '30 days'`,
    );
    const believed = [await lists.showsUnsubmitted(20), await lists.showsUnsubmitted(40)];
    expect(believed).toEqual([false, true]);
    await lists.rememberUnsubmitted();
    expect(await lists.showsUnsubmitted(20)).toBe(true);
    expect(await seen('PAYMENTS')).toEqual({ rows: 40, pageRows: 20 });
  });

  it('is unknown before the first reading', async () => {
    expect(await seen('PAYMENTS')).toEqual({ rows: 0, pageRows: undefined });
  });
});
