import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Database } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { runMigrations } from '../../src/database/migrate';
import { DatabaseIsBehind, RestoreGuard } from '../../src/database/restore-guard';
import { RestoreWitness } from '../../src/database/restore-witness';
import { urlOfDatabase } from '../../src/database/roles';
import { startTemporaryServer } from '../../src/database/temporary-server';
import { execute, select, TestDatabase, testDatabase } from '../support/database';

Logger.overrideLogger(false);

let directory: string;
let server: TestDatabase;
const open: DataSource[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'payrun-witness-'));
  server = await testDatabase();
});
afterEach(async () => {
  await disconnect();
  await server.drop();
  await rm(directory, { recursive: true });
});

const disconnect = () => Promise.all(open.splice(0).map((source) => source.destroy()));
const witnessFile = () => join(directory, 'witness.json');

/** A service that starts: its guard, with a witness in a file or without. */
async function started(url = server.url, file?: string) {
  const source = await openDataSource(dataSourceOptions(url, [], 2));
  open.push(source);
  const database = new Database(source);
  const guard = new RestoreGuard(database, new RestoreWitness({ RESTORE_WITNESS_FILE: file }));
  await guard.check();
  return { database, guard };
}

const restores = async (url = server.superuserUrl) =>
  (await select<{ what: string }>(url, 'SELECT what FROM database_restore ORDER BY noticed_at')).map(
    ({ what }) => what,
  );
const isKnown = async (url = server.url) =>
  (await select<{ known: boolean }>(url, 'SELECT database_is_known() AS known'))[0]?.known;
const rewritten = (change: string) =>
  execute(server.superuserUrl, `UPDATE database_identity SET ${change}, written_by = pg_current_xact_id()`);

/** Everything of the database loaded anew, as pg_restore does: other transactions write the rows. */
const DUMPED = ['database_identity', 'restore_mark'];
async function loadedInto(target: string): Promise<void> {
  for (const table of DUMPED) {
    const rows = await select<{ row: string }>(
      server.superuserUrl,
      `SELECT row_to_json(t)::text AS row FROM ${table} t`,
    );
    await execute(target, `DELETE FROM ${table}`);
    for (const { row } of rows)
      await execute(target, `INSERT INTO ${table} SELECT * FROM json_populate_record(NULL::${table}, $1)`, [
        row,
      ]);
  }
}

describe('a mark that was committed', () => {
  it('is on the disk before who keeps it goes on, also where another was to be written first', async () => {
    const witness = new RestoreWitness({ RESTORE_WITNESS_FILE: witnessFile() });
    await witness.recall();
    const inFile = async () => JSON.parse(await readFile(witnessFile(), 'utf8')) as { seq: string };
    void witness.remember(11n);
    await witness.remember(10n);
    expect(await inFile()).toMatchObject({ seq: '11' });
    await rm(directory, { recursive: true });
    await writeFile(directory, 'in the way');
    await expect(witness.remember(13n)).rejects.toThrow();
    await expect(witness.remember(12n)).rejects.toThrow();
    expect(witness.outlivesProcess).toBe(false);
    await rm(directory);
    await witness.remember(12n);
    expect(witness.outlivesProcess).toBe(true);
    expect(await inFile()).toMatchObject({ seq: '13' });
  });
});

describe('a service on the database it last ran on', () => {
  it('knows it at its first start, at every other, and from several replicas at once', async () => {
    expect(await isKnown()).toBe(true);
    await Promise.all([started(), started(), started(server.url, witnessFile())]);
    for (const file of [undefined, witnessFile()]) await started(server.url, file);
    expect(await restores()).toEqual([]);
    expect(await isKnown()).toBe(true);
  });

  it('can see the cluster and the timeline with the rights of the application', async () => {
    const { guard } = await started(server.url, witnessFile());
    expect(guard.sight).toEqual({ systemIdentifier: true, timeline: true, olderCopy: true });
    expect((await started()).guard.sight?.olderCopy).toBe(false);
  });

  it('knows it after vacuuming, freezing and a rewrite of its tables', async () => {
    await started();
    for (const statement of ['VACUUM (FREEZE, FULL) database_identity', 'ANALYZE database_identity'])
      await execute(server.superuserUrl, statement);
    await started();
    expect(await restores()).toEqual([]);
    expect(await isKnown()).toBe(true);
  });

  it('says what it cannot see, and goes on with the rest', async () => {
    const owner = (sql: string) => execute(server.superuserUrl, sql);
    await owner('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
    const { guard } = await started();
    expect(guard.sight).toMatchObject({ systemIdentifier: false, timeline: true });
    expect(await isKnown()).toBe(true);
    await owner('GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC');
    await guard.check();
    expect(guard.sight).toMatchObject({ systemIdentifier: true });
    expect(
      await select(server.superuserUrl, 'SELECT system_identifier IS NULL AS a FROM database_identity'),
    ).toEqual([{ a: false }]);
    expect(await restores()).toEqual([]);
  });
});

describe('a restored database', () => {
  it.each([
    ['timeline', `timeline = timeline + 1`, /another timeline \(1 instead of 2\)/],
    ['cluster', `system_identifier = '7'`, /another cluster \(system identifier \d+ instead of 7\)/],
    ['database', `database_oid = 7`, /another database of the cluster/],
  ])('on another %s is refused by itself, and noticed once', async (_what, change, said) => {
    const { guard } = await started();
    await rewritten(change);
    expect(await isKnown()).toBe(false);
    await guard.check();
    expect(await isKnown()).toBe(false);
    await execute(server.superuserUrl, 'UPDATE database_restore SET told_at = now()');
    expect(await isKnown()).toBe(true);
    await Promise.all([guard.check(), started()]);
    expect(await restores()).toEqual([expect.stringMatching(said)]);
  });

  it('is known by each look as one of which not everybody was told, until everybody was', async () => {
    const { guard } = await started();
    expect(await guard.check()).toBeNull();
    await rewritten('timeline = timeline + 1');
    expect([await guard.check(), await guard.check()]).toEqual([false, false]);
    await execute(server.superuserUrl, 'UPDATE database_restore SET told_at = now()');
    expect(await guard.check()).toBe(true);
    await rewritten('timeline = timeline + 1');
    expect([await guard.check(), await guard.check()]).toEqual([false, false]);
  });

  it('loaded from a dump over itself is noticed', async () => {
    await started();
    await loadedInto(server.superuserUrl);
    expect(await isKnown()).toBe(false);
    await started();
    expect(await restores()).toEqual([expect.stringContaining('rows loaded from a dump')]);
  });

  it('copied within its cluster is noticed', async () => {
    await started();
    await disconnect();
    const copy = await testDatabase(new URL(server.url).pathname.slice(1));
    try {
      expect(await isKnown(copy.url)).toBe(false);
      await started(copy.url);
      expect(await restores(copy.superuserUrl)).toEqual([expect.stringContaining('another database')]);
    } finally {
      await disconnect();
      await copy.drop();
    }
  });

  it('loaded from a dump into another cluster is noticed', async () => {
    await started();
    const other = await startTemporaryServer();
    const target = urlOfDatabase(other.superuserUrl, 'payrun');
    try {
      await runMigrations(other.databaseAdminUrl);
      await loadedInto(target);
      expect(await isKnown(other.databaseUrl)).toBe(false);
      await started(other.databaseUrl);
      expect(await restores(target)).toEqual([expect.stringContaining('another cluster')]);
    } finally {
      await disconnect();
      await other.stop();
    }
  });

  it('ends, as far as is known, where a service last gave a sign of life in it', async () => {
    const { guard } = await started();
    await execute(server.superuserUrl, `UPDATE restore_mark SET seen_at = '2026-11-01T10:00:00Z'`);
    await rewritten('timeline = 7');
    await guard.check();
    const [found] = await select<{ data_until: Date }>(
      server.superuserUrl,
      'SELECT data_until FROM database_restore',
    );
    expect(found?.data_until.toISOString()).toBe('2026-11-01T10:00:00.000Z');
  });
});

describe('a mark that is dated ahead, by a clock that was put right since', () => {
  it('is made anew at the next look, and so is that of a witness that is no more', async () => {
    const { guard } = await started();
    await execute(
      server.superuserUrl,
      `INSERT INTO restore_mark (id) VALUES (gen_random_uuid());
       UPDATE restore_mark SET seen_at = now() + interval '3 days'`,
    );
    await guard.check();
    const marks = await select(server.superuserUrl, 'SELECT seen_at <= now() AS past FROM restore_mark');
    expect(marks).toEqual([{ past: true }, { past: true }]);
  });
});

describe('an older copy of the same files', () => {
  /** What a copy of the files has that was made now. */
  const putBack = async () => {
    const [now] = await select<{ id: string; seq: string }>(
      server.superuserUrl,
      'SELECT * FROM restore_mark',
    );
    return () =>
      execute(server.superuserUrl, `UPDATE restore_mark SET seq = $1 WHERE id = $2`, [now!.seq, now!.id]);
  };
  const submitted = async ({ database, guard }: Awaited<ReturnType<typeof started>>) =>
    guard.keep(await database.outsideEmployers((tx) => guard.markWithin(tx)));

  it('ends nobody knows when where another service began to work on it first', async () => {
    const before = await started(server.url, witnessFile());
    const restore = await putBack();
    await submitted(before);
    await restore();
    await disconnect();
    await started(server.url, join(directory, 'other.json'));
    await started(server.url, witnessFile());
    const found = await select(server.superuserUrl, 'SELECT what, data_until FROM database_restore');
    expect(found).toEqual([{ what: expect.stringContaining('an older state'), data_until: null }]);
  });

  it('is noticed at the next start by what a file outside remembers', async () => {
    const before = await started(server.url, witnessFile());
    const restore = await putBack();
    await submitted(before);
    await restore();
    await disconnect();
    await started(server.url, witnessFile());
    expect(await restores()).toEqual([
      expect.stringContaining('an older state (mark 1 where 2 was remembered)'),
    ]);
    await started(server.url, witnessFile());
    expect(await restores()).toHaveLength(1);
  });

  it('is noticed also where the copy is older than the witness', async () => {
    await started(server.url, witnessFile());
    await execute(server.superuserUrl, 'DELETE FROM restore_mark; DELETE FROM database_identity');
    await started(server.url, witnessFile());
    expect(await restores()).toEqual([expect.stringContaining('mark none where 1 was remembered')]);
  });

  it('is noticed under a running service, in the transaction of the very next submit', async () => {
    const running = await started();
    const restore = await putBack();
    await submitted(running);
    await restore();
    await expect(submitted(running)).rejects.toBeInstanceOf(DatabaseIsBehind);
    await running.guard.check();
    expect(await restores()).toHaveLength(1);
  });

  it('is not seen in a submit that another replica made, or that was not committed', async () => {
    const [one, other] = [await started(), await started(server.url, witnessFile())];
    for (const replica of [one, other, one, other]) await submitted(replica);
    await one.database
      .outsideEmployers(async (tx) => {
        await one.guard.markWithin(tx);
        throw new Error('rolled back');
      })
      .catch(() => undefined);
    await Promise.all([one.guard.check(), other.guard.check(), started(server.url, witnessFile())]);
    expect(await restores()).toEqual([]);
  });

  it('is remembered in one small file that no crash leaves half written', async () => {
    const running = await started(server.url, witnessFile());
    await Promise.all(Array.from({ length: 10 }, () => submitted(running)));
    expect(JSON.parse(await readFile(witnessFile(), 'utf8'))).toEqual({ id: expect.any(String), seq: '11' });
  });

  it('cannot be told by a file that is not one of ours: the service does not start', async () => {
    await writeFile(witnessFile(), randomBytes(20));
    await expect(started(server.url, witnessFile())).rejects.toThrow('RESTORE_WITNESS_FILE');
  });
});
