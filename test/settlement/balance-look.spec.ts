import { DataSource } from 'typeorm';
import { BankGateway } from '../../src/bank/gateway';
import { BackgroundDatabase } from '../../src/database/background-database';
import { Database } from '../../src/database/database';
import { dataSourceOptions, DEFAULT_WAITS, openDataSource } from '../../src/database/data-source';
import { Leases } from '../../src/database/leases';
import { ENTITIES } from '../../src/entities';
import { readId } from '../../src/http/prefixed-id';
import { BalanceLook } from '../../src/settlement/balance-look';
import { loadFollowed } from '../../src/settlement/followed';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

describe('a run whose account has lost as much again as it paid', () => {
  let payroll: Payroll;
  let source: DataSource;
  let employerId: string;
  let runId: string;

  beforeAll(async () => {
    // Nothing of it looks at the balance in the time of a test.
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '3600000' } });
    const ids: string[] = [];
    for (const first of [1, 11]) {
      const rows = payRows(2, first).map((row) => ({ ...row, amount: '1500.00' }));
      ids.push(await payroll.paid(payFile(rows)));
      await payroll.until(ids.at(-1)!, ['SETTLED']);
    }
    runId = readId('run', ids[0]!);
    employerId = readId('emp', payroll.employer);
    await payroll.stopServices();
    source = await openDataSource(dataSourceOptions(payroll.database.url, ENTITIES, 4));
  });
  afterAll(async () => {
    await source.destroy();
    await payroll.close();
  });

  const ofOtherRun = (at: string) =>
    execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE instruction SET submitted_at = '${at}', closed_at = '${at}' WHERE pay_run_id <> '${runId}'`,
    );

  /** Looks at a balance that is read while `meanwhile` happens, and answers what people are asked then. */
  async function askedAfter(meanwhile: () => Promise<void>): Promise<string[]> {
    const { superuserUrl } = payroll.database;
    await execute(superuserUrl, `UPDATE lease SET wake_at = now(), leased_until = NULL, holder = NULL`);
    const waits = { ...DEFAULT_WAITS, DATABASE_POOL_SIZE: 4 };
    const database = new BackgroundDatabase(source, waits, new Database(source));
    const claims = await new Leases(database).claim('FOLLOW', 'test', 10, 60_000);
    const [run] = await select<{ before: string; id: string }>(
      superuserUrl,
      `SELECT r.balance_before_minor AS before, i.id FROM pay_run r JOIN instruction i ON i.pay_run_id = r.id
       WHERE r.id = $1`,
      [runId],
    );
    const claim = claims.find(({ subjectId }) => subjectId === run!.id)!;
    const followed = (await database.inEmployer(employerId, (tx) => loadFollowed(tx, run!.id)))!;
    const getAccount = async () => {
      await meanwhile();
      return { balanceMinor: BigInt(run!.before) - 2n * 300_000n };
    };
    const gateway = Object.assign(Object.create(BankGateway.prototype) as BankGateway, { getAccount });
    const look = new BalanceLook(database, gateway, payroll.clock, { SUBMIT_DOUBT_MS: 0 });
    expect(await look.at(claim, followed)).toBe(false);
    return (await select<{ kind: string }>(superuserUrl, 'SELECT kind FROM attention')).map(
      ({ kind }) => kind,
    );
  }

  it('says nothing where another run was submitted while the bank was asked', async () => {
    await ofOtherRun('2020-01-01');
    expect(await askedAfter(() => ofOtherRun(new Date().toISOString()))).toEqual([]);
  });

  it('is asked about where nothing else was', async () => {
    await ofOtherRun('2020-01-01');
    expect(await askedAfter(() => Promise.resolve())).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
  });
});
