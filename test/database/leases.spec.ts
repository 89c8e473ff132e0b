import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Database, EmployerTransaction } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { LeaseWorker, WakeIn } from '../../src/database/lease-worker';
import {
  Claim,
  fence,
  Fenced,
  isThere,
  LeaseKind,
  Leases,
  missingForMs,
  wake,
  wakeAll,
  wakeThose,
} from '../../src/database/leases';
import { newId } from '../../src/database/new-id';
import { connected, execute, isWaitedFor, select, TestDatabase, testDatabase } from '../support/database';
import { eventually } from '../support/eventually';

const LEASE_MS = 60_000;
/** Later than the next claims on a busy machine. */
const SOON_MS = 3_000;
const EMPLOYER = newId();
const OTHER_EMPLOYER = newId();

let server: TestDatabase;
let source: DataSource;
let database: Database;
let leases: Leases;

beforeAll(async () => {
  server = await testDatabase();
  for (const id of [EMPLOYER, OTHER_EMPLOYER]) {
    await execute(
      server.superuserUrl,
      `INSERT INTO employer (id, name, time_zone) VALUES ($1, $2, 'Europe/Paris')`,
      [id, id],
    );
  }
  source = await openDataSource(dataSourceOptions(server.url, [], 8));
  database = new Database(source);
  leases = new Leases(database);
});
afterAll(async () => {
  await source.destroy();
  await server.drop();
});
beforeEach(() => execute(server.superuserUrl, 'DELETE FROM lease'));

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function wakeUp(...subjectIds: string[]): Promise<void> {
  return database.inEmployer(EMPLOYER, async (tx) => wake(tx, 'RUN', subjectIds));
}

/** Puts new subjects on the work list, due so many milliseconds ago. */
async function due(...agesMs: number[]): Promise<string[]> {
  const ids = agesMs.map(() => newId());
  await wakeUp(...ids);
  await database.outsideEmployers((tx) =>
    tx.query(
      `UPDATE lease l SET wake_at = clock_timestamp() - make_interval(secs => age / 1000.0)
       FROM unnest($1::uuid[], $2::float8[]) AS d(id, age) WHERE l.subject_id = d.id`,
      [ids, agesMs],
    ),
  );
  return ids;
}

async function claimOne(holder = 'first', leaseMs = LEASE_MS): Promise<Claim> {
  const [claim] = await leases.claim('RUN', holder, 1, leaseMs);
  if (!claim) throw new Error('nothing to claim');
  return claim;
}

/** As if the holder had stood still until its lease ran out, so many milliseconds ago. */
const expire = ({ subjectId }: Claim, agoMs = 1) =>
  execute(
    server.superuserUrl,
    `UPDATE lease SET leased_until = now() - make_interval(secs => $2::float8 / 1000) WHERE subject_id = $1`,
    [subjectId, agoMs],
  );

const stored = async (subjectId: string) =>
  (
    await select(
      server.superuserUrl,
      `SELECT holder, epoch, wake_at, leased_until, kind FROM lease WHERE subject_id = $1`,
      [subjectId],
    )
  )[0]!;

const fenced = (claim: Claim) => database.inEmployer(EMPLOYER, (tx) => fence(tx, claim));

describe('what work could not get on for', () => {
  const waiting = async (id: string) =>
    (
      await select<{ what: string | null; since: Date | null }>(
        server.superuserUrl,
        'SELECT waits_for AS what, waits_since AS since FROM lease WHERE subject_id = $1',
        [id],
      )
    )[0]!;

  it('is remembered from the first failure on, whoever fails next, until it gets on', async () => {
    const [id] = (await due(1_000)) as [string];
    await leases.release(await claimOne('first'), 0, 0, 'GET /a: it failed');
    const first = await waiting(id);
    await leases.release(await claimOne('second'), 0, 0, 'GET /b: it failed');
    expect(await waiting(id)).toEqual({ what: 'GET /b: it failed', since: first.since });
    await leases.release(await claimOne('third'), 0);
    expect(await waiting(id)).toEqual({ what: 'GET /b: it failed', since: first.since });
    await leases.release(await claimOne('fourth'), 0, 0, null);
    expect(await waiting(id)).toEqual({ what: null, since: null });
  });
});

describe('claiming', () => {
  it.each([-3_600_000, 3_600_000])('gives nothing to a replica whose clock is %i ms off', async (offMs) => {
    await due(1_000);
    const real = Date.now;
    const off = jest.spyOn(Date, 'now').mockImplementation(() => real() + offMs);
    expect(await leases.claim('RUN', 'first', 1, LEASE_MS)).toEqual([]);
    off.mockRestore();
    expect(await leases.claim('RUN', 'first', 1, LEASE_MS)).toHaveLength(1);
  });

  it('gives a subject to one holder, among many at once', async () => {
    const ids = await due(...Array.from({ length: 40 }, () => 1_000));
    const taken = await Promise.all(
      Array.from({ length: 16 }, (_, n) => leases.claim('RUN', `holder ${n}`, 5, LEASE_MS)),
    );
    const more = await leases.claim('RUN', 'the rest', 40, LEASE_MS);
    const subjects = [...taken.flat(), ...more].map(({ subjectId }) => subjectId);
    expect(subjects.sort()).toEqual([...ids].sort());
  });

  it.each([0, 1, 3, 30])(
    'takes never more than its limit, whatever plan the server makes for %i rows',
    async (rows) => {
      await due(...Array.from({ length: rows }, () => 1_000));
      for (const statistics of ['SELECT 1', 'ANALYZE lease', 'SELECT 1']) {
        await execute(server.superuserUrl, statistics);
        const claims = await leases.claim('RUN', 'first', 2, LEASE_MS);
        expect(claims.length).toBe(Math.min(rows, 2));
        for (const claim of claims) await leases.release(claim, 0);
      }
    },
  );

  it('takes what has been due longest first', async () => {
    const [young, oldest, old] = await due(1_000, 3_000, 2_000);
    const first = await leases.claim('RUN', 'first', 2, LEASE_MS);
    expect(first.map(({ subjectId }) => subjectId).sort()).toEqual([oldest, old].sort());
    expect((await claimOne()).subjectId).toBe(young);
  });

  it('takes over what was left before what fell due since, however long the queue is', async () => {
    const [left] = await due(60_000);
    const before = await due(50_000);
    const abandoned = await claimOne();
    expect(abandoned.subjectId).toBe(left);
    await expire(abandoned, 30_000);
    await due(...Array.from({ length: 20 }, (_, n) => n * 1_000));
    const next = await leases.claim('RUN', 'second', 2, LEASE_MS);
    expect(next.map(({ subjectId }) => subjectId).sort()).toEqual([left, ...before].sort());
  });

  it('takes what was woken during a lease that ran out in the place of its lease, not of the wake', async () => {
    const [left] = await due(60_000);
    const abandoned = await claimOne();
    await expire(abandoned, 30_000);
    await wakeUp(left!);
    await due(1_000);
    expect((await claimOne('second')).subjectId).toBe(left);
    expect(await stored(left!)).toMatchObject({ holder: 'second', wake_at: Infinity });
  });

  it('takes neither what is not due nor what is of another kind', async () => {
    await due(-60_000);
    await database.inEmployer(EMPLOYER, async (tx) => wake(tx, 'FOLLOW', [newId()]));
    expect(await leases.claim('RUN', 'first', 10, LEASE_MS)).toEqual([]);
  });

  it('serves all employers, and says whose each subject is', async () => {
    const theirs = newId();
    await database.inEmployer(OTHER_EMPLOYER, async (tx) => wake(tx, 'RUN', [theirs]));
    const [ours] = await due(1_000);
    const claims = await leases.claim('RUN', 'first', 10, LEASE_MS);
    expect(Object.fromEntries(claims.map((claim) => [claim.subjectId, claim.employerId]))).toEqual({
      [theirs]: OTHER_EMPLOYER,
      [ours!]: EMPLOYER,
    });
  });

  it('passes by a subject whose lease runs, however often it is woken', async () => {
    await due(1_000);
    const claim = await claimOne();
    await wakeUp(claim.subjectId);
    expect(await leases.claim('RUN', 'second', 10, LEASE_MS)).toEqual([]);
  });

  it('goes by the clock of the database, not of the process', async () => {
    await due(1_000);
    const { now: real } = Date;
    const now = jest.spyOn(Date, 'now').mockImplementation(() => real() - 30_000);
    try {
      expect(await leases.claim('RUN', 'first', 1, SOON_MS)).toHaveLength(1);
      expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toEqual([]);
      await eventually(async () => (await leases.claim('RUN', 'second', 1, LEASE_MS)).length === 1, 10_000);
    } finally {
      now.mockRestore();
    }
  });
});

describe('a clock of the database that was ahead, and is put right', () => {
  /** As if all that is written of a lease had been by a clock that was an hour ahead. */
  const writtenAhead = (subjectId: string) =>
    execute(
      server.superuserUrl,
      `UPDATE lease SET wake_at = wake_at + interval '1 hour', leased_until = leased_until + interval '1 hour',
         rest_until = rest_until + interval '1 hour', woken_at = woken_at + interval '1 hour',
         missing_since = missing_since + interval '1 hour', waits_since = waits_since + interval '1 hour',
         written_at = written_at + interval '1 hour' WHERE subject_id = $1`,
      [subjectId],
    );

  it('has what was asked meanwhile be due as soon as it was meant to be', async () => {
    const [now, later] = (await due(0, -60_000)) as [string, string];
    for (const id of [now, later]) await writtenAhead(id);
    expect(await leases.claim('RUN', 'first', 2, LEASE_MS)).toEqual([]);
    expect(await leases.setRight()).toBe(2);
    const claimed: string[] = [];
    await eventually(async () => {
      const claims = await leases.claim('RUN', 'first', 2, LEASE_MS);
      claimed.push(...claims.map(({ subjectId }) => subjectId));
      return claimed.length > 0;
    }, 10_000);
    expect(claimed).toEqual([now]);
    const { wake_at: wakeAt } = await stored(later);
    expect(Number(wakeAt)).toBeLessThanOrEqual(Date.now() + 60_000);
    expect(Number(wakeAt)).toBeGreaterThan(Date.now());
    expect(await leases.setRight()).toBe(0);
  });

  it('takes over from who died meanwhile, and from nobody who prolonged the lease since', async () => {
    await due(0, 0);
    const [dead, alive] = [await claimOne('dead'), await claimOne('alive')];
    for (const { subjectId } of [dead, alive]) await writtenAhead(subjectId);
    await leases.renew(alive, LEASE_MS);
    await leases.setRight();
    await expect(fenced(alive)).resolves.toBeUndefined();
    const { leased_until: until } = await stored(dead.subjectId);
    expect(Number(until)).toBeLessThanOrEqual(Date.now() + LEASE_MS);
  });

  it('leaves nothing that began later than now', async () => {
    const [id] = (await due(1_000)) as [string];
    const claim = await claimOne();
    await database.inEmployer(EMPLOYER, async (tx) => {
      missingForMs(tx, claim, 'ROWS');
    });
    await leases.release(claim, 'never', 0, 'GET /a: it failed');
    await writtenAhead(id);
    await leases.setRight();
    const [times] = await select(
      server.superuserUrl,
      `SELECT greatest(woken_at, missing_since, waits_since, written_at) <= clock_timestamp() AS past, wake_at
       FROM lease WHERE subject_id = $1`,
      [id],
    );
    expect(times).toEqual({ past: true, wake_at: Infinity });
  });

  it('leaves alone what was written by a clock that was right, however far ahead it is due', async () => {
    const [id] = (await due(-2 * 365 * 86_400_000)) as [string];
    const before = await stored(id);
    expect(await leases.setRight()).toBe(0);
    expect(await stored(id)).toEqual(before);
  });
});

describe('what is due', () => {
  const wakeOf = (kind: LeaseKind, employer = EMPLOYER) =>
    database.inEmployer(employer, async (tx) => wake(tx, kind, [newId()]));

  it('is told by its kind, of all employers at once, in one statement', async () => {
    expect(await leases.due()).toEqual(new Set());
    await wakeOf('FOLLOW');
    await wakeOf('ACCOUNT', OTHER_EMPLOYER);
    await due(-60_000);
    const asked = jest.spyOn(database, 'ask');
    expect(await leases.due()).toEqual(new Set(['FOLLOW', 'ACCOUNT']));
    expect(asked).toHaveBeenCalledTimes(1);
    asked.mockRestore();
    await wakeOf('INSTRUCTION');
    await due(1);
    expect(await leases.due()).toEqual(new Set(['RUN', 'INSTRUCTION', 'FOLLOW', 'ACCOUNT']));
  });

  it('is what a claim would find: nothing whose lease runs, though it was woken, and what ran out', async () => {
    await due(1_000);
    const claim = await claimOne();
    await wakeUp(claim.subjectId);
    expect(await leases.due()).toEqual(new Set());
    await expire(claim);
    expect(await leases.due()).toEqual(new Set(['RUN']));
    await leases.release(await claimOne('second'), 60_000);
    expect(await leases.due()).toEqual(new Set());
  });

  /** How many rows of leases one question reads, asked inside a transaction that counts them. */
  const rowsRead = () =>
    database.outsideEmployers(async (tx) => {
      const read = async () => {
        const [row] = await tx.query<{ rows: string }>(
          `SELECT seq_tup_read + idx_tup_fetch AS rows FROM pg_stat_xact_user_tables WHERE relname = 'lease'`,
        );
        return Number(row?.rows);
      };
      const ask = (sql: string, values: unknown[]) => tx.query(sql, values, 'kept');
      const before = await read();
      await new Leases({ ask } as Database).due();
      return (await read()) - before;
    });

  it.each(['SELECT 1', 'ANALYZE lease'])(
    'costs a row of each kind, however many leases there are (%s)',
    async (statistics) => {
      const kinds = 3;
      const inADay = `now() + interval '1 day'`;
      for (const wakeAt of [inADay, 'now()']) {
        await execute(
          server.superuserUrl,
          `INSERT INTO lease (subject_id, kind, employer_id, wake_at)
         SELECT gen_random_uuid(), (ARRAY['RUN', 'INSTRUCTION', 'FOLLOW'])[1 + n % ${kinds}], $1, ${wakeAt}
         FROM generate_series(1, 3000) AS n`,
          [EMPLOYER],
        );
        await execute(server.superuserUrl, statistics);
        expect(await rowsRead()).toBeLessThanOrEqual(kinds);
      }
    },
  );
});

describe('a lease that ran out', () => {
  let old: Claim;
  let taken: Claim;
  beforeEach(async () => {
    await due(1_000);
    old = await claimOne('first');
    await expire(old);
    taken = await claimOne('second');
  });

  it('is taken over with a higher epoch', () => {
    expect(taken).toEqual({ ...old, holder: 'second', epoch: String(BigInt(old.epoch) + 1n) });
  });

  it('fences the old holder off, and not the new one', async () => {
    await expect(fenced(old)).rejects.toThrow(Fenced);
    await expect(fenced(taken)).resolves.toBeUndefined();
  });

  it('undoes what the old holder was about to write', async () => {
    const write = database.inEmployer(EMPLOYER, async (tx) => {
      await tx.query(`UPDATE employer SET time_zone = 'UTC'`);
      await fence(tx, old);
    });
    await expect(write).rejects.toThrow(Fenced);
    const [employer] = await select(server.superuserUrl, `SELECT time_zone FROM employer WHERE id = $1`, [
      EMPLOYER,
    ]);
    expect(employer?.time_zone).toBe('Europe/Paris');
  });

  it('is not prolonged for the old holder', async () => {
    const before = await stored(old.subjectId);
    await expect(leases.renew(old, LEASE_MS)).rejects.toThrow(Fenced);
    expect(await stored(old.subjectId)).toEqual(before);
  });

  it('is not given back by the old holder', async () => {
    const before = await stored(old.subjectId);
    await leases.release(old, 0);
    expect(await stored(old.subjectId)).toEqual(before);
  });

  it('is not the old holder’s even when it takes the work over from itself', async () => {
    await expire(taken);
    const again = await claimOne('first');
    await expect(fenced(old)).rejects.toThrow(Fenced);
    await leases.release(old, 0);
    await expect(fenced(again)).resolves.toBeUndefined();
  });

  it('fences its holder off before anybody took it over', async () => {
    await expire(taken);
    await expect(fenced(taken)).rejects.toThrow(Fenced);
    await expect(leases.renew(taken, LEASE_MS)).rejects.toThrow(Fenced);
  });
});

describe('a fence', () => {
  it('keeps the lease standing until the commit, even when it runs out meanwhile', async () => {
    await due(1_000);
    const claim = await claimOne();
    await database.inEmployer(EMPLOYER, async (tx) => {
      await fence(tx, claim);
      await expire(claim);
      expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toEqual([]);
    });
    expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toHaveLength(1);
  });

  it('lets the adds of one holder pass side by side', async () => {
    await due(1_000);
    const claim = await claimOne();
    await database.inEmployer(EMPLOYER, async (tx) => {
      await fence(tx, claim);
      await expect(fenced(claim)).resolves.toBeUndefined();
    });
  });

  it('is none for work that was given back', async () => {
    await due(1_000);
    const claim = await claimOne();
    await leases.release(claim, 'never');
    await expect(fenced(claim)).rejects.toThrow(Fenced);
  });
});

describe('giving back', () => {
  let claim: Claim;
  beforeEach(async () => {
    await due(1_000);
    claim = await claimOne();
  });

  it('says when it is taken up again', async () => {
    await leases.release(claim, SOON_MS);
    expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toEqual([]);
    await eventually(async () => (await leases.claim('RUN', 'second', 1, LEASE_MS)).length === 1, 10_000);
  });

  it('for good leaves it alone until it is woken', async () => {
    await leases.release(claim, 'never');
    expect((await stored(claim.subjectId)).wake_at).toBe(Infinity);
    expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toEqual([]);
    await wakeUp(claim.subjectId);
    expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toHaveLength(1);
  });

  it('leaves what was woken for later until then, and asks for it earlier where somebody does', async () => {
    const wakeIn = (inMs: number) =>
      database.inEmployer(EMPLOYER, async (tx) => wake(tx, 'RUN', [claim.subjectId], inMs));
    await wakeIn(60_000);
    await leases.release(claim, 'never');
    const [{ in_ms: inMs } = { in_ms: NaN }] = await select<{ in_ms: number }>(
      server.superuserUrl,
      `SELECT extract(epoch FROM wake_at - clock_timestamp())::float8 * 1000 AS in_ms FROM lease WHERE subject_id = $1`,
      [claim.subjectId],
    );
    expect(inMs).toBeGreaterThan(0);
    expect(inMs).toBeLessThanOrEqual(60_000);
    await wakeIn(600_000);
    expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toEqual([]);
    await database.inEmployer(EMPLOYER, async (tx) => {
      wake(tx, 'RUN', [claim.subjectId], 600_000);
      wake(tx, 'RUN', [claim.subjectId]);
      wake(tx, 'RUN', [claim.subjectId], 600_000);
    });
    expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toHaveLength(1);
  });

  it.each<WakeIn>(['never', 60_000])(
    '(%s) does not lose a wake that came during the lease',
    async (wakeIn) => {
      await wakeUp(claim.subjectId);
      await leases.release(claim, wakeIn);
      expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toHaveLength(1);
    },
  );

  it('rests before an event brings it forward, during the lease or after it, and not before somebody does', async () => {
    const event = () => database.asWorker((tx) => wakeThose(tx, 'subject_id = $1', [claim.subjectId]));
    const claimed = async () => (await leases.claim('RUN', 'second', 1, LEASE_MS))[0];
    await event();
    await leases.release(claim, 'never', 600_000);
    expect(await claimed()).toBeUndefined();
    await event();
    expect(await claimed()).toBeUndefined();
    await wakeUp(claim.subjectId);
    const again = await claimed();
    await leases.release(again!, 'never', SOON_MS);
    await event();
    expect(await claimed()).toBeUndefined();
    let rested: Claim | undefined;
    const isClaimed = async () => (rested = await claimed()) !== undefined;
    await eventually(isClaimed, 10_000);
    await leases.release(rested!, 100, 600_000);
    await eventually(isClaimed, 10_000);
  });

  it('does not take up again what was woken before the lease only', async () => {
    await leases.release(claim, 'never');
    await wakeUp(claim.subjectId);
    await leases.release(await claimOne(), 'never');
    expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toEqual([]);
  });

  it('tells what was asked for from what is only due again, until that is answered', async () => {
    expect(claim.wokenAt).not.toBeNull();
    await leases.release(claim, 0);
    const again = await claimOne();
    expect(again.wokenAt).toBe(claim.wokenAt);
    await leases.answer(again);
    await leases.release(again, 0);
    expect((await claimOne()).wokenAt).toBeNull();
  });

  it('does not take for answered what was asked meanwhile', async () => {
    await wakeUp(claim.subjectId);
    await leases.answer(claim);
    await leases.release(claim, 'never');
    const { wokenAt } = await claimOne();
    expect(wokenAt).not.toBeNull();
    expect(wokenAt).not.toBe(claim.wokenAt);
  });

  it('remembers what is missing from the first time on, until it is there or something else is missing', async () => {
    const lacks = (one: Claim, what: string) =>
      database.inEmployer(EMPLOYER, async (tx) => missingForMs(tx, one, what));
    const again = async (one: Claim) => {
      await leases.release(one, 0);
      return claimOne();
    };
    expect(claim.missing).toBeNull();
    expect(await lacks(claim, 'rows')).toBe(0);
    const second = await again(claim);
    expect(second.missing?.what).toBe('rows');
    const waitedMs = await lacks(second, 'rows');
    expect(waitedMs).toBeGreaterThan(0);
    const third = await again(second);
    expect(await lacks(third, 'rows')).toBeGreaterThan(waitedMs);
    expect(await lacks(third, 'money')).toBe(0);
    const fourth = await again(third);
    await database.inEmployer(EMPLOYER, async (tx) => isThere(tx, fourth, 'rows'));
    const fifth = await again(fourth);
    expect(fifth.missing?.what).toBe('money');
    await database.inEmployer(EMPLOYER, async (tx) => isThere(tx, fifth, 'money'));
    const sixth = await again(fifth);
    expect(sixth.missing).toBeNull();
    await lacks(fourth, 'rows');
    expect((await again(sixth)).missing).toBeNull();
  });

  it('leaves a kind it was woken as meanwhile', async () => {
    await database.inEmployer(EMPLOYER, async (tx) => wake(tx, 'FOLLOW', [claim.subjectId]));
    await leases.release(claim, 'never');
    expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toEqual([]);
    expect(await leases.claim('FOLLOW', 'second', 1, LEASE_MS)).toHaveLength(1);
  });
});

describe('waking', () => {
  it('leaves what is followed to those who follow it, whoever did not know that', async () => {
    const id = newId();
    const wakeAs = (kind: LeaseKind) => database.inEmployer(EMPLOYER, async (tx) => wake(tx, kind, [id]));
    for (const kind of ['INSTRUCTION', 'FOLLOW', 'INSTRUCTION'] as const) await wakeAs(kind);
    expect(await leases.claim('INSTRUCTION', 'first', 1, LEASE_MS)).toEqual([]);
    expect(await leases.claim('FOLLOW', 'first', 1, LEASE_MS)).toHaveLength(1);
  });

  it('counts only when its transaction commits', async () => {
    const id = newId();
    const failed = database.inEmployer(EMPLOYER, async (tx) => {
      wake(tx, 'RUN', [id]);
      throw new Error('undone');
    });
    await expect(failed).rejects.toThrow('undone');
    expect(await leases.claim('RUN', 'first', 1, LEASE_MS)).toEqual([]);
  });

  it('brings forward and never puts off', async () => {
    const [late, early] = await due(-60_000, 60_000);
    const before = await stored(early!);
    await wakeUp(late!, early!);
    expect((await stored(early!)).wake_at).toEqual(before.wake_at);
    expect(await leases.claim('RUN', 'first', 2, LEASE_MS)).toHaveLength(2);
  });

  it('of all leaves other employers and what is followed alone', async () => {
    const subjects: [LeaseKind, string, string][] = [
      ['RUN', EMPLOYER, newId()],
      ['INSTRUCTION', EMPLOYER, newId()],
      ['FOLLOW', EMPLOYER, newId()],
      ['RUN', OTHER_EMPLOYER, newId()],
    ];
    for (const [kind, employer, id] of subjects)
      await database.inEmployer(employer, async (tx) => wake(tx, kind, [id]));
    const sleep = () => execute(server.superuserUrl, `UPDATE lease SET wake_at = 'infinity'`);
    const awake = async () =>
      (await select(server.superuserUrl, `SELECT subject_id FROM lease WHERE wake_at <= clock_timestamp()`))
        .map((row) => row.subject_id)
        .sort();
    const idsOf = (...places: number[]) => places.map((place) => subjects[place]![2]).sort();
    await sleep();
    await database.outsideEmployers(async (tx) => wakeAll(tx, EMPLOYER));
    expect(await awake()).toEqual(idsOf(0, 1));
    await sleep();
    await database.outsideEmployers(async (tx) => wakeAll(tx));
    expect(await awake()).toEqual(idsOf(0, 1, 3));
  });
});

describe('what a transaction changes of leases', () => {
  const of = (kind: LeaseKind, id: string) =>
    database.inEmployer(EMPLOYER, async (tx) => wake(tx, kind, [id]));

  it.each<[string, (tx: EmployerTransaction, early: string, claim: Claim) => unknown]>([
    [
      'what the kill switches held back, and then one subject',
      (tx, early) => (wakeAll(tx, EMPLOYER), wake(tx, 'FOLLOW', [early])),
    ],
    [
      'one subject, and then what the kill switches held back',
      (tx, early) => (wake(tx, 'FOLLOW', [early]), wakeAll(tx, EMPLOYER)),
    ],
    [
      'what its own work lacks, and another subject',
      (tx, early, claim) => (wake(tx, 'FOLLOW', [early]), missingForMs(tx, claim, 'rows')),
    ],
    [
      'that its own work lacks nothing more, and another subject',
      (tx, early, claim) => (
        wake(tx, 'FOLLOW', [early]),
        isThere(tx, { ...claim, missing: { what: 'rows', forMs: 1 } }, 'rows')
      ),
    ],
  ])('is locked in one order, so that two never wait for one another: %s', async (_, change) => {
    const [early, late] = [newId(), newId()].sort() as [string, string];
    await of('RUN', late);
    const claim = await claimOne();
    await of('FOLLOW', early);
    await connected(server.superuserUrl, async (other) => {
      const lock = 'SELECT FROM lease WHERE subject_id = $1 FOR NO KEY UPDATE';
      await other.query('BEGIN');
      await other.query(lock, [early]);
      const underWay = database.inEmployer(EMPLOYER, async (tx) => change(tx, early, claim));
      await eventually(() => isWaitedFor(other), 5_000);
      await expect(other.query(`${lock} NOWAIT`, [late])).resolves.toBeDefined();
      await other.query('COMMIT');
      await underWay;
    });
  });
});

describe('a worker', () => {
  let logged: jest.SpyInstance;
  let workers: LeaseWorker[] = [];
  let holds: (() => void)[] = [];
  beforeEach(() => {
    logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });
  afterEach(async () => {
    for (const letGo of holds) letGo();
    await Promise.all(workers.map((worker) => worker.drain()));
    [workers, holds] = [[], []];
    jest.restoreAllMocks();
  });

  function workerOf(
    step: (claim: Claim) => Promise<WakeIn>,
    {
      atOnce = 4,
      leaseMs = LEASE_MS,
      holder = 'worker',
      of = leases,
      onIdle = undefined as (() => Promise<unknown>) | undefined,
      rests = 0,
    } = {},
    foreseen?: (error: unknown) => boolean,
  ): LeaseWorker {
    const worker = new LeaseWorker(of, {
      kind: 'RUN',
      holder,
      leaseMs,
      atOnce,
      step,
      foreseen,
      onIdle,
      rests,
    });
    workers.push(worker);
    return worker;
  }

  /** A step that lasts until it is let go. */
  function held(answer: WakeIn = 'never') {
    let letGo = (): void => undefined;
    const gone = new Promise<void>((resolve) => (letGo = resolve));
    holds.push(letGo);
    const begun: Claim[] = [];
    const step = async (claim: Claim) => {
      begun.push(claim);
      await gone;
      return answer;
    };
    return { step, begun, letGo };
  }

  it('lets what events wake rest for as many times as its step took', async () => {
    await due(1_000);
    const work = held('never');
    const one = workerOf(work.step, { rests: 1_000_000 });
    await one.tick();
    const [{ subjectId }] = work.begun as [Claim];
    work.letGo();
    await one.drain();
    await database.asWorker((tx) => wakeThose(tx, 'subject_id = $1', [subjectId]));
    expect(await leases.claim('RUN', 'second', 1, LEASE_MS)).toEqual([]);
  });

  it('takes what there is room for, and more at once when there is room again', async () => {
    await due(1_000, 1_000, 1_000);
    const work = held();
    const worker = workerOf(work.step, { atOnce: 2 });
    expect(await worker.tick()).toBe(2);
    expect(await worker.tick()).toBe(0);
    expect(work.begun).toHaveLength(2);
    work.letGo();
    await eventually(() => work.begun.length === 3, 10_000);
    expect(new Set(work.begun.map(({ subjectId }) => subjectId)).size).toBe(3);
  });

  it('says that it is idle when the last step under way ended and no more is due', async () => {
    await due(1_000, 1_000);
    const [first, second] = [held(), held()];
    const onIdle = jest.fn(() => Promise.resolve());
    const steps = [first.step, second.step];
    const worker = workerOf((claim) => steps.shift()?.(claim) ?? Promise.resolve('never'), {
      atOnce: 2,
      onIdle,
    });
    expect(await worker.tick()).toBe(2);
    first.letGo();
    await eventually(() => second.begun.length === 1, 10_000);
    await pause(50);
    expect(onIdle).not.toHaveBeenCalled();
    second.letGo();
    await eventually(() => onIdle.mock.calls.length === 1, 10_000);
  });

  it('says so five times a second at most, where two kinds wake one another', async () => {
    await due(1_000);
    const onIdle = jest.fn(() => Promise.resolve());
    let steps = 0;
    const step = () => Promise.resolve((steps += 1));
    const worker = workerOf(step, { onIdle });
    const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
    const again = async () => {
      const before = steps;
      // Asked more often than the step comes back, after as many milliseconds as it was made times.
      while ((await worker.tick()) > 0 || steps === before) await pause(5);
    };
    await again();
    await eventually(() => onIdle.mock.calls.length === 1, 10_000);
    for (let n = 0; n < 5; n += 1) await again();
    expect(onIdle).toHaveBeenCalledTimes(1);
    // What ended too soon after is not forgotten: it is said when the time has come.
    clock.mockReturnValue(200);
    await eventually(() => onIdle.mock.calls.length === 2, 10_000);
    await again();
    await worker.drain();
    clock.mockReturnValue(400);
    await pause(300);
    expect(onIdle).toHaveBeenCalledTimes(2);
  });

  it('prolongs the lease while the step runs, for longer than the lease is', async () => {
    await due(1_000);
    const work = held();
    const worker = workerOf(work.step, { leaseMs: 2_500 });
    await worker.tick();
    await pause(4_000);
    expect(await leases.claim('RUN', 'thief', 1, LEASE_MS)).toEqual([]);
    await expect(fenced(work.begun[0]!)).resolves.toBeUndefined();
    work.letGo();
    await worker.drain();
    expect((await stored(work.begun[0]!.subjectId)).holder).toBeNull();
  });

  it('goes on prolonging when it failed once for another cause than the fence', async () => {
    await due(1_000);
    const work = held();
    const worker = workerOf(work.step, { leaseMs: 4_000 });
    const renew = jest.spyOn(leases, 'renew').mockRejectedValueOnce(new Error('no connection in time'));
    await worker.tick();
    await eventually(() => renew.mock.calls.length >= 5, 10_000);
    expect(await leases.claim('RUN', 'thief', 1, LEASE_MS)).toEqual([]);
    work.letGo();
  });

  it('stops prolonging what it lost', async () => {
    await due(1_000);
    const work = held();
    const worker = workerOf(work.step, { leaseMs: 60 });
    const renew = jest.spyOn(leases, 'renew');
    await worker.tick();
    await execute(server.superuserUrl, `UPDATE lease SET epoch = epoch + 1, leased_until = 'infinity'`);
    const isToldOf = async () => {
      const told = await Promise.allSettled(renew.mock.results.map(({ value }) => value as Promise<void>));
      return told.some((one) => one.status === 'rejected' && one.reason instanceof Fenced);
    };
    await eventually(isToldOf, 5_000);
    const whenLost = renew.mock.calls.length;
    await pause(200);
    expect(renew).toHaveBeenCalledTimes(whenLost);
  });

  it('stops prolonging what it gave back', async () => {
    await due(1_000);
    const renew = jest.spyOn(leases, 'renew');
    const worker = workerOf(() => pause(50).then(() => 'never' as const), { leaseMs: 60 });
    await worker.tick();
    await worker.drain();
    const whenGivenBack = renew.mock.calls.length;
    expect(whenGivenBack).toBeGreaterThan(0);
    await pause(150);
    expect(renew).toHaveBeenCalledTimes(whenGivenBack);
  });

  it('tells of a failure that was foreseen as a warning, and of any other as an error', async () => {
    await due(1_000, 1_000);
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const telling = (message: string) =>
      expect.objectContaining({ error: expect.objectContaining({ message }) });
    const failures = [new RangeError('the bank is down'), new Error('nobody thought of this')];
    const worker = workerOf(
      () => Promise.reject(failures.pop() ?? new Error('too often')),
      {},
      (error) => error instanceof RangeError,
    );
    await worker.tick();
    await worker.drain();
    expect(warned).toHaveBeenCalledTimes(1);
    expect(warned).toHaveBeenCalledWith(telling('the bank is down'));
    expect(logged).toHaveBeenCalledTimes(1);
    expect(logged).toHaveBeenCalledWith(telling('nobody thought of this'));
  });

  it('drops a step that was fenced off, without touching the new holder’s lease', async () => {
    await due(1_000);
    const work = held();
    const worker = workerOf(async (claim) => {
      await work.step(claim);
      await fenced(claim);
      return 0;
    });
    await worker.tick();
    await expire(work.begun[0]!);
    const taken = await claimOne('second');
    const before = await stored(taken.subjectId);
    work.letGo();
    await worker.drain();
    expect(work.begun).toHaveLength(1);
    expect(await stored(taken.subjectId)).toEqual(before);
    expect(logged).not.toHaveBeenCalled();
  });

  it.each([0, 2])(
    'takes up what failed at step %i after a pause of five seconds, and says so',
    async (failing) => {
      const [id] = await due(1_000);
      let steps = 0;
      const worker = workerOf(async () => {
        steps += 1;
        if (steps > failing) throw new TypeError('of an unforeseen cause');
        return 0;
      });
      await worker.tick();
      await worker.drain();
      const [row] = await select(
        server.superuserUrl,
        `SELECT holder, extract(epoch FROM wake_at - clock_timestamp()) AS pause FROM lease WHERE subject_id = $1`,
        [id],
      );
      expect(row?.holder).toBeNull();
      expect(Number(row?.pause)).toBeGreaterThan(1);
      expect(Number(row?.pause)).toBeLessThanOrEqual(5);
      const error = expect.objectContaining({ type: 'TypeError', message: 'of an unforeseen cause' });
      expect(logged).toHaveBeenCalledWith({ message: `RUN ${id} failed`, error });
    },
  );

  it('tells of a statement that failed by its code, for its message quotes what was written', async () => {
    await due(1_000);
    const worker = workerOf(async () => {
      await database.asWorker((tx) => tx.query(`SELECT $1::text::smallint`, ['245000']));
      return 'never';
    });
    await worker.tick();
    await worker.drain();
    const told = JSON.stringify(logged.mock.calls);
    expect(told).toContain('22003');
    expect(told).not.toContain('245000');
  });

  it('goes on at once as long as a step answers 0, under the one lease', async () => {
    const [id] = await due(1_000);
    const answers: WakeIn[] = [0, 0, 'never'];
    const epochs: string[] = [];
    const worker = workerOf(async ({ epoch }) => {
      epochs.push(epoch);
      return answers[epochs.length - 1]!;
    });
    expect(await worker.tick()).toBe(1);
    await eventually(async () => (await stored(id!)).holder === null, 10_000);
    expect(epochs).toEqual(['1', '1', '1']);
    expect((await stored(id!)).wake_at).toBe(Infinity);
  });

  it('drained waits for the step under way, gives it back for others, and takes no more', async () => {
    await due(1_000);
    const work = held(0);
    const worker = workerOf(work.step);
    await worker.tick();
    let drained = false;
    const drain = worker.drain().then(() => (drained = true));
    await pause(50);
    expect(drained).toBe(false);
    work.letGo();
    await drain;
    expect(work.begun).toHaveLength(1);
    expect(await worker.tick()).toBe(0);
    expect(await leases.claim('RUN', 'another', 1, LEASE_MS)).toHaveLength(1);
  });

  it('drained begins nothing that it had only claimed, and gives it back', async () => {
    await due(1_000);
    const work = held();
    const worker = workerOf(work.step);
    const claiming = worker.tick();
    const drain = worker.drain();
    await Promise.all([claiming, drain]);
    expect(work.begun).toEqual([]);
    expect(await leases.claim('RUN', 'another', 1, LEASE_MS)).toHaveLength(1);
    work.letGo();
  });

  it('leaves work whose lease could not be given back to whoever comes after it ran out', async () => {
    await due(1_000);
    jest.spyOn(leases, 'release').mockRejectedValueOnce(new Error('no connection'));
    const worker = workerOf(() => Promise.resolve('never' as const), { leaseMs: 1_500 });
    await worker.tick();
    await worker.drain();
    expect(await leases.claim('RUN', 'another', 1, LEASE_MS)).toEqual([]);
    await eventually(async () => (await leases.claim('RUN', 'another', 1, LEASE_MS)).length === 1, 10_000);
  });

  it('shares with its like: every subject is done once', async () => {
    const ids = await due(...Array.from({ length: 60 }, () => 1_000));
    const done: string[] = [];
    const step = async ({ subjectId }: Claim): Promise<WakeIn> => {
      done.push(subjectId);
      await pause(5);
      return 'never';
    };
    const replicas = ['a', 'b', 'c'].map((holder) => workerOf(step, { holder }));
    await eventually(async () => {
      await Promise.all(replicas.map((worker) => worker.tick()));
      return done.length >= ids.length;
    }, 10_000);
    await Promise.all(replicas.map((worker) => worker.drain()));
    expect(done.sort()).toEqual([...ids].sort());
  });
});

describe('while a lease is fenced, without one waiting for ever,', () => {
  let claim: Claim;
  beforeEach(async () => {
    await due(1_000);
    claim = await claimOne();
  });

  async function often(...works: (() => Promise<unknown>)[]): Promise<void> {
    const endMs = Date.now() + 1_500;
    const fenced = () =>
      database.inEmployer(EMPLOYER, async (tx) => {
        await fence(tx, claim);
        await pause(3);
      });
    await Promise.all(
      [...works, fenced, fenced].map(async (work) => {
        while (Date.now() < endMs) await work();
      }),
    );
  }

  it('many deliveries at once wake one subject', async () => {
    const woken = () =>
      database.asWorker((tx) => wakeThose(tx, 'subject_id = ANY ($1)', [[claim.subjectId]]));
    await often(...Array.from({ length: 5 }, () => woken));
    expect(await woken()).toHaveLength(1);
  });

  it('many kill switches taken back at once wake what sleeps again meanwhile', async () => {
    const wokenAll = () => database.inEmployer(EMPLOYER, async (tx) => wakeAll(tx, EMPLOYER));
    const asleep = () => database.asWorker((tx) => tx.query(`UPDATE lease SET wake_at = 'infinity'`));
    await often(...Array.from({ length: 5 }, () => wokenAll), asleep);
    await wokenAll();
    expect((await stored(claim.subjectId)).wake_at).not.toBe(Infinity);
  });
});
