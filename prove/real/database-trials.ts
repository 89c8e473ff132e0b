import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { execute, select } from '../../test/support/database';
import { type CommitFault } from '../../test/support/database-proxy';
import { eventually } from '../../test/support/eventually';
import { payFile, type Row } from '../../test/support/pay-rows';
import type { OwnDatabase } from './own-database';
import type { Stand } from './stand';
import type { Trial } from './trial';

/** Its waits for the database, nearly in the proportions of the defaults. */
export const DATABASE_SETTINGS = {
  DATABASE_CONNECT_MS: '1000',
  DATABASE_STATEMENT_MS: '1500',
  DATABASE_COMMIT_MS: '1500',
  LEASE_MS: '6000',
};
/** Longer than each of them. */
const AWAY_MS = 8_000;
/** From the approval until it has befallen, and from then until everybody is paid. */
const WITHIN = { overMs: 20_000, settledMs: 25_000 } as const;

/** A commit of a run in each of its states, by what it writes. */
export const COMMITS = {
  'it is built': /INSERT INTO add_intent/,
  'it is submitted': /INSERT INTO "submit_attempt"/,
  'it is followed': /UPDATE bank_payment b SET bank_status/,
} as const;

/** What befalls the server after a commit. */
export const OUTAGES: Readonly<Record<string, (database: OwnDatabase) => Promise<void>>> = {
  'PostgreSQL restarted': ({ server }) => server.restart(),
  'PostgreSQL refusing for longer than every time-out': ({ proxy }) => refuseFor(proxy, AWAY_MS),
  'PostgreSQL silent for longer than every time-out': async ({ proxy }) => {
    proxy.hush();
    await sleep(AWAY_MS);
    await proxy.restore();
  },
};
/** What befalls the commit itself. */
export const COMMIT_FAULTS: readonly CommitFault[] = [
  'never arrives',
  'cut before',
  'answer lost',
  'answer hangs',
  'warning',
];
/** What a transaction that wrote to each of these is told, the first two times. */
const FAILURES = { 'a deadlock': '40P01', 'a serialization failure': '40001' } as const;
const WRITTEN = ['bank_call', 'add_intent', 'submit_attempt', 'bank_payment'] as const;

/** What befalls PostgreSQL, and the way to it, while a run is built, submitted and followed. */
export function databaseTrials(): Trial[] {
  const moments = Object.entries(COMMITS);
  return [
    ...moments.flatMap(([when, commit]) =>
      Object.entries(OUTAGES).map(([what, befall]) =>
        trialOf(`${what} while ${when}`, async (stand, rows) => {
          const { proxy } = stand.ownDatabase;
          const over = proxy.atCommit(commit, 'passes').then(() => befall(stand.ownDatabase));
          return struck(stand, rows, over);
        }),
      ),
    ),
    ...moments.flatMap(([when, commit]) =>
      COMMIT_FAULTS.map((fault) =>
        trialOf(`a COMMIT that met "${fault}" while ${when}`, async (stand, rows) => {
          const over = stand.ownDatabase.proxy.atCommit(commit, fault);
          return struck(stand, rows, over);
        }),
      ),
    ),
    ...Object.entries(FAILURES).map(([what, sqlState]) =>
      trialOf(`${what} in every write of a run, twice`, async (stand, rows) => {
        await failTwice(stand, sqlState);
        const id = await struck(stand, rows);
        const spared = await sparedBy(stand);
        if (spared.length > 0) throw new Error(`nothing failed in ${spared.join(', ')}`);
        return id;
      }),
    ),
    trialOf('every connection of the pool waits for a lock', lockedOut),
  ];
}

function trialOf(fault: string, meet: Trial['meet']): Trial {
  return { fault, assumptions: 'inside', short: false, stand: 'database', meet };
}

/** Takes no connection for so long, and cuts those there are. */
export async function refuseFor(proxy: OwnDatabase['proxy'], awayMs: number): Promise<void> {
  await proxy.refuse();
  await sleep(awayMs);
  await proxy.restore();
}

/** Pays, and waits until what was to befall the database is over and everybody is paid. @throws where it does not strike */
export async function struck(
  stand: Stand,
  rows: readonly Row[],
  over: Promise<void> = Promise.resolve(),
  { overMs, settledMs }: { overMs: number; settledMs: number } = WITHIN,
): Promise<string> {
  const { payroll, ownDatabase } = stand;
  try {
    const run = await payroll.uploaded(payFile(rows));
    await stand.approve(run, rows);
    let isOver = false;
    await Promise.all([
      over.then(() => (isOver = true)),
      eventually(
        () => isOver,
        overMs,
        () => 'it did not befall the database',
      ),
    ]);
    await payroll.until(run.id, ['SETTLED'], settledMs);
    return run.id;
  } finally {
    await ownDatabase.proxy.restore();
  }
}

/** The first two rows that are written to each of the tables from now on fail so. */
async function failTwice({ payroll }: Stand, sqlState: string): Promise<void> {
  const statements = WRITTEN.map(
    (table) => `DROP SEQUENCE IF EXISTS tried_${table};
     CREATE SEQUENCE tried_${table};
     CREATE OR REPLACE FUNCTION fail_${table}() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN
       IF nextval('public.tried_${table}') <= 2 THEN RAISE EXCEPTION 'again' USING ERRCODE = '${sqlState}'; END IF;
       RETURN NEW; END $$;
     CREATE OR REPLACE TRIGGER fail_${table} BEFORE INSERT OR UPDATE ON ${table}
       FOR EACH ROW EXECUTE FUNCTION fail_${table}()`,
  );
  await execute(payroll.database.superuserUrl, statements.join(';'));
}

async function sparedBy({ payroll }: Stand): Promise<string[]> {
  const tried = WRITTEN.map((table) => `SELECT '${table}' AS name, last_value FROM tried_${table}`);
  const spared = await select<{ name: string }>(
    payroll.database.superuserUrl,
    `SELECT name FROM (${tried.join(' UNION ALL ')}) AS tried WHERE last_value <= 2`,
  );
  return spared.map(({ name }) => name);
}

/** Somebody else locks what every transaction needs, for longer than a statement may take, while the run is paid. */
async function lockedOut(stand: Stand, rows: readonly Row[]): Promise<string> {
  const outside = new Client({ connectionString: stand.payroll.database.superuserUrl });
  await outside.connect();
  try {
    const over = stand.ownDatabase.proxy.atCommit(COMMITS['it is built'], 'passes').then(async () => {
      await outside.query('BEGIN; LOCK TABLE employer IN ACCESS EXCLUSIVE MODE');
      await sleep(AWAY_MS);
      await outside.query('ROLLBACK');
    });
    return await struck(stand, rows, over);
  } finally {
    await outside.end();
  }
}
