import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/data-source';
import { revertMigration, runMigrations } from '../../src/database/migrate';
import { INSTRUCTION_TRANSITIONS } from '../../src/domain/instruction';
import { LIVE_PAYMENT_STATUSES, PAYMENT_STATUSES, PAYMENT_TRANSITIONS } from '../../src/domain/payment';
import { PAY_RUN_TRANSITIONS } from '../../src/domain/pay-run';
import { ENTITIES } from '../../src/entities';
import { execute, select, testDatabase } from '../support/database';
import { schemaShown } from '../support/schema-shown';
import { idsOf, twoEmployers } from './two-employers';

type Database = Awaited<ReturnType<typeof testDatabase>>;

const SHOWN = join(__dirname, '../../migrations/schema.sql');

const SCHEMA = `
  SELECT 'column' AS kind, table_name || '.' || column_name AS name,
    data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') AS definition
  FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT 'policy', tablename || '.' || policyname, roles::text || cmd || coalesce(qual, '') || coalesce(with_check, '')
    FROM pg_policies WHERE schemaname = 'public'
  UNION ALL SELECT 'trigger', tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid)
    FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT 'function', proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT 'grant', grantee || ' ' || table_name, string_agg(privilege_type, ',' ORDER BY privilege_type)
    FROM information_schema.role_table_grants WHERE table_schema = 'public' AND grantee LIKE 'payrun_%'
    GROUP BY grantee, table_name
  UNION ALL SELECT 'column grant', grantee || ' ' || table_name || '.' || column_name, privilege_type
    FROM information_schema.column_privileges WHERE table_schema = 'public' AND grantee LIKE 'payrun_%'
  ORDER BY 1, 2, 3`;

describe('the schema', () => {
  let database: Database;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.drop());

  it('is the same after up, all the way down, and up again', async () => {
    const before = await select(database.superuserUrl, SCHEMA);
    for (let left = 1_000; left > 0; left -= 1) {
      const reverted = await revertMigration(database.adminUrl);
      if (!reverted || reverted.length === 0) break;
    }
    const bare = await select(database.superuserUrl, SCHEMA);
    expect(bare.filter((row) => !JSON.stringify(row).includes('migrations'))).toEqual([]);
    await runMigrations(database.adminUrl);
    expect(await select(database.superuserUrl, SCHEMA)).toEqual(before);
    expect(before.length).toBeGreaterThan(300);
  });

  it('is the one that migrations/schema.sql shows', async () => {
    const shown = await schemaShown(database.superuserUrl);
    if (process.env.UPDATE_SCHEMA === '1') writeFileSync(SHOWN, shown);
    expect(readFileSync(SHOWN, 'utf8').split('\n')).toEqual(shown.split('\n'));
  });

  it('counts what files stored before replace and rename, without rows that came later with corrections', async () => {
    const older = await testDatabase();
    try {
      await execute(older.superuserUrl, twoEmployers());
      while ((await revertMigration(older.adminUrl)) !== 'CountInPayFiles1795132836000');
      const { employer, payment, voidPayment } = idsOf(1);
      const changed = `written_name_sealed = '0:Ä', replaces_payment_id = '${payment}'`;
      await execute(
        older.superuserUrl,
        `SET session_replication_role = replica;
         UPDATE payment SET ${changed} WHERE employer_id = '${employer}' AND id IN ('${payment}', '${voidPayment}')`,
      );
      await runMigrations(older.adminUrl);
      const counted = 'SELECT replacing, renamed FROM pay_file ORDER BY employer_id';
      expect(await select(older.superuserUrl, counted)).toEqual([
        { replacing: 1, renamed: 1 },
        { replacing: 0, renamed: 0 },
      ]);
    } finally {
      await older.drop();
    }
  });

  it('says again when an instruction was last added to, where that is taken back', async () => {
    const older = await testDatabase();
    try {
      await execute(older.superuserUrl, twoEmployers());
      while ((await revertMigration(older.adminUrl)) !== 'TimeAddsByIntents1795132834000');
      const told = `SELECT i.last_add_at = coalesce(a.finished_at, a.intended_at) AS told
        FROM instruction i LEFT JOIN add_intent a ON a.instruction_id = i.id ORDER BY i.id`;
      expect(await select(older.superuserUrl, told)).toEqual(
        [true, null, null, null, true, null, null, null].map((one) => ({ told: one })),
      );
    } finally {
      await older.drop();
    }
  });

  it('knows of breaches that lasted before how much was told of them, and of which entry of a chain', async () => {
    const older = await testDatabase();
    try {
      await execute(older.superuserUrl, twoEmployers());
      while ((await revertMigration(older.adminUrl)) !== 'KnowHowMuchOfABreachWasTold1795132859800');
      const { employer } = idsOf(1);
      const told = (invariant: string, subject: string, words: string) => `
        INSERT INTO invariant_breach (employer_id, invariant, subject_id, id)
        VALUES ('${employer}', '${invariant}', ${subject}, gen_random_uuid());
        INSERT INTO attention (employer_id, id, kind, subject_id, happened, certain, ask_bank)
        SELECT employer_id, gen_random_uuid(), 'INVARIANT_BREACH', id, '${words}', '-', '-'
        FROM invariant_breach WHERE employer_id = '${employer}' AND invariant = '${invariant}';`;
      await execute(
        older.superuserUrl,
        told(
          'settled-by-match',
          'gen_random_uuid()',
          'found it broken in run_1 (17 found). It holds (1 found) that',
        ) +
          told(
            'audit-chain',
            `'${employer}'`,
            'found it broken in this employer (1 found: at entry 300). It',
          ) +
          told('conservation', `'${employer}'`, 'otherwise'),
      );
      await runMigrations(older.adminUrl);
      const known = await select<{ invariant: string; found: number; entry: boolean }>(
        older.superuserUrl,
        `SELECT invariant, found, subject_id = '00000000-0000-0000-0000-00000000012c' AS entry FROM invariant_breach
         WHERE employer_id = '${employer}' AND invariant <> 'never-stuck' ORDER BY invariant`,
      );
      expect(known).toEqual([
        { invariant: 'audit-chain', found: 1, entry: true },
        { invariant: 'conservation', found: 1, entry: false },
        { invariant: 'settled-by-match', found: 17, entry: false },
      ]);
    } finally {
      await older.drop();
    }
  });

  it('knows what accounts were said to lack before that was kept, also where it is decided, and of no other question', async () => {
    const older = await testDatabase();
    try {
      await execute(older.superuserUrl, twoEmployers());
      while ((await revertMigration(older.adminUrl)) !== 'SayWhatAccountsLackedBefore1795132859985');
      const { employer, run, instruction } = idsOf(1);
      const told = (subject: string, resolved: string, minor: number) =>
        `('${employer}', gen_random_uuid(), 'TOTALS_UNSEEN', '${subject}', '${run}', '-', '-', '-', ${minor}, ${resolved})`;
      await execute(
        older.superuserUrl,
        `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, happened, certain, ask_bank, amount_minor, resolved_at, resolution)
         VALUES ${[told(run, `now(), 'seen'`, 101), told(run, 'NULL, NULL', 202), told(instruction[0], 'NULL, NULL', 303)].join(', ')}`,
      );
      await runMigrations(older.adminUrl);
      const known = `SELECT lacking_minor AS minor FROM attention
        WHERE kind = 'TOTALS_UNSEEN' AND amount_minor IN (101, 202, 303) ORDER BY amount_minor`;
      expect(await select(older.superuserUrl, known)).toEqual([
        { minor: '101' },
        { minor: '202' },
        { minor: null },
      ]);
      const again = execute(
        older.superuserUrl,
        'UPDATE attention SET lacking_minor = 1 WHERE amount_minor = 101',
      );
      await expect(again).rejects.toThrow('what was resolved stays as it was resolved');
    } finally {
      await older.drop();
    }
  });

  it('reads again what ended and may be watched by its date, and asks of payments that are not final by their status', async () => {
    const older = await testDatabase();
    try {
      await execute(older.superuserUrl, twoEmployers());
      while ((await revertMigration(older.adminUrl)) !== 'WakeWhatIsWatchedByItsDate1795132860230');
      const mine = idsOf(1);
      const told = (happened: string) =>
        `('${mine.employer}', gen_random_uuid(), 'ROW_UNSEEN', gen_random_uuid(), '${happened}', '-', '-')`;
      const NOT_FINAL = '3 payments are not final two banking days after the execution date. More.';
      await execute(
        older.superuserUrl,
        `SET session_replication_role = replica;
         UPDATE pay_run_version SET execution_date =
           CASE employer_id WHEN '${mine.employer}' THEN current_date - 89 ELSE current_date - 90 END;
         UPDATE instruction SET status = 'CLOSED', outcome = 'FAILED', closed_at = current_date - CASE id
           WHEN '${mine.instruction[0]}' THEN 91 ELSE 88 END
         WHERE id IN ('${mine.instruction.join(`', '`)}');
         DELETE FROM lease;
         INSERT INTO lease (subject_id, kind, employer_id, wake_at)
           SELECT id, 'FOLLOW', employer_id, 'infinity' FROM instruction;
         UPDATE attention SET resolved_at = now(), resolution = 'before the test'
           WHERE kind = 'UNKNOWN_STATUS' AND resolved_at IS NULL;
         INSERT INTO attention (employer_id, id, kind, subject_id, happened, certain, ask_bank)
         VALUES ${told(NOT_FINAL)}, ${told('otherwise')}`,
      );
      await runMigrations(older.adminUrl);
      const woken = await select<{ id: string }>(
        older.superuserUrl,
        `SELECT subject_id AS id FROM lease WHERE wake_at <= now()`,
      );
      const expected = [mine.instruction[0], mine.abandoned, mine.unmoved];
      expect(woken.map(({ id }) => id).sort()).toEqual(expected.sort());
      expect(
        await select(
          older.superuserUrl,
          `SELECT happened FROM attention WHERE kind = 'ROW_UNSEEN' AND resolved_at IS NULL`,
        ),
      ).toEqual([{ happened: 'otherwise' }]);
    } finally {
      await older.drop();
    }
  });

  it('reads again of what people are asked which rows it was not kept of, and nothing else', async () => {
    const older = await testDatabase();
    try {
      await execute(older.superuserUrl, twoEmployers());
      while ((await revertMigration(older.adminUrl)) !== 'KeepWhichRowsAStatusWasAskedOf1795132860250');
      const { employer, instruction } = idsOf(1);
      const told = (of: string, resolution: string) =>
        `('${employer}', gen_random_uuid(), 'UNKNOWN_STATUS', gen_random_uuid(), '${of}', '-', '-', '-',
          CASE WHEN ${resolution} IS NOT NULL THEN now() END, ${resolution})`;
      await execute(
        older.superuserUrl,
        `SET session_replication_role = replica;
         DELETE FROM lease;
         INSERT INTO lease (subject_id, kind, employer_id, wake_at)
           SELECT id, 'FOLLOW', employer_id, 'infinity' FROM instruction;
         UPDATE attention SET resolved_at = now(), resolution = 'before the test' WHERE resolved_at IS NULL;
         INSERT INTO attention (employer_id, id, kind, subject_id, instruction_id, happened, certain, ask_bank, resolved_at, resolution)
         VALUES ${told(instruction[0], 'NULL')}, ${told(instruction[1], `'done'`)}`,
      );
      await runMigrations(older.adminUrl);
      const woken = await select(
        older.superuserUrl,
        'SELECT subject_id AS id FROM lease WHERE woken_at <= now()',
      );
      expect(woken).toEqual([{ id: instruction[0] }]);
    } finally {
      await older.drop();
    }
  });

  it('has a column for every property of every entity, with its type and nullability, and no other', async () => {
    const source = await new DataSource(dataSourceOptions(database.url, ENTITIES, 2)).initialize();
    try {
      for (const entity of source.entityMetadatas) {
        const columns = await select(
          database.superuserUrl,
          `SELECT column_name, is_nullable, data_type, domain_name, udt_name
           FROM information_schema.columns WHERE table_name = $1`,
          [entity.tableName],
        );
        const inSchema = columns.map((column) => `${column.column_name} ${column.is_nullable}`).sort();
        const inEntity = entity.columns.map(
          (column) => `${column.databaseName} ${column.isNullable ? 'YES' : 'NO'}`,
        );
        const uploaded = entity.tableName === 'pay_file' ? ['content NO'] : [];
        expect({
          [entity.tableName]: [...inEntity, ...uploaded.filter((one) => !inEntity.includes(one))].sort(),
        }).toEqual({
          [entity.tableName]: inSchema,
        });
        for (const column of entity.columns) {
          const stored = columns.find((one) => one.column_name === column.databaseName);
          const type = String(column.type);
          const actual = stored?.udt_name?.replace(/^_/, '');
          const names: Record<string, string> = {
            integer: 'int4',
            bigint: 'int8',
            smallint: 'int2',
            boolean: 'bool',
          };
          expect(`${entity.tableName}.${column.databaseName} ${names[type] ?? type}`).toBe(
            `${entity.tableName}.${column.databaseName} ${actual}`,
          );
        }
      }
    } finally {
      await source.destroy();
    }
  });

  it('allows exactly the moves of the domain', async () => {
    const rows = await select(database.superuserUrl, 'SELECT * FROM allowed_move');
    const inSchema = rows.map((row) => `${row.subject} ${row.from_status} ${row.to_status}`).sort();
    const inDomain = Object.entries({
      pay_run: PAY_RUN_TRANSITIONS,
      instruction: INSTRUCTION_TRANSITIONS,
    }).flatMap(([subject, table]) =>
      Object.entries(table).flatMap(([from, tos]) => tos.map((to: string) => `${subject} ${from} ${to}`)),
    );
    expect(inSchema).toEqual(inDomain.sort());
  });

  it('names the states of a payment, and the live ones, as the domain does', async () => {
    expect(wordsIn(await definitionOf('payment_status_check'))).toEqual([...PAYMENT_STATUSES].sort());
    const live = await definitionOf('payment_check');
    expect(live).toContain('live =');
    expect(wordsIn(live)).toEqual([...LIVE_PAYMENT_STATUSES].sort());
  });

  it('names in the condition of a trigger exactly the moves of a payment', async () => {
    const [trigger] = await select(
      database.superuserUrl,
      `SELECT pg_get_triggerdef(oid) AS def FROM pg_trigger WHERE tgname = 'refuse_illegal_payment_move'`,
    );
    const moves = [...trigger!.def!.matchAll(/old\.status[^']*'([A-Z_]+)'[^']*new\.status[^']*'([A-Z_]+)'/g)];
    const inDomain = Object.entries(PAYMENT_TRANSITIONS).flatMap(([from, tos]) =>
      tos.map((to) => `${from} ${to}`),
    );
    expect(moves.map(([, from, to]) => `${from} ${to}`).sort()).toEqual(inDomain.sort());
  });

  async function definitionOf(constraint: string): Promise<string> {
    const [check] = await select(
      database.superuserUrl,
      `SELECT pg_get_constraintdef(oid) AS def FROM pg_constraint WHERE conrelid = 'payment'::regclass AND conname = $1`,
      [constraint],
    );
    return check!.def!;
  }

  it('shows no row of any employer without an employer, and none of another', async () => {
    const employers = [randomUUID(), randomUUID()];
    for (const id of employers) {
      await execute(
        database.superuserUrl,
        `INSERT INTO employer (id, name, time_zone) VALUES ($1, $2, 'Europe/Paris')`,
        [id, `Employer ${id}`],
      );
      await execute(database.superuserUrl, `INSERT INTO fact_sequence (employer_id) VALUES ($1)`, [id]);
    }
    expect(await select(database.url, 'SELECT * FROM employer')).toEqual([]);
    expect(await select(database.url, 'SELECT * FROM fact_sequence')).toEqual([]);
    const tables = await select(
      database.superuserUrl,
      `SELECT c.table_name FROM information_schema.columns c JOIN pg_class k ON k.relname = c.table_name
       WHERE c.table_schema = 'public' AND c.column_name = 'employer_id' AND k.relispartition = false
         AND NOT (k.relrowsecurity AND k.relforcerowsecurity)`,
    );
    expect(tables.map((row) => row.table_name).sort()).toEqual(['lease', 'person_role', 'service_stop']);
  });

  it('keeps no statistics of which employers have rows, but in the parts of the journal', async () => {
    const kept = await select(
      database.superuserUrl,
      `SELECT attrelid::regclass AS table FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
       WHERE attname = 'employer_id' AND relkind = 'r' AND NOT relispartition AND relnamespace = 'public'::regnamespace
         AND attstattarget IS DISTINCT FROM 0`,
    );
    expect(kept).toEqual([]);
  });
});

function wordsIn(definition: string): string[] {
  return [...new Set([...definition.matchAll(/'([A-Z_]+)'/g)].map((match) => match[1]!))].sort();
}
