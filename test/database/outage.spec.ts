import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Database, EmployerTransaction, Transaction } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { newId } from '../../src/database/new-id';
import {
  afterCommit,
  Availability,
  DatabaseAway,
  isConnectionLoss,
  isPassing,
  isRefusal,
  NotDurable,
} from '../../src/database/outage';
import { execute, select, TestDatabase, testDatabase } from '../support/database';
import { CommitFault, DatabaseProxy } from '../support/database-proxy';

const WAITS = { DATABASE_CONNECT_MS: 1_500, DATABASE_STATEMENT_MS: 2_000, DATABASE_COMMIT_MS: 300 };
/** What a busy machine may add to a bound. */
const SLACK_MS = 10_000;
const POOL = 2;

let server: TestDatabase;
let proxy: DatabaseProxy;
let source: DataSource;
let database: Database;

const insert = (id: string) => (tx: EmployerTransaction) =>
  tx.query(`INSERT INTO employer (id, name, time_zone) VALUES ($1, $2, 'UTC')`, [id, id]);
const stored = async (id: string) =>
  (await select(server.superuserUrl, 'SELECT FROM employer WHERE id = $1', [id])).length === 1;
const ping = () => database.outsideEmployers((tx) => tx.query('SELECT 1 AS one'));
const question = () => database.ask('SELECT 1 AS one');
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function failureOf(
  work: Promise<unknown>,
): Promise<{ error: Error & { cause?: unknown }; ms: number }> {
  const startedMs = performance.now();
  const error: unknown = await work.then(
    () => new Error('it did not fail'),
    (failure: unknown) => failure,
  );
  return { error: error as Error, ms: performance.now() - startedMs };
}

beforeAll(async () => {
  server = await testDatabase();
  proxy = await DatabaseProxy.start(server.url);
  source = await openDataSource(dataSourceOptions(proxy.through(server.url), [], POOL, WAITS));
  database = new Database(source, WAITS);
});
beforeEach(() => {
  jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  jest.spyOn(Logger.prototype, 'log').mockImplementation();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await proxy.restore();
});
afterAll(async () => {
  await source.destroy();
  await proxy.stop();
  await server.drop();
});

describe('a COMMIT', () => {
  it.each<[CommitFault, boolean]>([
    ['never arrives', false],
    ['cut before', false],
    ['answer lost', true],
    ['answer hangs', true],
    ['warning', true],
  ])('that met "%s" is not durable, in bounded time (committed at the server: %s)', async (fault, there) => {
    const id = newId();
    const hit = proxy.atCommit(/INSERT INTO employer/, fault);
    const { error, ms } = await failureOf(database.inEmployer(id, insert(id)));
    expect(error).toBeInstanceOf(NotDurable);
    await hit;
    expect(ms).toBeLessThan(WAITS.DATABASE_COMMIT_MS + SLACK_MS);
    expect(await stored(id)).toBe(there);
  });

  it.each<CommitFault>(['never arrives', 'answer hangs'])(
    'that met "%s" leaves a connection that nobody is given any more',
    async (fault) => {
      const id = newId();
      const pidOf = (tx: EmployerTransaction) => tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      const hit = proxy.atCommit(/INSERT INTO employer/, fault);
      let broken: number | undefined;
      const work = database.inEmployer(id, async (tx) => {
        broken = (await pidOf(tx))[0]?.pid;
        await insert(id)(tx);
      });
      await expect(work).rejects.toThrow(NotDurable);
      await hit;
      const next = await Promise.all(
        Array.from({ length: 2 * POOL }, () => database.inEmployer(id, (tx) => pidOf(tx))),
      );
      expect(next.flat().map(({ pid }) => pid)).not.toContain(broken);
      expect(proxy.connections).toBeLessThanOrEqual(POOL);
    },
  );

  it('that the server refused is told as what it is', async () => {
    await execute(
      server.adminUrl,
      `CREATE FUNCTION not_now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
       CREATE CONSTRAINT TRIGGER not_now AFTER INSERT ON employer DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW WHEN (NEW.time_zone = 'refused') EXECUTE FUNCTION not_now()`,
    );
    const id = newId();
    const { error } = await failureOf(
      database.inEmployer(id, (tx) =>
        tx.query(`INSERT INTO employer (id, name, time_zone) VALUES ($1, 'x', 'refused')`, [id]),
      ),
    );
    expect(error.message).toBe('not now');
    expect(error).not.toBeInstanceOf(NotDurable);
  });
});

describe('a server that speaks another language', () => {
  const LANGUAGES = [
    { ERROR: 'FEHLER', FATAL: 'FATAL', PANIC: 'PANIK' },
    { ERROR: 'ERREUR', FATAL: 'FATAL', PANIC: 'PANIC' },
    { ERROR: 'ERRORE', FATAL: 'FATALE', PANIC: 'PANICO' },
  ];
  const said = (severity: string, code: string) => {
    const error = Object.assign(new Error('said'), { severity, code });
    return { loss: isConnectionLoss(error), refusal: isRefusal(error), passing: isPassing(error) };
  };
  const LOST = { loss: true, refusal: false, passing: false };
  const REFUSED = { loss: false, refusal: true, passing: false };

  it.each(LANGUAGES)('is understood as in English ($ERROR)', ({ ERROR, FATAL, PANIC }) => {
    for (const code of ['40P01', '40001', '55P03'])
      expect(said(ERROR, code)).toEqual({ ...REFUSED, passing: true });
    for (const code of ['23505', '42501', '57014', 'P0001', '25P02'])
      expect(said(ERROR, code)).toEqual(REFUSED);
    for (const code of ['57P01', '57P02', '57P03', '57P04', '57P05', '25P03', '25P04', '53300', '08P01'])
      expect(said(FATAL, code)).toEqual(LOST);
    for (const code of ['53100', '58030', 'XX000']) expect(said(PANIC, code)).toEqual(LOST);
  });

  it('has refused nothing for sure with a code that it could also have ended with', () => {
    expect(said('FEHLER', 'XX000')).toEqual(LOST);
    expect(said('FEHLER', '')).toEqual(LOST);
    expect(said('ERROR', 'XX000')).toEqual(REFUSED);
    expect(said('ERROR', '57P01')).toEqual(REFUSED);
    expect(said('FATAL', '40P01')).toEqual(LOST);
  });

  it.each(LANGUAGES)('may deadlock, refuse and end a session ($ERROR)', async (severities) => {
    proxy.translate(severities);
    const raise = (code: string) => `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${code}'; END $$`;
    let attempts = 0;
    await database.inEmployerRepeatedly(newId(), async (tx) => {
      attempts += 1;
      if (attempts === 1) await tx.query(raise('40P01'));
    });
    expect(attempts).toBe(2);
    const atCommit = await failureOf(
      database.outsideEmployers(async (tx) => tx.beforeCommit('record', () => [raise('23514')])),
    );
    expect(atCommit.error).not.toBeInstanceOf(NotDurable);
    expect(atCommit.error.message).toBe('no');
    const ended = await failureOf(
      database.outsideEmployers((tx) => tx.query('SELECT pg_terminate_backend(pg_backend_pid())')),
    );
    expect(ended.error).toBeInstanceOf(DatabaseAway);
  });
});

it('a connection that could not be rolled back is given to nobody any more', async () => {
  const spare = source.createQueryRunner();
  const rollback = jest.spyOn(Object.getPrototypeOf(spare), 'rollbackTransaction');
  rollback.mockRejectedValueOnce(new Error('not rolled back'));
  const pidOf = (tx: Transaction) => tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  let broken: number | undefined;
  const failure = new Error('of the work');
  const work = database.outsideEmployers(async (tx) => {
    broken = (await pidOf(tx))[0]?.pid;
    throw failure;
  });
  await expect(work).rejects.toBe(failure);
  const next = await Promise.all(
    Array.from({ length: 2 * POOL }, () => database.outsideEmployers((tx) => pidOf(tx))),
  );
  expect(next.flat().map(({ pid }) => pid)).not.toContain(broken);
});

describe.each([
  ['a transaction', ping],
  ['a question', question],
])('a database that is away from %s', (_what, reach) => {
  it('is given up when it refuses connections, and used when it is back', async () => {
    await proxy.refuse();
    const { error, ms } = await failureOf(reach());
    expect(error).toBeInstanceOf(DatabaseAway);
    expect(ms).toBeLessThan(WAITS.DATABASE_CONNECT_MS + SLACK_MS);
    expect(database.availability.available).toBe(false);
    await proxy.restore();
    // Idle connections hear of their end in the next turn of the loop.
    await pause(100);
    expect(await reach()).toEqual([{ one: 1 }]);
    expect(database.availability.available).toBe(true);
  });

  it('is given up when it says nothing: on old connections, on new ones, and while the pool is waited for', async () => {
    await reach();
    proxy.hush();
    const all = await Promise.all(Array.from({ length: 3 * POOL }, () => failureOf(reach())));
    for (const { error, ms } of all) {
      expect(error).toBeInstanceOf(DatabaseAway);
      expect(ms).toBeLessThan(3 * WAITS.DATABASE_CONNECT_MS + SLACK_MS);
    }
    await proxy.restore();
    expect(await reach()).toEqual([{ one: 1 }]);
  });
});

describe('a database that is away', () => {
  it('is given up by a question that it does not answer in time, or at which it ends the session', async () => {
    const slow = await failureOf(database.ask('SELECT pg_sleep(60)'));
    expect(slow.error).toBeInstanceOf(DatabaseAway);
    expect(slow.ms).toBeLessThan(WAITS.DATABASE_CONNECT_MS + SLACK_MS);
    const ended = await failureOf(database.ask('SELECT pg_terminate_backend(pg_backend_pid())'));
    expect(ended.error.message).toBe('the database is away: SQLSTATE 57P01');
    expect(await Promise.all(Array.from({ length: 2 * POOL }, question))).toHaveLength(2 * POOL);
    expect(proxy.connections).toBeLessThanOrEqual(POOL);
  });

  it('is not what a question that the server refuses is told', async () => {
    await question();
    const { error } = await failureOf(database.ask('SELECT 1 / 0'));
    expect(error).not.toBeInstanceOf(DatabaseAway);
    expect(error.message).toBe('division by zero');
    expect(database.availability.available).toBe(true);
    expect(await question()).toEqual([{ one: 1 }]);
  });

  it('is given up when it goes silent in the middle of the work', async () => {
    const { error, ms } = await failureOf(
      database.outsideEmployers(async (tx) => {
        proxy.hush();
        await tx.query('SELECT 1');
      }),
    );
    expect(error).toBeInstanceOf(DatabaseAway);
    expect(ms).toBeLessThan(WAITS.DATABASE_STATEMENT_MS + 3 * WAITS.DATABASE_CONNECT_MS + SLACK_MS);
  });

  it.each<[string, string, () => Promise<void>]>([
    ['the network', 'Connection terminated unexpectedly', async () => proxy.cut()],
    [
      'the server',
      'SQLSTATE 57P01',
      () =>
        execute(
          server.superuserUrl,
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'payrun_app' AND datname = current_database()`,
        ),
    ],
  ])('is told as such when %s ends the connection between two statements (%s)', async (_who, cause, end) => {
    const { error } = await failureOf(
      database.outsideEmployers(async (tx) => {
        await tx.query('SELECT 1');
        await end();
        await pause(100);
        await tx.query('SELECT 1');
      }),
    );
    expect(error).toBeInstanceOf(DatabaseAway);
    expect(error.message).toBe(`the database is away: ${cause}`);
    const last = await failureOf(
      database.outsideEmployers(async (tx) => {
        await tx.query('SELECT 1');
        await end();
        await pause(1_000);
      }),
    );
    expect(last.error).toBeInstanceOf(DatabaseAway);
    expect(await ping()).toEqual([{ one: 1 }]);
  });

  it('is not blamed for what the work itself threw, nor for a socket of somebody else', async () => {
    const own = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    expect((await failureOf(database.outsideEmployers(() => Promise.reject(own)))).error).toBe(own);
    const failure = new Error('after the cut');
    const { error } = await failureOf(
      database.outsideEmployers(async () => {
        proxy.cut();
        throw failure;
      }),
    );
    expect(error).toBe(failure);
  });

  it('does not hold up who works alone: a lock that cannot be given back goes with its connection', async () => {
    const { ms } = await failureOf(database.exclusively('x', async () => proxy.hush()));
    expect(ms).toBeLessThan(WAITS.DATABASE_CONNECT_MS + SLACK_MS);
    await proxy.restore();
    expect(await database.exclusively('x', () => Promise.resolve('free'))).toBe('free');
  });

  it('is no reason to end work that is done alone and takes long', async () => {
    const done = database.exclusively('x', async () => {
      await pause(WAITS.DATABASE_CONNECT_MS + WAITS.DATABASE_STATEMENT_MS);
      return 'done';
    });
    expect(await done).toBe('done');
  });
});

describe('a pool with nothing left', () => {
  it('is waited for in bounded time, and serves again when one is given back', async () => {
    let letGo = (): void => undefined;
    const released = new Promise<void>((resolve) => (letGo = resolve));
    const held = Array.from({ length: POOL }, () => database.outsideEmployers(() => released));
    const { error, ms } = await failureOf(ping());
    expect(error).toBeInstanceOf(DatabaseAway);
    expect(ms).toBeGreaterThan(WAITS.DATABASE_CONNECT_MS - 50);
    expect(ms).toBeLessThan(WAITS.DATABASE_CONNECT_MS + SLACK_MS);
    letGo();
    await Promise.all(held);
    expect(await ping()).toEqual([{ one: 1 }]);
  });
});

describe('work that may be done again', () => {
  const raising = (sqlState: string, times: number) => {
    let left = times;
    let attempts = 0;
    const work = async (tx: EmployerTransaction) => {
      attempts += 1;
      if (left-- > 0)
        await tx.query(`DO $$ BEGIN RAISE EXCEPTION 'passing' USING ERRCODE = '${sqlState}'; END $$`);
      return 'done';
    };
    return { work, attempts: () => attempts };
  };

  it('is done again after a real deadlock, and both are committed', async () => {
    const ids = [newId(), newId()] as const;
    for (const id of ids) await database.inEmployer(id, insert(id));
    await execute(
      server.adminUrl,
      `CREATE TABLE spot (id uuid PRIMARY KEY, n integer NOT NULL DEFAULT 0);
       GRANT SELECT, UPDATE ON spot TO payrun_app; INSERT INTO spot (id) VALUES ('${ids[0]}'), ('${ids[1]}')`,
    );
    await execute(
      server.superuserUrl,
      `ALTER DATABASE ${new URL(server.url).pathname.slice(1)} SET deadlock_timeout = '50ms'`,
    );
    proxy.cut();
    await pause(50);
    let attempts = 0;
    let locked = 0;
    const crossing = (first: string, second: string) =>
      database.inEmployerRepeatedly(first, async (tx) => {
        attempts += 1;
        await tx.query('UPDATE spot SET n = n + 1 WHERE id = $1', [first]);
        locked += 1;
        while (locked < 2) await pause(5);
        await tx.query('UPDATE spot SET n = n + 1 WHERE id = $1', [second]);
      });
    await Promise.all([crossing(ids[0], ids[1]), crossing(ids[1], ids[0])]);
    expect(attempts).toBeGreaterThan(2);
    expect(await select(server.superuserUrl, 'SELECT n FROM spot')).toEqual([{ n: 2 }, { n: 2 }]);
  });

  it.each(['40P01', '40001', '55P03'])('is done again after %s', async (sqlState) => {
    const passing = raising(sqlState, 1);
    expect(await database.inEmployerRepeatedly(newId(), passing.work)).toBe('done');
    expect(passing.attempts()).toBe(2);
  });

  it('is done five times in all, and then what failed it is told', async () => {
    const lasting = raising('40P01', 100);
    await expect(database.inEmployerRepeatedly(newId(), lasting.work)).rejects.toThrow('passing');
    expect(lasting.attempts()).toBe(5);
  });

  it('is done again when its connection was lost', async () => {
    let attempts = 0;
    const done = database.inEmployerRepeatedly(newId(), async (tx) => {
      attempts += 1;
      if (attempts === 1) proxy.cut();
      await tx.query('SELECT 1');
      return 'done';
    });
    expect(await done).toBe('done');
    expect(attempts).toBe(2);
  });

  it.each<[string, () => { run: Promise<unknown>; attempts: () => number }]>([
    [
      'a commit without an answer',
      () => {
        const id = newId();
        let attempts = 0;
        void proxy.atCommit(/INSERT INTO employer/, 'answer lost');
        const run = database.inEmployerRepeatedly(id, async (tx) => {
          attempts += 1;
          await insert(id)(tx);
        });
        return { run, attempts: () => attempts };
      },
    ],
    [
      'a broken constraint',
      () => {
        const { work, attempts } = raising('23505', 9);
        return { run: database.inEmployerRepeatedly(newId(), work), attempts };
      },
    ],
  ])('is not done again after %s', async (_what, begin) => {
    const { run, attempts } = begin();
    await expect(run).rejects.toThrow();
    expect(attempts()).toBe(1);
  });
});

describe('an outage in the log', () => {
  it('is told once, with its cause and nothing of a row, and once that it is over', () => {
    const warned = Logger.prototype.warn as jest.Mock;
    let nowMs = 0;
    const availability = new Availability(() => nowMs);
    const refused = () => new DatabaseAway(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
    for (; nowMs < 600_000; nowMs += 1_000) {
      availability.lost(refused());
      // Of a pool that is short some succeed.
      if (nowMs % 4_000 === 0) availability.reached();
    }
    nowMs += 10_000;
    availability.reached();
    availability.reached();
    expect(warned.mock.calls.flat()).toEqual([
      'the database is away: ECONNREFUSED; work waits until it is back',
      'the database is back',
    ]);
    availability.lost(refused());
    expect(warned).toHaveBeenCalledTimes(3);
  });

  it('names what the server said by its code', () => {
    const ended = Object.assign(new Error('for Jane Doe'), { severity: 'FATAL', code: '57P01' });
    expect(new DatabaseAway(ended).message).toBe('the database is away: SQLSTATE 57P01');
  });
});

describe('what is left of a request after its commit', () => {
  it('leaves it open whether anything was carried out, where the database fails it', async () => {
    const { error } = await failureOf(afterCommit(() => Promise.reject(new DatabaseAway(new Error('gone')))));
    expect(error).toBeInstanceOf(NotDurable);
  });

  it('fails as it is, where it fails by itself', async () => {
    const own = new RangeError('too far');
    expect((await failureOf(afterCommit(() => Promise.reject(own)))).error).toBe(own);
    expect(await afterCommit(async () => 'done')).toBe('done');
  });
});
