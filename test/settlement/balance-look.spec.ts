import axios from 'axios';
import { DataSource } from 'typeorm';
import { BankGateway } from '../../src/bank/gateway';
import { BackgroundDatabase } from '../../src/database/background-database';
import { Database } from '../../src/database/database';
import { dataSourceOptions, DEFAULT_WAITS, openDataSource } from '../../src/database/data-source';
import { Leases } from '../../src/database/leases';
import { formatMinor } from '../../src/domain/money';
import { ENTITIES } from '../../src/entities';
import { readId } from '../../src/http/prefixed-id';
import { BalanceLook } from '../../src/settlement/balance-look';
import { loadFollowed } from '../../src/settlement/followed';
import { Lateness } from '../../src/settlement/lateness';
import { execute, select } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

const DAY_MS = 86_400_000;
const AMOUNT_MINOR = 150_000n;

let payroll: Payroll;
let source: DataSource;
let lateness: Lateness;
let employerId: string;
const runIds: string[] = [];
/** How old a read at the bank can be, and how long it may take. */
let lagMs = 0;
let timeoutMs = 0;
const sql = (statement: string) =>
  execute(payroll.database.superuserUrl, `SET session_replication_role = replica; ${statement}`);
const asked = async () =>
  (
    await select<{ kind: string }>(
      payroll.database.superuserUrl,
      'SELECT kind FROM attention WHERE resolved_at IS NULL',
    )
  ).map(({ kind }) => kind);

/**
 * Runs of two payments each, all settled, of which nothing looks at the balance in the time of a test.
 * @param moreMinor what each payment of a run is more than one of the run before
 * @param aheadMs how far the services' clocks are ahead of the database's
 */
async function settled(runs: number, rowsPerInstruction: number, moreMinor = 0n, aheadMs = 0): Promise<void> {
  payroll = await Payroll.start({ rowsPerInstruction, settings: { SUBMIT_DOUBT_MS: '3600000' } });
  payroll.clock.offsetMs = aheadMs;
  runIds.length = 0;
  for (let n = 0; n < runs; n += 1) {
    const amount = formatMinor(AMOUNT_MINOR + BigInt(n) * moreMinor);
    const rows = payRows(2, 1 + 10 * n).map((row) => ({ ...row, amount }));
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SETTLED']);
    runIds.push(readId('run', id));
  }
  await atRest();
}

/** Nothing looks any more but the test. */
async function atRest(): Promise<void> {
  employerId = readId('emp', payroll.employer);
  lateness = payroll.services[0]!.app.get(Lateness);
  await payroll.stopServices();
  source = await openDataSource(dataSourceOptions(payroll.database.url, ENTITIES, 4));
}

async function close(): Promise<void> {
  await source.destroy();
  await payroll.close();
}

/** Two people decide all that is asked. */
const decided = (action: 'ACKNOWLEDGE' | 'RESUME') =>
  sql(`
    WITH open AS (UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE resolved_at IS NULL RETURNING employer_id, id)
    INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
    SELECT open.employer_id, gen_random_uuid(), open.id, '${action}', 'seen', prepared_by, approver_id, now()
    FROM open, (SELECT * FROM approval LIMIT 1) a`);

/** In SQL, just before the first submit of a run was sent. */
const beforeSubmitOf = (run: string) =>
  `(SELECT date_trunc('milliseconds', min(s.attempted_at)) - interval '1 ms' FROM instruction i
    JOIN submit_attempt s ON s.instruction_id = i.id WHERE i.pay_run_id = ${run})`;

/** Looks once at the balance over a run, by default the first, by the instruction of it that ended last. */
async function look(
  lostMinor: bigint,
  meanwhile = () => Promise.resolve(),
  nth = 0,
  isRead = true,
): Promise<void> {
  expect(await lookSoon(lostMinor, meanwhile, nth, isRead)).toBe(false);
}

/** The same, where it is to answer whether that is worth another look soon. */
async function lookSoon(
  lostMinor: bigint,
  meanwhile: () => Promise<void>,
  nth = 0,
  isRead = true,
): Promise<boolean> {
  await sql(`
    UPDATE lease SET wake_at = now(), leased_until = NULL, holder = NULL;
    UPDATE instruction SET payments_read_at = ${isRead ? `closed_at + interval '1 day'` : 'NULL'}`);
  const waits = { ...DEFAULT_WAITS, DATABASE_POOL_SIZE: 4 };
  const database = new BackgroundDatabase(source, waits, new Database(source));
  const claims = await new Leases(database).claim('FOLLOW', 'test', 10, 60_000);
  const [run] = await select<{ before: string; id: string }>(
    payroll.database.superuserUrl,
    `SELECT r.balance_before_minor AS before, i.id FROM pay_run r JOIN instruction i ON i.pay_run_id = r.id
     WHERE r.id = $1 ORDER BY i.closed_at DESC NULLS LAST, i.id DESC LIMIT 1`,
    [runIds[nth]],
  );
  const claim = claims.find(({ subjectId }) => subjectId === run!.id)!;
  const followed = (await database.inEmployer(employerId, (tx) => loadFollowed(tx, run!.id)))!;
  const getAccount = async () => {
    await meanwhile();
    return { balanceMinor: BigInt(run!.before) - lostMinor };
  };
  const gateway = Object.assign(Object.create(BankGateway.prototype) as BankGateway, { getAccount });
  const looks = new BalanceLook(database, gateway, lateness, payroll.clock, {
    SUBMIT_DOUBT_MS: 0,
    BANK_LAG_BOUND_MS: lagMs,
    BANK_TIMEOUT_MS: timeoutMs,
    WATCH_DAYS: 30,
  });
  return looks.at(claim, followed);
}

describe('a run whose account has lost as much again as it paid', () => {
  beforeAll(() => settled(2, 10));
  afterAll(close);

  const TWICE = 4n * AMOUNT_MINOR;
  const ofOtherRun = (at: string) =>
    sql(`
      UPDATE instruction SET submitted_at = '${at}', closed_at = '${at}' WHERE pay_run_id <> '${runIds[0]}';
      UPDATE submit_attempt SET attempted_at = '${at}'
        WHERE instruction_id IN (SELECT id FROM instruction WHERE pay_run_id <> '${runIds[0]}')`);

  it('says nothing where another run was submitted while the bank was asked', async () => {
    await ofOtherRun('2020-01-01');
    expect(await lookSoon(TWICE, () => ofOtherRun(new Date().toISOString()))).toBe(true);
    expect(await asked()).toEqual([]);
  });

  it('says nothing where that was another run, paid once the account had been detached and attached again', async () => {
    await sql(`
      UPDATE employer_account SET detached_at = now();
      INSERT INTO employer_account SELECT (jsonb_populate_record(a,
        jsonb_build_object('id', gen_random_uuid(), 'detached_at', NULL))).* FROM employer_account a;
      UPDATE pay_run SET account_id = (SELECT id FROM employer_account WHERE detached_at IS NULL)
        WHERE id <> '${runIds[0]}'`);
    await ofOtherRun(new Date().toISOString());
    await look(TWICE);
    expect(await asked()).toEqual([]);
    await ofOtherRun('2020-01-01');
  });

  it('says nothing where that was another run, paid by another id of the bank with the same IBAN', async () => {
    const all = await select<{ id: string; account_id: string }>(
      payroll.database.superuserUrl,
      'SELECT id, account_id FROM pay_run',
    );
    await sql(`
      INSERT INTO employer_account SELECT (jsonb_populate_record(a,
        jsonb_build_object('id', '${runIds[0]}', 'bank_account_id', 'its other id', 'detached_at', NULL))).*
        FROM employer_account a LIMIT 1;
      UPDATE pay_run SET account_id = '${runIds[0]}' WHERE id <> '${runIds[0]}'`);
    await ofOtherRun(new Date().toISOString());
    await look(TWICE);
    expect(await asked()).toEqual([]);
    await ofOtherRun('2020-01-01');
    for (const { id, account_id } of all)
      await sql(`UPDATE pay_run SET account_id = '${account_id}' WHERE id = '${id}'`);
    await sql(`DELETE FROM employer_account WHERE id = '${runIds[0]}'`);
  });

  it('says nothing while an instruction of it is still to be submitted, or built again', async () => {
    await ofOtherRun('2020-01-01');
    await sql(`UPDATE pay_run SET status = 'SUBMITTING' WHERE id = '${runIds[0]}'`);
    await look(TWICE);
    expect(await asked()).toEqual([]);
    await sql(`UPDATE pay_run SET status = 'SETTLED' WHERE id = '${runIds[0]}'`);
  });

  it.each([
    ['the same', ''],
    ['another', `, 'bank_account_id', 'its other id'`],
  ])(
    'says nothing where another employer has paid from the account since, by %s id of the bank',
    async (_, id) => {
      await sql(`
        INSERT INTO employer_account
          SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'employer_id', gen_random_uuid(),
            'detached_at', now()${id}))).* FROM employer_account a LIMIT 1`);
      await look(TWICE);
      expect(await asked()).toEqual([]);
      await sql(
        `UPDATE employer_account SET detached_at = '2020-01-01' WHERE employer_id <> '${employerId}'`,
      );
    },
  );

  it('is asked about where nothing else was', async () => {
    await ofOtherRun('2020-01-01');
    await look(TWICE);
    expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
    const beyond = 'SELECT beyond_payments AS payments, beyond_minor AS minor FROM attention';
    expect(await select(payroll.database.superuserUrl, beyond)).toEqual([
      { payments: 2, minor: String(2n * AMOUNT_MINOR) },
    ]);
  });
});

describe('a run that was executed twice, for whose payments the bank books charges after their end', () => {
  beforeAll(() => settled(1, 10));
  beforeEach(async () => {
    payroll.clock.offsetMs = DAY_MS;
    await sql(`
      DELETE FROM attention;
      UPDATE payment SET charges_minor = 0;
      UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01'`);
  });
  afterAll(close);

  const CHARGE = 70n;
  const TWICE = 4n * (AMOUNT_MINOR + CHARGE);
  const failed = (lostMinor: bigint) => look(lostMinor, undefined, 0, false);

  it('is asked about by the first look after they are read, however often a read failed before', async () => {
    for (let n = 0; n < 2; n += 1) await failed(TWICE);
    expect(await asked()).toEqual([]);
    await sql(`UPDATE payment SET charges_minor = ${CHARGE}`);
    await look(TWICE);
    expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
  });

  it('is looked for no longer than three days, since other traffic says more by then', async () => {
    await failed(2n * AMOUNT_MINOR + 5n);
    payroll.clock.offsetMs = 3 * DAY_MS;
    await failed(2n * AMOUNT_MINOR + 5n);
    await look(4n * AMOUNT_MINOR);
    expect(await asked()).toEqual([]);
  });

  it('is asked about while they cannot be read where what was read before tells of it, and once', async () => {
    for (let n = 0; n < 2; n += 1) await failed(4n * AMOUNT_MINOR);
    expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
    await sql(`UPDATE payment SET charges_minor = ${CHARGE}`);
    await look(TWICE);
    expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
  });
});

describe('a run whose account has lost one of its instructions twice, while another ended unpaid', () => {
  beforeAll(() => settled(1, 1));
  afterAll(close);

  const TWICE = 2n * AMOUNT_MINOR;
  const endsAs = (bankStatus: string) =>
    sql(`
      UPDATE bank_payment SET bank_status = '${bankStatus}' WHERE row_no = 2;
      UPDATE payment SET status = 'FAILED', live = false WHERE row_no = 2`);

  it('says nothing while its money may come back, and asks, and stops nobody, when it should have', async () => {
    await endsAs('EXT_REFUSED');
    payroll.clock.offsetMs = DAY_MS;
    await look(TWICE);
    expect(await asked()).toEqual([]);
    payroll.clock.offsetMs = 20 * DAY_MS;
    await sql(`UPDATE instruction SET closed_at = closed_at + interval '18 days'`);
    await look(TWICE);
    expect(await asked()).toEqual([]);
    await sql(`UPDATE instruction SET closed_at = closed_at - interval '18 days'`);
    for (let n = 0; n < 2; n += 1) await look(TWICE - 500n);
    expect(await asked()).toEqual(['TOTALS_UNSEEN']);
    const lack = 'SELECT amount_minor AS minor FROM attention';
    expect(await select(payroll.database.superuserUrl, lack)).toEqual([
      { minor: String(AMOUNT_MINOR - 500n) },
    ]);
    const stops = 'SELECT FROM service_switch WHERE submits_off';
    expect(await select(payroll.database.superuserUrl, stops)).toEqual([]);
  });

  it('is asked about, and stops everything, where it never took money', async () => {
    await endsAs('PRO_DEBIT_HOLD_FAILED');
    await look(TWICE);
    expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
  });

  describe('and a smaller lack was asked about,', () => {
    const lacks = async () =>
      (
        await select<{ minor: string }>(
          payroll.database.superuserUrl,
          'SELECT amount_minor AS minor FROM attention WHERE resolved_at IS NULL',
        )
      ).map(({ minor }) => BigInt(minor));
    beforeEach(async () => {
      payroll.clock.offsetMs = 20 * DAY_MS;
      await sql(`
        DELETE FROM attention_action; DELETE FROM attention;
        UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01'`);
      await endsAs('EXT_REFUSED');
      await look(TWICE - 500n);
    });

    it('is asked about anew, and the question is of no less than it told once', async () => {
      const found = [await lacks()];
      for (const less of [0n, 300n]) {
        await look(TWICE - less);
        found.push(await lacks());
      }
      expect(found).toEqual([[AMOUNT_MINOR - 500n], [AMOUNT_MINOR], [AMOUNT_MINOR]]);
    });

    it('is asked about once that was acknowledged, and not anew where no more lacks than was', async () => {
      await decided('ACKNOWLEDGE');
      const found = [];
      for (const less of [700n, 500n, 0n]) {
        await look(TWICE - less);
        found.push(await lacks());
      }
      expect(found).toEqual([[], [], [AMOUNT_MINOR]]);
    });
  });

  it('is asked about no more where just the money came back, and no other traffic hides it', async () => {
    await sql(`
      DELETE FROM attention;
      UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01'`);
    await endsAs('EXT_REFUSED');
    await look(TWICE);
    for (const others of [-1_000_000n, -1n, 1n, AMOUNT_MINOR + 350_000n]) {
      await look(AMOUNT_MINOR + others);
      expect(await asked()).toEqual(['TOTALS_UNSEEN']);
    }
    await look(AMOUNT_MINOR);
    expect(await asked()).toEqual([]);
  });

  it('is asked about also while it cannot be read, until just the money came back, and is looked at no more', async () => {
    await sql(`
      DELETE FROM attention;
      UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01'`);
    await endsAs('EXT_REFUSED');
    const unread = (lostMinor: bigint) => look(lostMinor, undefined, 0, false);
    await unread(TWICE);
    expect(await asked()).toEqual(['TOTALS_UNSEEN']);
    await unread(AMOUNT_MINOR + 500n);
    expect(await asked()).toEqual(['TOTALS_UNSEEN']);
    await unread(AMOUNT_MINOR);
    expect(await asked()).toEqual([]);
    // A fee of the month.
    await unread(AMOUNT_MINOR + 990n);
    expect(await asked()).toEqual([]);
  });
});

describe('a run that was executed twice, with a payment whose money is given back in the days after,', () => {
  beforeAll(async () => {
    await settled(1, 10);
    await sql(`
      UPDATE payment SET amount_minor = amount_minor - row_no;
      UPDATE payment SET status = 'FAILED', live = false WHERE row_no = 2;
      UPDATE bank_payment SET bank_status = 'EXT_REFUSED' WHERE row_no = 2`);
  });
  afterAll(close);

  const [PAID, UNPAID] = [AMOUNT_MINOR - 1n, AMOUNT_MINOR - 2n];

  it.each([
    ['a day', 1],
    ['a weekend', 3],
  ])('is asked about once that is back, though it was looked at after %s', async (_what, days) => {
    await sql(`
      DELETE FROM attention;
      UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01'`);
    // Nothing is booked on the two days after a Friday.
    const ended = new Date(Date.now() - (new Date().getUTCDay() + 2) * DAY_MS);
    await sql(`UPDATE instruction SET closed_at = '${ended.toISOString()}'`);
    payroll.clock.offsetMs = ended.getTime() + days * DAY_MS - Date.now();
    await look(2n * (PAID + UNPAID));
    const found = [await asked()];
    payroll.clock.offsetMs = ended.getTime() + 20 * DAY_MS - Date.now();
    await look(2n * PAID);
    expect([...found, await asked()]).toEqual([[], ['TOTAL_MISMATCH_AFTER_SUBMIT']]);
  });

  it.each([
    ['', 0n],
    [', and its charges were taken again too', 70n],
  ])('is asked about both where that is not back long after%s', async (_what, charges) => {
    await sql(`
      DELETE FROM attention;
      UPDATE payment SET charges_minor = ${charges} WHERE row_no = 1;
      UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01'`);
    payroll.clock.offsetMs = 20 * DAY_MS;
    const took = PAID + charges;
    await look(took + UNPAID);
    const found = [await asked()];
    await look(2n * took + UNPAID);
    found.push(await asked());
    await look(2n * took);
    expect([...found, await asked()]).toEqual([
      ['TOTALS_UNSEEN'],
      ['TOTALS_UNSEEN', 'TOTAL_MISMATCH_AFTER_SUBMIT'],
      ['TOTAL_MISMATCH_AFTER_SUBMIT'],
    ]);
  });

  it('is asked about both where that is not back long after, though no look showed it alone before', async () => {
    await sql(`
      DELETE FROM attention;
      UPDATE payment SET charges_minor = 0 WHERE row_no = 1;
      UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01'`);
    payroll.clock.offsetMs = 20 * DAY_MS;
    const open = () =>
      select<{ kind: string; minor: string }>(
        payroll.database.superuserUrl,
        'SELECT kind, amount_minor AS minor FROM attention WHERE resolved_at IS NULL ORDER BY kind',
      );
    const twice = { kind: 'TOTAL_MISMATCH_AFTER_SUBMIT', minor: String(PAID) };
    const both = [{ kind: 'TOTALS_UNSEEN', minor: String(UNPAID) }, twice];
    const found = [];
    for (const lost of [2n * PAID + UNPAID, PAID + UNPAID, 2n * PAID]) {
      await look(lost);
      found.push(await open());
    }
    expect(found).toEqual([both, both, [twice]]);
  });
});

describe('a run of which people declared an instruction not executed', () => {
  const REMEMBERED = `UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01'`;
  beforeAll(async () => {
    await settled(1, 1);
    // One amount each, so that it shows whose the account lacks.
    await sql(`
      UPDATE payment SET amount_minor = amount_minor + row_no;
      UPDATE payment SET status = 'VOID', live = false WHERE row_no = 2;
      UPDATE bank_payment SET bank_status = 'INITIATED', bank_rank = 4 WHERE row_no = 2;
      UPDATE instruction SET status = 'VOID', submitted_at = NULL, closed_at = NULL, outcome = NULL
        WHERE id = (SELECT instruction_id FROM bank_payment WHERE row_no = 2)`);
  });
  beforeEach(async () => {
    payroll.clock.offsetMs = 20 * DAY_MS;
    await sql(`
      DELETE FROM attention;
      ${REMEMBERED}`);
  });
  afterAll(close);

  const [FIRST, DECLARED] = [AMOUNT_MINOR + 1n, AMOUNT_MINOR + 2n];
  const stops = () => select(payroll.database.superuserUrl, 'SELECT FROM service_switch WHERE submits_off');

  it('is asked about, and stops nobody, where its account lacks just that', async () => {
    await look(FIRST + DECLARED);
    expect(await asked()).toEqual(['TOTALS_UNSEEN']);
    expect(await stops()).toEqual([]);
  });

  it('is not asked about where its account lacks something else, or nothing, and is looked at no more', async () => {
    for (const others of [300n, DECLARED + 500n, 0n]) {
      await sql(REMEMBERED);
      await look(FIRST + others);
      expect(await asked()).toEqual([]);
      const open = 'SELECT FROM pay_run WHERE balance_before_minor IS NOT NULL';
      expect(await select(payroll.database.superuserUrl, open)).toEqual([]);
    }
  });

  it('stops everything where another of its instructions was executed twice', async () => {
    await look(2n * FIRST);
    expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
  });
});

describe('a run of which the bank refused a submit, and people have not declared yet that it was not executed,', () => {
  const SECOND = `(SELECT instruction_id FROM bank_payment WHERE row_no = 2)`;
  const stands = (instruction: string, payment: string, live: boolean) =>
    sql(`
      UPDATE payment SET status = '${payment}', live = ${live} WHERE row_no = 2;
      UPDATE instruction SET status = '${instruction}', submitted_at = NULL, closed_at = NULL, outcome = NULL
        WHERE id = ${SECOND}`);
  beforeAll(() => settled(1, 1));
  beforeEach(async () => {
    payroll.clock.offsetMs = DAY_MS;
    await sql(`
      DELETE FROM attention;
      UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01';
      UPDATE bank_payment SET bank_status = 'INITIATED', bank_rank = 4 WHERE row_no = 2`);
    await stands('SUBMIT_REFUSED', 'AT_BANK', true);
  });
  afterAll(close);

  const isLookedAt = async () => {
    const open = 'SELECT FROM pay_run WHERE balance_before_minor IS NOT NULL';
    return (await select(payroll.database.superuserUrl, open)).length === 1;
  };

  it.each([
    ['as much as another', 0, ['TOTAL_MISMATCH_AFTER_SUBMIT']],
    ['another sum', 1, ['TOTALS_UNSEEN']],
  ])('says nothing yet where that is of %s, and is asked about once they have', async (_what, more, told) => {
    const amounts = (by: number) => sql(`UPDATE payment SET amount_minor = amount_minor + ${by} * row_no`);
    await amounts(more);
    const lost = 2n * AMOUNT_MINOR + BigInt(3 * more);
    await look(lost);
    const found = [[await asked(), await isLookedAt()]];
    await stands('VOID', 'VOID', false);
    payroll.clock.offsetMs = 20 * DAY_MS;
    await look(lost);
    found.push([await asked(), await isLookedAt()]);
    await amounts(-more);
    expect(found).toEqual([
      [[], true],
      [told, more > 0],
    ]);
  });
});

describe('a run whose balance was read after a submit of another that people declared not executed', () => {
  beforeAll(async () => {
    await settled(2, 10, 100n);
    await sql(`
      UPDATE payment SET status = 'VOID', live = false WHERE pay_run_id = '${runIds[0]}';
      UPDATE instruction SET status = 'VOID', submitted_at = NULL, closed_at = NULL, outcome = NULL
        WHERE pay_run_id = '${runIds[0]}'`);
  });
  beforeEach(async () => {
    payroll.clock.offsetMs = 20 * DAY_MS;
    await sql(`
      DELETE FROM attention;
      UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at =
        ${beforeSubmitOf(`'${runIds[1]}'`)}`);
  });
  afterAll(close);

  const [DECLARED, OWN] = [2n * AMOUNT_MINOR, 2n * (AMOUNT_MINOR + 100n)];
  const sent = (before: string, dated = before) => {
    const readAt = `(SELECT balance_read_at FROM pay_run WHERE id = '${runIds[1]}')`;
    return sql(`
      UPDATE pay_run SET execution_date = ${readAt} - interval '${dated}' WHERE id = '${runIds[0]}';
      UPDATE submit_attempt SET attempted_at = ${readAt} - interval '${before}'
      WHERE instruction_id IN (SELECT id FROM instruction WHERE status = 'VOID')`);
  };

  it.each([
    ['it was sent within the week before', '6 days', '8 days'],
    ['its date was within the week before', '45 days', '6 days'],
    ['its date is to come', '45 days', '-6 days'],
  ])('is asked about where it lacks just that, and %s', async (_when, before, dated) => {
    await sent(before, dated);
    await look(OWN + DECLARED, undefined, 1);
    expect(await asked()).toEqual(['TOTALS_UNSEEN']);
  });

  it('is not asked about where it was sent, and its date was, long before', async () => {
    await sent('9 days');
    await look(OWN + DECLARED, undefined, 1);
    expect(await asked()).toEqual([]);
  });
});

describe('a run none of whose submits was executed, as people declared', () => {
  const REMEMBERED =
    'balance_before_minor = 10000000, balance_read_at = (SELECT min(created_at) FROM pay_run)';
  const TOTAL = 2n * AMOUNT_MINOR + 1n;
  const rows = payRows(2).map((row, n) => ({ ...row, amount: formatMinor(AMOUNT_MINOR + BigInt(n)) }));

  /** @param successor whether what it did not pay was paid by another run */
  async function declared(successor: boolean): Promise<void> {
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '400' } });
    const { id, path } = await payroll.parked(rows);
    const body = { action: 'NOT_EXECUTED', reason: 'the bank has confirmed it', evidence: 'letter 4711' };
    expect((await payroll.decide(path, body)).status).toBe(200);
    await payroll.until(id, ['FAILED']);
    runIds.splice(0, runIds.length, readId('run', id));
    const gate = 'SELECT balance_before_minor AS minor FROM pay_run';
    atGate = (await select<{ minor: string }>(payroll.database.superuserUrl, gate))[0]!.minor;
    if (successor) {
      const terms = { executionDate: payroll.executionDate(), submitAt: payroll.clock.now().toISOString() };
      const made = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), terms);
      expect((await payroll.approve(made.data)).status).toBe(200);
      await payroll.until(made.data.id, ['SETTLED']);
    }
    await atRest();
  }
  const sent = (at: string) =>
    sql(`UPDATE submit_attempt SET attempted_at = ${at} WHERE outcome = 'IN_DOUBT'`);
  /** What the account had at the gate, in minor units. */
  let atGate = '';
  const isLookedAt = async () => {
    const open = `SELECT FROM pay_run WHERE id = '${runIds[0]}' AND balance_before_minor IS NOT NULL`;
    return (await select(payroll.database.superuserUrl, open)).length === 1;
  };

  describe('and nothing was paid since,', () => {
    beforeAll(() => declared(false));
    beforeEach(async () => {
      payroll.clock.offsetMs = 20 * DAY_MS;
      await sql(`DELETE FROM attention_action; DELETE FROM attention; UPDATE pay_run SET ${REMEMBERED}`);
      await sent('now()');
    });
    afterAll(close);

    it('is asked about, and stops nobody, where its account lacks just that', async () => {
      for (let n = 0; n < 2; n += 1) await look(TOTAL);
      expect(await asked()).toEqual(['TOTALS_UNSEEN']);
      const stops = 'SELECT FROM service_switch WHERE submits_off';
      expect(await select(payroll.database.superuserUrl, stops)).toEqual([]);
      await look(0n);
      expect([await asked(), await isLookedAt()]).toEqual([[], false]);
    });

    it('is asked about where the bank executes it days after it was sent', async () => {
      await sent(`now() + interval '14 days'`);
      for (const lost of [0n, 300n]) await look(lost);
      expect([await asked(), await isLookedAt()]).toEqual([[], true]);
      await look(TOTAL);
      expect(await asked()).toEqual(['TOTALS_UNSEEN']);
    });

    it('is asked about no more once that is back, and again where it is taken once more', async () => {
      await sent(`now() + interval '14 days'`);
      const found = [];
      for (const lost of [TOTAL, 0n, TOTAL]) {
        await look(lost);
        found.push([await asked(), await isLookedAt()]);
      }
      expect(found).toEqual([
        [['TOTALS_UNSEEN'], true],
        [[], true],
        [['TOTALS_UNSEEN'], true],
      ]);
    });

    it('is asked about again where as much was acknowledged, came back, and is taken once more', async () => {
      await sent(`now() + interval '14 days'`);
      await look(TOTAL);
      await decided('ACKNOWLEDGE');
      const found = [];
      for (const lost of [TOTAL, 0n, TOTAL]) {
        await look(lost);
        found.push(await asked());
      }
      await decided('ACKNOWLEDGE');
      await look(TOTAL);
      expect([...found, await asked()]).toEqual([[], [], ['TOTALS_UNSEEN'], []]);
    });

    it('is looked at until a week after its date where it was sent long before', async () => {
      const date = new Date(Date.now() + 14 * DAY_MS);
      // From a Monday on, two banking days pass within five days, whatever is closed.
      date.setUTCDate(date.getUTCDate() + ((8 - date.getUTCDay()) % 7));
      const day = date.toISOString().slice(0, 10);
      await sql(`UPDATE pay_run SET execution_date = '${day}'`);
      const found = [];
      for (const days of [5.5, 8]) {
        payroll.clock.offsetMs = Date.parse(day) + days * DAY_MS - Date.now();
        await look(0n);
        found.push(await isLookedAt());
      }
      await sql('UPDATE pay_run SET execution_date = current_date');
      expect(found).toEqual([true, false]);
    });

    it.each([0n, 1n, TOTAL + 1n, -TOTAL])(
      'is not asked about where its account lacks %s, and is looked at no more a week after it was sent',
      async (lost) => {
        await look(lost);
        expect([await asked(), await isLookedAt()]).toEqual([[], false]);
      },
    );

    it('is not looked at before its payments should be final, nor on the day on which that was declared', async () => {
      payroll.clock.offsetMs = DAY_MS;
      await look(TOTAL);
      payroll.clock.offsetMs = 20 * DAY_MS;
      await sql(`UPDATE state_change SET at = now() + interval '19 days 1 hour' WHERE to_status = 'VOID'`);
      await look(TOTAL);
      await sql(`UPDATE state_change SET at = now() WHERE to_status = 'VOID'`);
      expect([await asked(), await isLookedAt()]).toEqual([[], true]);
    });

    it('is not looked at where its submits are proven unsent', async () => {
      await sql(`UPDATE submit_attempt SET outcome = 'PROVEN_UNSENT'`);
      await look(TOTAL);
      await sql(`UPDATE submit_attempt SET outcome = 'IN_DOUBT'`);
      expect(await asked()).toEqual([]);
    });

    it('is looked at by a service that was started since', async () => {
      await payroll.addReplica();
      const posting = { accountId: '1002', type: 'FEE', amountMinor: String(TOTAL) };
      await axios.post(`${payroll.bank.url}/sandbox/postings`, posting);
      await sql(`
        UPDATE pay_run SET balance_before_minor = ${atGate};
        UPDATE lease SET wake_at = now(), leased_until = NULL, holder = NULL`);
      await eventually(async () => (await asked()).includes('TOTALS_UNSEEN'), 15_000);
    });
  });

  describe('and a successor paid the same people,', () => {
    beforeAll(() => declared(true));
    beforeEach(async () => {
      payroll.clock.offsetMs = 20 * DAY_MS;
      await sql('DELETE FROM attention_action; DELETE FROM attention');
    });
    afterAll(close);

    it('is not asked about where its account lost what that took', async () => {
      await sent(`now() + interval '14 days'`);
      await look(TOTAL);
      expect([await asked(), await isLookedAt()]).toEqual([[], true]);
    });

    it('is not asked about while that is still at the bank', async () => {
      await sql(`UPDATE instruction SET status = 'SUBMITTED' WHERE status = 'CLOSED'`);
      await look(2n * TOTAL);
      await sql(`UPDATE instruction SET status = 'CLOSED' WHERE status = 'SUBMITTED'`);
      expect([await asked(), await isLookedAt()]).toEqual([[], true]);
    });

    it('is asked about where its account lacks just what was declared, and not where money of that may come back', async () => {
      const ended = (status: string, live: boolean, to: string) =>
        sql(`UPDATE payment SET status = '${to}', live = ${live} WHERE row_no = 2 AND status = '${status}'`);
      await sent(`now() + interval '14 days'`);
      await ended('SETTLED', false, 'FAILED');
      await look(TOTAL);
      const found = [await asked()];
      await look(2n * TOTAL);
      found.push(await asked());
      await ended('FAILED', true, 'SETTLED');
      expect(found).toEqual([[], ['TOTALS_UNSEEN']]);
    });

    it('stops everything where as much was taken twice', async () => {
      await look(2n * TOTAL);
      expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
    });

    it('stops everything where as much was taken with the charges that others of as much had', async () => {
      const charged = (minor: number) =>
        sql(
          `UPDATE payment SET charges_minor = coalesce(charges_minor, 0) + ${minor} WHERE status = 'SETTLED'`,
        );
      await charged(20);
      await look(2n * (TOTAL + 40n));
      await charged(-20);
      expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
    });

    describe('of another sum,', () => {
      const OTHER = TOTAL + 200n;
      beforeAll(() => sql(`UPDATE payment SET amount_minor = amount_minor + 100 WHERE status = 'SETTLED'`));
      beforeEach(() => sent(`now() + interval '14 days'`));

      it('stops nobody where as much as that took is lacking: its own looks ask about it', async () => {
        await look(2n * OTHER);
        expect([await asked(), await isLookedAt()]).toEqual([[], true]);
      });

      it('which was declared not executed too, is asked about where its account lacks its own sum, or both', async () => {
        await sql(`
          UPDATE payment SET status = 'VOID', live = false WHERE status = 'SETTLED';
          UPDATE instruction SET status = 'VOID', submitted_at = NULL, closed_at = NULL, outcome = NULL
            WHERE status = 'CLOSED'`);
        const found = [];
        for (const lost of [OTHER, TOTAL, TOTAL + OTHER]) {
          await sql('DELETE FROM attention');
          await look(lost);
          found.push(await asked());
        }
        expect(found).toEqual([[], ['TOTALS_UNSEEN'], ['TOTALS_UNSEEN']]);
      });
    });
  });
});

describe('a run of which a payment came back, while its instruction was executed twice', () => {
  beforeAll(() => settled(1, 10));
  afterAll(close);

  const PAID = 2n * AMOUNT_MINOR;
  const remembered = `UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01'`;
  beforeEach(async () => {
    payroll.clock.offsetMs = DAY_MS;
    await sql(`DELETE FROM attention; ${remembered};
      UPDATE bank_payment SET bank_status = 'RETURNED' WHERE row_no = 2;
      UPDATE payment SET returned_at = now(), returned_minor = NULL WHERE row_no = 2`);
  });

  it('is not asked about where as much lacks as the bank shows not to be back of it', async () => {
    payroll.clock.offsetMs = 20 * DAY_MS;
    await look(PAID - AMOUNT_MINOR + 5n);
    expect(await asked()).toEqual(['TOTALS_UNSEEN']);
    await sql('DELETE FROM attention; UPDATE payment SET returned_minor = amount_minor - 5 WHERE row_no = 2');
    await look(PAID - AMOUNT_MINOR + 5n);
    expect(await asked()).toEqual([]);
  });

  it('is asked about, and stops nobody, where it is not back long after, or as much was taken again', async () => {
    await look(PAID);
    expect(await asked()).toEqual([]);
    payroll.clock.offsetMs = 20 * DAY_MS;
    await look(PAID);
    expect(await asked()).toEqual(['TOTALS_UNSEEN']);
    expect(
      await select(payroll.database.superuserUrl, 'SELECT FROM service_switch WHERE submits_off'),
    ).toEqual([]);
    await look(PAID - AMOUNT_MINOR);
    expect(await asked()).toEqual([]);
  });

  it('is asked about, and stops everything, where its money is back', async () => {
    await look(2n * PAID - AMOUNT_MINOR);
    expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
  });

  it('is asked about beside what its totals show, which nobody has answered yet', async () => {
    await sql(`
      INSERT INTO attention (employer_id, id, kind, subject_id, instruction_id, pay_run_id, happened, certain, ask_bank)
      SELECT employer_id, gen_random_uuid(), 'TOTAL_MISMATCH_AFTER_SUBMIT', id, id, pay_run_id, 'one more', 'that', 'whether'
      FROM instruction`);
    await look(2n * PAID - AMOUNT_MINOR);
    expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT', 'TOTAL_MISMATCH_AFTER_SUBMIT']);
  });
});

describe('a run whose balance was read soon after another ended, paid from the same account', () => {
  const PAID = 2n * AMOUNT_MINOR;
  beforeAll(() => settled(2, 10));
  beforeEach(async () => {
    lagMs = 5_000;
    timeoutMs = 30_000;
    payroll.clock.offsetMs = DAY_MS;
    const readAt = beforeSubmitOf(`'${runIds[1]}'`);
    await sql(`DELETE FROM attention; UPDATE pay_run SET balance_before_minor = 10000000, balance_even_at = NULL,
      balance_read_at = ${readAt}, balance_asked_at = ${readAt} - interval '20 seconds'`);
  });
  afterEach(() => {
    lagMs = 0;
    timeoutMs = 0;
  });
  afterAll(close);

  const ended = (before: string, what: 'asked' | 'read' = 'asked') =>
    sql(`
      UPDATE submit_attempt SET attempted_at = attempted_at - interval '1 hour'
        WHERE instruction_id IN (SELECT id FROM instruction WHERE pay_run_id = '${runIds[0]}');
      UPDATE instruction SET submitted_at = submitted_at - interval '1 hour',
        closed_at = (SELECT balance_${what}_at FROM pay_run WHERE id = '${runIds[1]}') - interval '${before}'
      WHERE pay_run_id = '${runIds[0]}'`);

  it('is not asked about where it lacks what that took: the balance may be from before its end', async () => {
    await ended('4 seconds');
    await look(2n * PAID, undefined, 1);
    expect(await asked()).toEqual([]);
  });

  const isLookedAtNoMore = () =>
    sql(`UPDATE pay_run SET balance_before_minor = NULL, balance_asked_at = NULL, balance_read_at = NULL
      WHERE id = '${runIds[0]}'`);

  it('is asked about where that ended longer before it was asked for than a balance can be old', async () => {
    await ended('6 seconds');
    await isLookedAtNoMore();
    await look(2n * PAID, undefined, 1);
    expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
  });

  describe('and the bank may book what that took at the end of its day,', () => {
    const ofFirst = () =>
      sql(`UPDATE pay_run SET balance_read_at = ${beforeSubmitOf(`'${runIds[0]}'`)} - interval '1 hour',
        balance_asked_at = NULL WHERE id = '${runIds[0]}'`);
    beforeEach(() => ended('2 hours'));

    it.each([
      ['it', [1, 0]],
      ['the other', [0, 1]],
    ])('is not asked about where %s is looked at first', async (_which, order) => {
      await ofFirst();
      for (const nth of order) await look(2n * PAID, undefined, nth);
      expect(await asked()).toEqual([]);
    });

    it('is asked about by the look over the other where as much was taken again', async () => {
      await ofFirst();
      await look(3n * PAID);
      expect(await asked()).toEqual(OF_EITHER);
    });

    it('is asked about, though it was not at first, where the looks over the other end and found only other traffic', async () => {
      await ofFirst();
      await look(2n * PAID, undefined, 1);
      expect(await asked()).toEqual([]);
      await look(3n * PAID + 50_000n);
      await look(2n * PAID, undefined, 1);
      expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
    });

    it('is asked about where no look over the other can compare', async () => {
      const readAt = beforeSubmitOf(`'${runIds[0]}'`);
      await sql(
        `UPDATE pay_run SET balance_asked_at = ${readAt}, balance_read_at = now() WHERE id = '${runIds[0]}'`,
      );
      await look(2n * PAID, undefined, 1);
      expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
    });

    it('is asked about where the other was found even before it ended itself, and is looked at no more', async () => {
      await isLookedAtNoMore();
      await sql(`UPDATE pay_run SET balance_even_at = (SELECT min(closed_at) - interval '1 second' FROM instruction
        WHERE pay_run_id = '${runIds[1]}') WHERE id = '${runIds[0]}'`);
      await look(2n * PAID, undefined, 1);
      expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
    });

    it('is asked about where the other ended more than a day before', async () => {
      await ended('25 hours');
      await look(2n * PAID, undefined, 1);
      expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
    });
  });

  it('is asked about, where nobody knows when it was asked for, as if its answer had taken its time', async () => {
    await sql('UPDATE pay_run SET balance_asked_at = NULL');
    await isLookedAtNoMore();
    const found = [];
    for (const before of ['34 seconds', '36 seconds']) {
      await ended(before, 'read');
      await look(2n * PAID, undefined, 1);
      found.push(await asked());
    }
    expect(found).toEqual([[], ['TOTAL_MISMATCH_AFTER_SUBMIT']]);
  });

  it('says nothing where another employer, which paid from the account, detached it so soon before', async () => {
    await ended('6 seconds');
    await sql(`
      INSERT INTO employer_account
        SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'employer_id', gen_random_uuid(),
          'detached_at', (SELECT balance_asked_at - interval '4 seconds' FROM pay_run WHERE id = '${runIds[1]}')))).*
        FROM employer_account a LIMIT 1`);
    await look(2n * PAID, undefined, 1);
    expect(await asked()).toEqual([]);
    await sql(`DELETE FROM employer_account WHERE employer_id <> '${employerId}'`);
  });
});

/** Two runs took as much: it may be of either. */
const OF_EITHER = ['TOTAL_MISMATCH_AFTER_SUBMIT', 'TOTAL_MISMATCH_AFTER_SUBMIT'];

describe('a run whose account has lost as much again as another took, which was found executed only later,', () => {
  const PAID = 2n * AMOUNT_MINOR;
  beforeAll(() => settled(2, 10));
  beforeEach(async () => {
    payroll.clock.offsetMs = DAY_MS;
    await sql(`DELETE FROM attention; UPDATE pay_run r SET balance_before_minor = 10000000,
      balance_read_at = ${beforeSubmitOf('r.id')}`);
  });
  afterAll(close);

  const sent = (after: string) => {
    const readAt = `(SELECT balance_read_at FROM pay_run WHERE id = '${runIds[1]}')`;
    return sql(`
      UPDATE submit_attempt SET attempted_at = ${readAt} + interval '${after}'
        WHERE instruction_id IN (SELECT id FROM instruction WHERE pay_run_id = '${runIds[0]}');
      UPDATE instruction SET submitted_at = ${readAt} + interval '1 hour', closed_at = ${readAt} + interval '2 hours'
        WHERE pay_run_id = '${runIds[0]}'`);
  };

  it('is not asked about where that was sent before its balance was read: the other is, by its own look', async () => {
    await sent('-1 minute');
    await look(3n * PAID, undefined, 1);
    const found = [await asked()];
    await sql(`UPDATE pay_run r SET balance_read_at = ${beforeSubmitOf('r.id')} WHERE id = '${runIds[0]}'`);
    await look(3n * PAID);
    expect([...found, await asked()]).toEqual([[], OF_EITHER]);
  });

  it('is asked about where that was sent after it was read', async () => {
    await sent('1 minute');
    await look(3n * PAID, undefined, 1);
    expect(await asked()).toEqual(OF_EITHER);
  });
});

describe.each([
  ['ahead of', 60_000, 0, 6n * AMOUNT_MINOR + 200n],
  ['behind', -60_000, 1, 4n * AMOUNT_MINOR + 400n],
] as const)(
  'a run that was executed twice, and submitted by a service whose clock is %s that of the database,',
  (_where, aheadMs, nth, lostMinor) => {
    beforeAll(() => settled(2, 10, 100n, aheadMs));
    afterAll(close);

    it('is asked about where another was paid from its account soon before, or after', async () => {
      payroll.clock.offsetMs = DAY_MS + aheadMs;
      await look(lostMinor, undefined, nth);
      expect(await asked()).toEqual(['TOTAL_MISMATCH_AFTER_SUBMIT']);
    });
  },
);

describe('a run that was executed twice, whose account is looked at soon after another of as much ended', () => {
  const PAID = 2n * AMOUNT_MINOR;
  beforeAll(() => settled(2, 10));
  afterAll(close);

  it.each([1.5, 3.5])(
    'is asked about by the look after one %d days after its end, which may show what was before the other ended',
    async (days) => {
      const endedLater = (by: number) =>
        sql(
          `UPDATE instruction SET closed_at = closed_at + interval '${by * 24} hours' WHERE pay_run_id = '${runIds[1]}'`,
        );
      lagMs = 60_000;
      payroll.clock.offsetMs = days * DAY_MS;
      await sql(`
      DELETE FROM attention;
      UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01'`);
      await endedLater(days);
      await look(2n * PAID, undefined, 0, false);
      const found = [await asked()];
      payroll.clock.offsetMs += DAY_MS;
      await look(3n * PAID);
      await endedLater(-days);
      lagMs = 0;
      expect([...found, await asked()]).toEqual([[], OF_EITHER]);
    },
  );
});

describe('two runs paid from one account, whose balance is looked at over each', () => {
  const FIRST = 2n * AMOUNT_MINOR;
  const SECOND = 2n * (AMOUNT_MINOR + 100n);
  beforeAll(() => settled(2, 10, 100n));
  beforeEach(() => sql('DELETE FROM attention_action; DELETE FROM attention'));
  afterAll(close);

  const lookedAt = () =>
    sql(`
      UPDATE pay_run r SET balance_before_minor = 10000000, balance_read_at =
        ${beforeSubmitOf('r.id')}`);
  const lookOver = async (nth: 0 | 1, lostMinor: bigint) => {
    await lookedAt();
    await look(lostMinor, undefined, nth);
  };
  const nth = (run: string | null) => runIds.indexOf(run ?? '');
  const open = async () => {
    const rows = await select<{ run: string; subject: string; of: string; payments: number; minor: string }>(
      payroll.database.superuserUrl,
      `SELECT a.pay_run_id AS run, a.subject_id AS subject, i.pay_run_id AS of, a.beyond_payments AS payments, a.beyond_minor AS minor
       FROM attention a LEFT JOIN instruction i ON i.id = a.instruction_id WHERE a.resolved_at IS NULL ORDER BY a.pay_run_id`,
    );
    return rows.map(({ run, subject, of, payments, minor }) => [
      ...[run, subject, of].map(nth),
      payments,
      BigInt(minor),
    ]);
  };
  it('are asked about once where the second was executed again, and not anew by the look over the first', async () => {
    await lookOver(1, 2n * SECOND);
    expect(await open()).toEqual([[1, 1, 1, 2, SECOND]]);
    await lookOver(0, FIRST + 2n * SECOND);
    expect(await open()).toEqual([[1, 1, 1, 2, SECOND]]);
    await decided('RESUME');
    await lookOver(0, FIRST + 2n * SECOND);
    expect(await open()).toEqual([]);
  });

  it('are asked about each where both were, and the second not anew', async () => {
    await lookOver(1, 2n * SECOND);
    await decided('RESUME');
    await lookOver(0, 2n * FIRST + 2n * SECOND);
    expect(await open()).toEqual([[0, 0, 0, 2, FIRST]]);
  });

  it('are asked about each where the look over the first shows both', async () => {
    await lookOver(0, 2n * FIRST + 2n * SECOND);
    const both = [
      [0, 0, 0, 2, FIRST],
      [1, 1, 1, 2, SECOND],
    ];
    expect(await open()).toEqual(both);
    await lookOver(1, 2n * SECOND);
    expect(await open()).toEqual(both);
    await decided('RESUME');
    await lookOver(1, 2n * SECOND);
    expect(await open()).toEqual([]);
  });

  it('are asked about anew where more of the second was executed again than was decided', async () => {
    await lookOver(1, 2n * SECOND);
    await decided('RESUME');
    await lookOver(0, FIRST + 3n * SECOND);
    expect(await open()).toEqual([[1, 1, 1, 4, 2n * SECOND]]);
  });

  it('are looked at over the first soon again where the second is looked at for the last time meanwhile', async () => {
    await lookedAt();
    const lastOfSecond = () =>
      sql(`UPDATE pay_run SET balance_before_minor = NULL, balance_read_at = NULL WHERE id = '${runIds[1]}'`);
    expect(await lookSoon(2n * FIRST + SECOND, lastOfSecond)).toBe(true);
    expect(await open()).toEqual([]);
    await look(2n * FIRST + SECOND);
    expect(await open()).toEqual([[0, 0, 0, 2, FIRST]]);
  });
});

describe('a run that was paid, while a payment of the run after it from its account ended unpaid,', () => {
  const FIRST = 2n * AMOUNT_MINOR;
  const SECOND = AMOUNT_MINOR + 100n;
  const UNPAID = SECOND;
  beforeAll(async () => {
    await settled(2, 10, 100n);
    await sql(`
      UPDATE payment SET status = 'FAILED', live = false WHERE pay_run_id = '${runIds[1]}' AND row_no = 2;
      UPDATE bank_payment SET bank_status = 'EXT_REFUSED'
        WHERE payment_id = (SELECT id FROM payment WHERE pay_run_id = '${runIds[1]}' AND row_no = 2)`);
  });
  beforeEach(async () => {
    payroll.clock.offsetMs = 20 * DAY_MS;
    await sql(`
      DELETE FROM attention;
      UPDATE payment SET returned_at = NULL;
      UPDATE pay_run r SET balance_before_minor = 10000000, balance_read_at =
        ${beforeSubmitOf('r.id')}`);
  });
  afterAll(close);

  const askedOf = async () =>
    (
      await select<{ kind: string; run: string }>(
        payroll.database.superuserUrl,
        'SELECT kind, subject_id AS run FROM attention WHERE resolved_at IS NULL ORDER BY opened_at',
      )
    ).map(({ kind, run }) => [kind, runIds.indexOf(run)]);

  it('is not asked about where that money is not back: the other is', async () => {
    const found = [];
    for (const lack of [UNPAID, UNPAID - 500n]) {
      await look(FIRST + SECOND + lack);
      found.push(await askedOf());
    }
    await look(SECOND + UNPAID, undefined, 1);
    await look(FIRST + SECOND + UNPAID);
    expect([...found, await askedOf()]).toEqual([[], [], [['TOTALS_UNSEEN', 1]]]);
  });

  it('is asked about once that is back, and its account lacks as much all the same', async () => {
    await look(SECOND, undefined, 1);
    await look(FIRST + SECOND + UNPAID);
    expect(await askedOf()).toEqual([['TOTALS_UNSEEN', 0]]);
  });

  it('is asked about where its account lacks more than the other was asked about, which began later', async () => {
    await look(SECOND + 500n, undefined, 1);
    await look(FIRST + SECOND + 500n);
    const found = [await askedOf()];
    await look(FIRST + SECOND + 900n);
    expect([...found, await askedOf()]).toEqual([
      [['TOTALS_UNSEEN', 1]],
      [
        ['TOTALS_UNSEEN', 1],
        ['TOTALS_UNSEEN', 0],
      ],
    ]);
  });

  it('is asked about where it ended after the balance of the other was read, over which none can be compared', async () => {
    const endedBy = (by: string) =>
      sql(`UPDATE instruction SET closed_at = closed_at ${by} WHERE pay_run_id = '${runIds[0]}'`);
    await endedBy(`+ interval '1 hour'`);
    await look(SECOND + UNPAID, undefined, 1);
    const found = [await askedOf()];
    await look(FIRST + SECOND + UNPAID);
    await endedBy(`- interval '1 hour'`);
    expect([...found, await askedOf()]).toEqual([[], [['TOTALS_UNSEEN', 0]]]);
  });

  it('is asked about, too, where money of its own came back by its status', async () => {
    await sql(`UPDATE payment SET returned_at = now() WHERE pay_run_id = '${runIds[0]}' AND row_no = 2`);
    await look(FIRST + SECOND);
    expect(await askedOf()).toEqual([['TOTALS_UNSEEN', 0]]);
  });

  describe('and the other is not looked at, or not yet,', () => {
    const dated = (date: string) =>
      sql(`UPDATE pay_run SET execution_date = ${date} WHERE id = '${runIds[1]}'`);
    const lookOverBoth = async () => {
      await look(SECOND + UNPAID, undefined, 1);
      const found = [await askedOf()];
      await look(FIRST + SECOND + UNPAID);
      return [...found, await askedOf()];
    };

    it('is not asked about where the date of the other is far off: that is, since its payments have ended', async () => {
      await dated('current_date + 60');
      const found = await lookOverBoth();
      await dated('current_date');
      expect(found).toEqual([[['TOTALS_UNSEEN', 1]], [['TOTALS_UNSEEN', 1]]]);
    });

    it('is asked about while an instruction of the other is still to be submitted', async () => {
      await sql(`UPDATE pay_run SET status = 'SUBMITTING' WHERE id = '${runIds[1]}'`);
      const found = await lookOverBoth();
      await sql(`UPDATE pay_run SET status = 'SETTLED' WHERE id = '${runIds[1]}'`);
      expect(found).toEqual([[], [['TOTALS_UNSEEN', 0]]]);
    });

    it('is asked about once the other is watched no longer', async () => {
      payroll.clock.offsetMs = 31 * DAY_MS;
      await look(FIRST + SECOND + UNPAID);
      expect(await askedOf()).toEqual([['TOTALS_UNSEEN', 0]]);
    });
  });
});

describe('a run beside another that passed its gate while it was under way, and is not submitted yet', () => {
  beforeAll(() => settled(2, 10));
  afterAll(close);

  it('is looked at until that is, since no look over the other can be compared', async () => {
    const isLookedAt = async () => {
      const open = `SELECT FROM pay_run WHERE id = '${runIds[0]}' AND balance_before_minor IS NOT NULL`;
      return (await select(payroll.database.superuserUrl, open)).length === 1;
    };
    payroll.clock.offsetMs = DAY_MS;
    await sql(`
      UPDATE pay_run SET balance_before_minor = 10000000, balance_read_at = '2020-01-01' WHERE id = '${runIds[0]}';
      UPDATE pay_run SET status = 'SUBMITTING', balance_before_minor = 10000000, balance_asked_at = NULL, balance_read_at =
        (SELECT closed_at - interval '1 ms' FROM instruction WHERE pay_run_id = '${runIds[0]}') WHERE id = '${runIds[1]}';
      DELETE FROM submit_attempt WHERE instruction_id IN (SELECT id FROM instruction WHERE pay_run_id = '${runIds[1]}');
      UPDATE instruction SET status = 'VERIFIED', submitted_at = NULL, closed_at = NULL, outcome = NULL
        WHERE pay_run_id = '${runIds[1]}'`);
    await look(2n * AMOUNT_MINOR);
    const found = [await isLookedAt()];
    await sql(`UPDATE pay_run SET balance_read_at = (SELECT closed_at + interval '1 minute' FROM instruction
      WHERE pay_run_id = '${runIds[0]}') WHERE id = '${runIds[1]}'`);
    await look(2n * AMOUNT_MINOR);
    expect([...found, await isLookedAt()]).toEqual([true, false]);
  });
});

describe('a run of two instructions, while another was paid from its account', () => {
  beforeAll(() => settled(2, 1, 100n));
  afterAll(close);

  it('is asked about where all of it was executed again', async () => {
    await sql('UPDATE payment SET amount_minor = amount_minor + row_no');
    const [first, second] = [2n * AMOUNT_MINOR + 3n, 2n * (AMOUNT_MINOR + 100n) + 3n];
    await look(2n * first + second);
    const beyond =
      'SELECT pay_run_id AS run, instruction_id AS id, beyond_payments AS payments, beyond_minor AS minor FROM attention';
    expect(await select(payroll.database.superuserUrl, beyond)).toEqual([
      { run: runIds[0], id: null, payments: 2, minor: String(first) },
    ]);
  });
});

describe('runs whose account has lost as much again as several of their instructions pay', () => {
  const ASKED = `SELECT a.subject_id AS run, a.instruction_id AS id, a.ask_bank AS "askBank", a.amount_minor AS minor,
    (SELECT count(*) FROM instruction i WHERE strpos(a.ask_bank, i.bank_instruction_id) > 0)::int AS named
    FROM attention a WHERE a.resolved_at IS NULL ORDER BY a.opened_at`;
  const told = () =>
    select<{ run: string; id: string | null; askBank: string; minor: string; named: number }>(
      payroll.database.superuserUrl,
      ASKED,
    );
  const remembered = () =>
    sql(`
      DELETE FROM attention;
      UPDATE pay_run r SET balance_before_minor = 10000000, balance_read_at = ${beforeSubmitOf('r.id')}`);
  afterEach(close);

  it('is asked about all of them, by what the bank calls them', async () => {
    await settled(1, 1);
    await look(3n * AMOUNT_MINOR);
    const [question] = await told();
    const askBank = expect.stringMatching(
      /^Was any of our customer instructions \d+, \d+ executed twice/,
    ) as string;
    const ofOne = String(AMOUNT_MINOR);
    expect(question).toEqual({ run: runIds[0], id: null, askBank, minor: ofOne, named: 2 });
  });

  it('are each asked about them, so that nobody of either is paid again before the answer', async () => {
    await settled(2, 10);
    await remembered();
    await look(6n * AMOUNT_MINOR);
    const found = (await told()).map(({ run, named }) => [runIds.indexOf(run), named]);
    expect(found.sort()).toEqual([
      [0, 2],
      [1, 2],
    ]);
  });

  it('are asked about where some of the runs, each of another sum, were executed again', async () => {
    await settled(3, 10, 100n);
    await remembered();
    await sql(`UPDATE payment SET amount_minor = amount_minor + 50 WHERE pay_run_id = '${runIds[2]}'`);
    const [first, second, third] = [0n, 100n, 250n].map((more) => 2n * (AMOUNT_MINOR + more));
    await look(2n * first! + second! + 2n * third!);
    expect((await told()).map(({ run, minor }) => [runIds.indexOf(run), BigInt(minor)])).toEqual([
      [0, first],
      [2, third],
    ]);
  });

  it('is asked about anew where one was told, and another was executed again since', async () => {
    await settled(1, 1);
    await sql(`
      INSERT INTO instruction SELECT (jsonb_populate_record(i, jsonb_build_object('id', gen_random_uuid(),
          'planned_instruction_id', gen_random_uuid(), 'bank_instruction_id', '4712', 'closed_at', closed_at - interval '1 hour'))).*
        FROM instruction i ORDER BY id LIMIT 1;
      INSERT INTO bank_payment SELECT (jsonb_populate_record(b, jsonb_build_object('id', gen_random_uuid(), 'bank_payment_id', '4713',
          'payment_id', '00000000-0000-4000-8000-000000000001', 'row_no', 3, 'instruction_id', (SELECT id FROM instruction WHERE bank_instruction_id = '4712')))).*
        FROM bank_payment b LIMIT 1;
      INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('id', '00000000-0000-4000-8000-000000000001', 'row_no', 3, 'employee_id', 'E-third'))).*
        FROM payment p LIMIT 1;
      UPDATE payment SET amount_minor = amount_minor + row_no * row_no`);
    const paid = [1n, 4n, 9n].map((more) => AMOUNT_MINOR + more);
    const took = 3n * AMOUNT_MINOR + 14n;
    const found = [];
    for (const again of [paid[1]!, paid[1]! + paid[2]!]) {
      await look(took + again, undefined, 0, false);
      found.push((await told()).map(({ id, named, minor }) => [id !== null, named, BigInt(minor)]));
    }
    expect(found).toEqual([[[true, 1, paid[1]]], [[false, 2, paid[1]! + paid[2]!]]]);
  });
});
