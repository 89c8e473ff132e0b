import { once } from 'node:events';
import { Client, DatabaseError } from 'pg';
import { DataSource } from 'typeorm';
import { BankHttp } from '../../src/bank/http';
import { Database, Statement, Transaction } from '../../src/database/database';
import { DatabaseAway, NotDurable } from '../../src/database/outage';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { runMigrations } from '../../src/database/migrate';
import { startTemporaryServer } from '../../src/database/temporary-server';
import { INSTRUCTION_INITIAL } from '../../src/domain/instruction';
import { PAY_RUN_INITIAL } from '../../src/domain/pay-run';
import { ENTITIES } from '../../src/entities';
import { execute, select, TestDatabase, testDatabase } from '../support/database';
import { eventually } from '../support/eventually';
import { takeCallsInside } from '../support/no-bank-call-inside';
import { firstRows, idsOf, insertion, Row, secondRows, twoEmployers, uuid } from './two-employers';

const OURS = idsOf(1).employer;
const THEIRS = idsOf(2).employer;
const INSUFFICIENT_PRIVILEGE = '42501';
const UNDEFINED_COLUMN = '42703';

/** Tables of an employer that row-level security does not cover: a person's roles are read before one is chosen. */
const SHARED = ['person_role', 'lease'];
const EMPLOYER_TABLES = Object.entries<Row>(firstRows(1)).filter(([table]) => !SHARED.includes(table));
/** Of what may only be inserted so by the application. */
const INITIAL: Record<string, Row> = {
  pay_run: { status: PAY_RUN_INITIAL },
  instruction: { status: INSTRUCTION_INITIAL },
  payment: { status: 'READY' },
  pay_hold: { outcome: null, reason: null, decided_by: null, decided_at: null },
  forgotten_instruction: { adopted_at: null },
};
/** Of what joins a run only while it is a draft. */
const JOINING = ['payment', 'planned_instruction', 'pay_run_version'];
const keyOf = (row: Row) => ['employer_id', 'chain_id', 'id'].find((column) => column in row)!;

let server: TestDatabase;
let source: DataSource;
let database: Database;

beforeAll(async () => {
  server = await testDatabase();
  await execute(server.superuserUrl, twoEmployers());
  source = await openDataSource(dataSourceOptions(server.url, ENTITIES, 1));
  database = new Database(source);
});
afterAll(async () => {
  await source.destroy();
  await server.drop();
});

/** The SQLSTATE by which a statement was refused, another error's message, or undefined when nothing was. */
async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: Error) => (error instanceof DatabaseError ? error.code : undefined) ?? error.message,
  );
}

const setRunsTo = (status: string) =>
  execute(
    server.superuserUrl,
    `SET session_replication_role = replica; UPDATE pay_run SET status = '${status}' WHERE schedule_id IS NOT NULL`,
  );

const employerOf = async (tx: Transaction) =>
  (await tx.query<{ id: string | null }>('SELECT current_employer() AS id'))[0]?.id;

it('sends nothing over a connection that may be in other hands by then', async () => {
  let kept: Transaction | undefined;
  await database.outsideEmployers((tx) => {
    kept = tx;
    return Promise.resolve();
  });
  await expect(kept?.query('SELECT 1')).rejects.toThrow('released');
});

describe('a call to the bank', () => {
  const bank = new BankHttp();
  const call = () => bank.send({ method: 'GET', url: 'http://127.0.0.1:9/accounts', headers: {} });
  afterAll(() => bank.close());

  it.each<[string, (work: () => Promise<unknown>) => Promise<unknown>]>([
    ['inEmployer', (work) => database.inEmployer(OURS, work)],
    ['inEmployerAtOnce', (work) => database.inEmployerAtOnce(OURS, work)],
    ['inEmployerRepeatedly', (work) => database.inEmployerRepeatedly(OURS, work)],
    ['outsideEmployers', (work) => database.outsideEmployers(work)],
    ['asWorker', (work) => database.asWorker(work)],
  ])('inside %s is seen, which fails the test that makes it', async (_, inside) => {
    await inside(call);
    expect(takeCallsInside()).toEqual(['GET /accounts']);
  });

  it('that waits for the end of a transaction, or needs none, may be made', async () => {
    let end: () => void = () => undefined;
    let later: Promise<unknown> | undefined;
    await database.inEmployer(OURS, async () => {
      later = new Promise<void>((resolve) => (end = resolve)).then(call);
    });
    end();
    await later;
    await database.exclusively('the bank', call);
    await call();
    expect(takeCallsInside()).toEqual([]);
  });
});

it('plans a statement of a kept plan once on each connection, and another with each text', async () => {
  const kept = await database.outsideEmployers(async (tx) => {
    await tx.query('SELECT 1 AS one', [], 'kept');
    expect(await tx.query('SELECT $1::int AS n', [2], 'kept')).toEqual([{ n: 2 }]);
    expect(await tx.query('SELECT $1::int AS n', [3], 'kept')).toEqual([{ n: 3 }]);
    return tx.query<{ statement: string }>('SELECT statement FROM pg_prepared_statements');
  });
  const texts = kept.map(({ statement }) => statement);
  expect(texts.filter((text) => text === 'SELECT $1::int AS n')).toHaveLength(1);
  expect(texts).toContain('SELECT 1 AS one');
});

describe('a unit of work of one employer', () => {
  it.each(EMPLOYER_TABLES)('sees its own rows of %s and no other', async (table, row) => {
    const key = keyOf(row);
    const everyone = await select(server.superuserUrl, `SELECT DISTINCT ${key} AS id FROM ${table}`);
    expect(everyone).toEqual(expect.arrayContaining([{ id: OURS }, { id: THEIRS }]));
    const seen = await database.inEmployer(OURS, (tx) =>
      tx.query(`SELECT DISTINCT ${key} AS id FROM ${table}`),
    );
    expect(seen).toEqual([{ id: OURS }]);
  });

  it.each(Object.entries<Row>(secondRows(2)).filter(([table]) => !SHARED.includes(table)))(
    'writes %s for itself and never for another',
    async (table, stored) => {
      const row = { ...stored, ...INITIAL[table] };
      const insert = (employerId: string) =>
        codeOf(
          database.inEmployer(employerId, async (tx) => {
            await tx.query(insertion(table, row));
            throw new Error('undone');
          }),
        );
      if (JOINING.includes(table)) await setRunsTo(PAY_RUN_INITIAL);
      // Whoever makes an employer enters it first.
      expect(await insert(table === 'employer' ? String(row['id']) : THEIRS)).toBe('undone');
      // These are refused by what they look for, and do not see, before the policy is asked.
      const blind = ['approval', 'submit_attempt', 'payment_decision', 'unseen_decision'].includes(table);
      expect(await insert(OURS)).toBe(blind ? '23514' : INSUFFICIENT_PRIVILEGE);
      if (JOINING.includes(table)) await setRunsTo('SUBMITTING');
    },
  );

  it('changes no row of another, and cannot give its own away', async () => {
    const stop = `UPDATE employer SET stopped_at = now(), stopped_reason = 'x' WHERE id = '${THEIRS}' RETURNING id`;
    expect(await database.inEmployer(OURS, (tx) => tx.query(stop))).toEqual([]);
    const give = `UPDATE fact_sequence SET employer_id = '${THEIRS}' WHERE employer_id = '${OURS}'`;
    expect(await codeOf(database.inEmployer(OURS, (tx) => tx.query(give)))).toBe(INSUFFICIENT_PRIVILEGE);
  });

  it('commits what it did, and undoes all of it when it fails', async () => {
    const lastSeq = () =>
      select(server.superuserUrl, `SELECT last_seq FROM fact_sequence WHERE employer_id = '${OURS}'`);
    await database.inEmployer(OURS, (tx) => tx.query('UPDATE fact_sequence SET last_seq = 5'));
    expect(await lastSeq()).toEqual([{ last_seq: '5' }]);
    const failure = new Error('after the statement');
    await expect(
      database.inEmployer(OURS, async (tx) => {
        await tx.query('UPDATE fact_sequence SET last_seq = 6');
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect(await lastSeq()).toEqual([{ last_seq: '5' }]);
  });

  it('is not taken for committed when a statement of it failed and the failure was passed over', async () => {
    const passedOver = database.inEmployer(OURS, async (tx) => {
      await tx.query('UPDATE fact_sequence SET last_seq = 7');
      await tx.query('SELECT no_such_column').catch(() => undefined);
    });
    await expect(passedOver).rejects.toThrow('nothing was committed');
    expect(await database.inEmployer(OURS, (tx) => tx.query('SELECT last_seq FROM fact_sequence'))).toEqual([
      { last_seq: '5' },
    ]);
  });

  it('is undone by a constraint that is checked at the commit, and leaves the connection fit for use', async () => {
    await execute(
      server.adminUrl,
      `CREATE FUNCTION refuse_at_commit() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'refused at the commit'; END $$;
       CREATE CONSTRAINT TRIGGER refuse_at_commit AFTER INSERT ON bank_hook DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW WHEN (NEW.bank_hook_id = 'refused') EXECUTE FUNCTION refuse_at_commit()`,
    );
    const hook = { ...secondRows(1).bank_hook, bank_hook_id: 'refused' };
    await expect(database.inEmployer(OURS, (tx) => tx.query(insertion('bank_hook', hook)))).rejects.toThrow(
      'refused at the commit',
    );
    expect(await database.outsideEmployers((tx) => employerOf(tx))).toBeNull();
  });
});

describe('what is left to the end of a unit of work', () => {
  const lastSeq = () => database.inEmployer(OURS, (tx) => tx.query('SELECT last_seq FROM fact_sequence'));
  const set = (seq: number): Statement => ['UPDATE fact_sequence SET last_seq = $1', [seq]];

  it('is written in the order of the stages, whoever left it first, and with everything else', async () => {
    await database.inEmployer(OURS, async (tx) => {
      tx.beforeCommit('history', () => set(20));
      tx.beforeCommit('wake', () => set(21));
      tx.beforeCommit('record', () => undefined);
      await tx.query(...set(22));
    });
    expect(await lastSeq()).toEqual([{ last_seq: '20' }]);
  });

  it('undoes everything when the server refuses it, and is told as what it is', async () => {
    const refused = database.inEmployer(OURS, async (tx) => {
      tx.beforeCommit('wake', () => ['SELECT no_such_column']);
      tx.beforeCommit('history', () => set(23));
      await tx.query(...set(24));
    });
    expect(await codeOf(refused)).toBe(UNDEFINED_COLUMN);
    expect(await lastSeq()).toEqual([{ last_seq: '20' }]);
  });

  it('undoes everything when it cannot be written', async () => {
    const failure = new Error('nothing to write');
    const failed = database.inEmployer(OURS, async (tx) => {
      tx.beforeCommit('wake', () => {
        throw failure;
      });
      await tx.query(...set(25));
    });
    await expect(failed).rejects.toBe(failure);
    expect(await lastSeq()).toEqual([{ last_seq: '20' }]);
  });
});

it.each<[string, (sql: string) => Promise<unknown>]>([
  ['a question', (sql) => database.ask(sql)],
  ['a transaction', (sql) => database.outsideEmployers((tx) => tx.query(sql, [], 'kept'))],
])(
  'ends a connection whose plans are of a table that is another one since, and goes on: %s',
  async (what, read) => {
    const rebuilt = (columns: string) => `
    DROP TABLE IF EXISTS rebuilt; CREATE TABLE rebuilt (${columns}); GRANT SELECT ON rebuilt TO PUBLIC;
    INSERT INTO rebuilt DEFAULT VALUES`;
    await execute(server.superuserUrl, rebuilt('one int DEFAULT 1'));
    const sql = `SELECT * FROM rebuilt /* ${what} */`;
    expect(await read(sql)).toEqual([{ one: 1 }]);
    await execute(server.superuserUrl, rebuilt('one int DEFAULT 1, two int DEFAULT 2'));
    await expect(read(sql)).rejects.toBeInstanceOf(DatabaseAway);
    expect(await read(sql)).toEqual([{ one: 1, two: 2 }]);
    await execute(server.superuserUrl, 'DROP TABLE rebuilt');
  },
);

it('says why it could not begin, not that what came behind was in vain', async () => {
  const owner = await openDataSource(dataSourceOptions(server.adminUrl, [], 1));
  const refused = await codeOf(new Database(owner).asWorker((tx) => tx.query('SELECT 1')));
  await owner.destroy();
  expect(refused).toBe(INSUFFICIENT_PRIVILEGE);
});

describe('a unit of work without an employer', () => {
  it.each(EMPLOYER_TABLES.filter(([table]) => !table.startsWith('audit_')))(
    'sees no row of %s',
    async (table) => {
      expect(await database.outsideEmployers((tx) => tx.query(`SELECT FROM ${table}`))).toEqual([]);
    },
  );

  it.each(['audit_entry', 'audit_head'])('sees the installation’s own %s only', async (table) => {
    expect(await database.outsideEmployers((tx) => tx.query(`SELECT FROM ${table}`))).toEqual([]);
    const nil = '00000000-0000-0000-0000-000000000000';
    const head = insertion('audit_head', { ...firstRows(1).audit_head, chain_id: nil });
    const entry = insertion('audit_entry', { ...firstRows(1).audit_entry, chain_id: nil });
    await codeOf(
      database.outsideEmployers(async (tx) => {
        await tx.query(table === 'audit_head' ? head : entry);
        expect(await tx.query(`SELECT chain_id FROM ${table}`)).toEqual([{ chain_id: nil }]);
        throw new Error('undone');
      }),
    ).then((outcome) => expect(outcome).toBe('undone'));
  });

  it('reads what belongs to nobody', async () => {
    const roles = await database.outsideEmployers((tx) =>
      tx.query('SELECT DISTINCT employer_id FROM person_role'),
    );
    expect(roles).toHaveLength(2);
  });
});

it('a question is asked by nobody: not by the employer or the role whose connection it is asked over', async () => {
  const asked = () => database.ask('SELECT current_employer() AS employer, current_user AS role');
  await database.inEmployer(OURS, (tx) => tx.query('SELECT 1'));
  expect(await asked()).toEqual([{ employer: null, role: 'payrun_app' }]);
  await database.asWorker((tx) => tx.query('SELECT 1'));
  expect(await asked()).toEqual([{ employer: null, role: 'payrun_app' }]);
  expect(await database.ask('SELECT FROM pay_run')).toEqual([]);
});

describe('a worker', () => {
  const GRANTED: Record<string, string[]> = {
    bank_hook: ['employer_id', 'bank_hook_id', 'bank_identity_id', 'associated_at', 'removed_at'],
    bank_payment: ['employer_id', 'instruction_id', 'bank_payment_id', 'bank_transaction_id'],
    employer: ['id', 'created_at'],
    employer_account: ['employer_id', 'id', 'bank_account_id', 'bank_user_id', 'iban_hash', 'detached_at'],
    forgotten_instruction: ['employer_id', 'adopted_at'],
    instruction: ['employer_id', 'id', 'bank_instruction_id', 'status'],
    lease: [
      ...['subject_id', 'kind', 'employer_id', 'wake_at', 'holder', 'epoch', 'leased_until', 'woken_at'],
      ...['missing', 'missing_since', 'rest_until', 'waits_for', 'waits_since', 'written_at'],
    ],
    pay_schedule: ['employer_id', 'id', 'active'],
  };
  /** Counted over all employers, and of no one. */
  const COUNTED = { attention: ['kind', 'opened_at', 'resolved_at'], pay_run: ['status'] };
  /** Of no employer. */
  const SHARED = { hook_subscription: ['bank_hook_id', 'subscribed_at'] };

  it('reads these columns of every employer, and not one more of any table', async () => {
    const columns = await select(
      server.superuserUrl,
      `SELECT c.table_name AS table, c.column_name AS column FROM information_schema.columns c
       JOIN pg_class t ON t.oid = c.table_name::regclass WHERE c.table_schema = 'public'`,
    );
    const read: Record<string, string[]> = {};
    for (const { table, column } of columns as { table: string; column: string }[]) {
      const code = await codeOf(database.asWorker((tx) => tx.query(`SELECT "${column}" FROM ${table}`)));
      if (code === undefined) (read[table] ??= []).push(column);
      else expect([table, column, code]).toEqual([table, column, INSUFFICIENT_PRIVILEGE]);
    }
    const sorted = (lists: Record<string, string[]>) =>
      Object.fromEntries(Object.entries(lists).map(([table, list]) => [table, [...list].sort()]));
    expect(sorted(read)).toEqual(sorted({ ...GRANTED, ...COUNTED, ...SHARED }));
  });

  it.each(Object.entries(GRANTED))('sees %s of all employers', async (table, columns) => {
    const column = columns.includes('employer_id') ? 'employer_id' : 'id';
    const rows = await database.asWorker((tx) => tx.query(`SELECT DISTINCT ${column} AS id FROM ${table}`));
    expect(rows).toEqual(expect.arrayContaining([{ id: OURS }, { id: THEIRS }]));
  });

  it('reaches no name, IBAN or amount of a payment, and no setting makes it', async () => {
    for (const column of ['*', 'name_sealed', 'iban_sealed', 'amount_minor', 'count(*)']) {
      const code = await codeOf(
        database.asWorker(async (tx) => {
          await tx.query(`SELECT set_config('payrun.employer_id', $1, true)`, [OURS]);
          await tx.query(`SELECT ${column} FROM payment`);
        }),
      );
      expect([column, code]).toEqual([column, INSUFFICIENT_PRIVILEGE]);
    }
  });

  it('changes nothing but leases', async () => {
    const { rows } = await withSuperuser((client) =>
      client.query(
        `SELECT table_name, privilege_type FROM information_schema.role_table_grants
         WHERE grantee = 'payrun_worker' AND privilege_type <> 'SELECT'`,
      ),
    );
    expect(rows).toEqual([{ table_name: 'lease', privilege_type: 'UPDATE' }]);
    const stop = `UPDATE instruction SET status = status`;
    expect(await codeOf(database.asWorker((tx) => tx.query(stop)))).toBe(INSUFFICIENT_PRIVILEGE);
  });

  it('is one for its transaction only', async () => {
    const roleOf = async (tx: Transaction) =>
      (await tx.query<{ role: string }>('SELECT current_user AS role'))[0]?.role;
    expect(await database.asWorker(roleOf)).toBe('payrun_worker');
    expect(await database.outsideEmployers(roleOf)).toBe('payrun_app');
    await expect(database.asWorker(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await database.inEmployer(OURS, roleOf)).toBe('payrun_app');
  });
});

describe('the one connection of a pool', () => {
  const pidOf = async (tx: Transaction) =>
    (await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]?.pid;

  it.each<[string, (tx: Transaction) => Promise<unknown>]>([
    ['a commit', pidOf],
    ['an error of the work', () => Promise.reject(new Error('failed'))],
    ['an error of a statement', (tx) => tx.query('SELECT no_such_column')],
  ])('carries no employer into the next transaction after %s', async (_what, work) => {
    const before = await database.outsideEmployers(pidOf);
    await database.inEmployer(OURS, work).catch(() => undefined);
    const next = await database.asWorker(async (tx) => ({
      setting: await tx.query(`SELECT current_setting('payrun.employer_id', true) AS employer`),
      pid: await pidOf(tx),
    }));
    expect(next).toEqual({ setting: [{ employer: '' }], pid: before });
    expect(await database.outsideEmployers(employerOf)).toBeNull();
    expect(await database.inEmployer(THEIRS, employerOf)).toBe(THEIRS);
  });

  it('is replaced when the server ends it in the middle of the work', async () => {
    const pid = await database.inEmployer(OURS, pidOf);
    const broken = database.inEmployer(OURS, async (tx) => {
      await execute(server.superuserUrl, 'SELECT pg_terminate_backend($1)', [pid]);
      await tx.query('SELECT 1');
    });
    await expect(broken).rejects.toThrow();
    expect(await database.inEmployer(OURS, pidOf)).not.toBe(pid);
  });

  it('is waited for five seconds, and no longer', async () => {
    let letGo = (): void => undefined;
    const held = database.outsideEmployers(() => new Promise<void>((resolve) => (letGo = resolve)));
    const startedMs = Date.now();
    await expect(database.outsideEmployers(pidOf)).rejects.toThrow(/timeout/);
    expect(Date.now() - startedMs).toBeGreaterThan(4_500);
    expect(Date.now() - startedMs).toBeLessThan(20_000);
    letGo();
    await held;
    expect(await database.outsideEmployers(pidOf)).toEqual(expect.any(Number));
  });
});

describe('a commit that is not durable', () => {
  it('is told apart from one that only warns of something else', async () => {
    await execute(
      server.adminUrl,
      `CREATE FUNCTION warn_at_commit() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE WARNING 'at the commit' USING ERRCODE = NEW.bank_hook_id; RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER warn_at_commit AFTER INSERT ON bank_hook DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW WHEN (NEW.bank_hook_id ~ '^[0-9P]{5}$') EXECUTE FUNCTION warn_at_commit()`,
    );
    const insert = (code: string) =>
      database.inEmployer(OURS, (tx) =>
        tx.query(insertion('bank_hook', { ...secondRows(1).bank_hook, bank_hook_id: code })),
      );
    await expect(insert('01P01')).resolves.toEqual([]);
    await expect(insert('01000')).rejects.toThrow(NotDurable);
    await expect(
      database.inEmployer(OURS, async (tx) => {
        await tx.query(`DO $$ BEGIN RAISE WARNING 'before the commit' USING ERRCODE = '01000'; END $$`);
      }),
    ).resolves.toBeUndefined();
  });

  it('is one whose wait for a standby was cancelled', async () => {
    const alone = await startTemporaryServer({ durable: true });
    let waiting = true;
    const cancel = async () => {
      while (waiting) {
        await select(
          alone.superuserUrl,
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
        );
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    };
    try {
      await runMigrations(alone.databaseAdminUrl);
      const replicated = await openDataSource(dataSourceOptions(alone.databaseUrl, [], 1));
      await execute(alone.superuserUrl, `ALTER SYSTEM SET synchronous_standby_names = 'never_there'`);
      await execute(alone.superuserUrl, 'SELECT pg_reload_conf()');
      // The server takes the setting in a moment after it was told to.
      const commits = async () => {
        for (let n = 1; n < 1_000; n += 1) {
          await new Database(replicated).inEmployer(uuid(n), (tx) =>
            tx.query(insertion('employer', { ...firstRows(1).employer, id: uuid(n), name: `E ${n}` })),
          );
        }
      };
      const cancelling = cancel();
      await expect(commits()).rejects.toThrow(NotDurable);
      waiting = false;
      await cancelling;
      await replicated.destroy();
    } finally {
      waiting = false;
      await alone.stop();
    }
  });
});

describe('work that is done by one at a time', () => {
  let many: DataSource;
  let replicas: Database[];
  beforeAll(async () => {
    many = await openDataSource(dataSourceOptions(server.url, [], 3));
    replicas = [database, new Database(many)];
  });
  afterAll(() => many.destroy());

  it('does not overlap, in whatever process', async () => {
    const [one, other] = replicas as [Database, Database];
    const log: string[] = [];
    const work = (name: string) => async () => {
      log.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      log.push(`${name} ends`);
    };
    await Promise.all([one.exclusively('x', work('a')), other.exclusively('x', work('b'))]);
    expect(log.map((line) => line.split(' ')[1])).toEqual(['begins', 'ends', 'begins', 'ends']);
  });

  it('does not wait for work under another name', async () => {
    const [one, other] = replicas as [Database, Database];
    const answer = await one.exclusively('x', () => other.exclusively('y', () => Promise.resolve('both')));
    expect(answer).toBe('both');
  });

  it('keeps no transaction open meanwhile', async () => {
    await replicas[1]!.exclusively('x', async () => {
      const open = await select(
        server.superuserUrl,
        `SELECT state FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL
           AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
      expect(open).toEqual([]);
    });
  });

  it('is left alone where it is not free, by who asks for that', async () => {
    const [one, other] = replicas as [Database, Database];
    const done: string[] = [];
    const add = (name: string) => () => Promise.resolve(void done.push(name));
    await one.exclusively('x', () => other.exclusivelyIfFree('x', add('while it is not')));
    await other.exclusivelyIfFree('x', add('when it is'));
    await one.exclusivelyIfFree('x', add('again'));
    expect(done).toEqual(['when it is', 'again']);
  });

  it('is free again once the server has heard nothing for a while of who has it', async () => {
    const [one, other] = replicas as [Database, Database];
    const letGo: (() => void)[] = [];
    const hold = (database: Database, name: string) =>
      database.exclusively(name, () => new Promise<void>((resolve) => letGo.push(resolve)));
    const taken = async () =>
      (
        await select<{ name: string }>(
          server.superuserUrl,
          `SELECT name FROM pg_locks JOIN unnest(ARRAY['heard', 'paused']) AS name
             ON objid::bigint = hashtext(name)::bigint & 4294967295
           WHERE locktype = 'advisory' ORDER BY name`,
        )
      ).map(({ name }) => name);
    const heard = hold(one, 'heard');
    await eventually(() => Promise.resolve(letGo.length === 1), 5_000);
    const beats = jest.spyOn(global, 'setInterval').mockReturnValue(undefined as unknown as NodeJS.Timeout);
    const paused = hold(other, 'paused');
    await eventually(() => Promise.resolve(letGo.length === 2), 5_000);
    beats.mockRestore();
    expect(await taken()).toEqual(['heard', 'paused']);
    await eventually(async () => !(await taken()).includes('paused'), 60_000);
    expect(await taken()).toEqual(['heard']);
    for (const go of letGo) go();
    await Promise.all([heard, paused]);
    expect(await taken()).toEqual([]);
    const setting = `SELECT current_setting('idle_session_timeout') AS left`;
    expect(await one.ask(setting)).toEqual([{ left: '0' }]);
  });

  it('lets the next one in when it failed', async () => {
    const [one, other] = replicas as [Database, Database];
    await expect(one.exclusively('x', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await other.exclusively('x', () => Promise.resolve('free'))).toBe('free');
  });

  it('is given up when it was not free in ten seconds', async () => {
    await withSuperuser(async (client) => {
      await client.query(`SELECT pg_advisory_lock(hashtext('x'))`);
      const startedMs = Date.now();
      await expect(replicas[1]!.exclusively('x', () => Promise.resolve())).rejects.toThrow('lock timeout');
      expect(Date.now() - startedMs).toBeLessThan(15_000);
    });
    expect(await replicas[1]!.exclusively('x', () => Promise.resolve('free'))).toBe('free');
  });
});

async function withSuperuser<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: server.superuserUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    const ended = once(client, 'end');
    await client.end();
    await ended;
  }
}
