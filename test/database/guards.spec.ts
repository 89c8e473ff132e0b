import { Client, DatabaseError } from 'pg';
import { INSTRUCTION_STATUSES, INSTRUCTION_TRANSITIONS } from '../../src/domain/instruction';
import { PAY_RUN_STATUSES, PAY_RUN_TRANSITIONS } from '../../src/domain/pay-run';
import { LIVE_PAYMENT_STATUSES, PAYMENT_FINALS, PAYMENT_STATUSES } from '../../src/domain/payment';
import { execute, TestDatabase, testDatabase } from '../support/database';
import { dropping, Guard, GuardObject, keyOf } from './guard';
import { INSTRUCTION_GUARDS } from './instruction-guards';
import { PAY_RUN_GUARDS } from './pay-run-guards';
import { RECORD_GUARDS } from './record-guards';
import { SHAPE_ONLY } from './shape-only';
import { firstRows, idsOf, insertion, NOBODY, Row, secondRows, twoEmployers } from './two-employers';

const GUARDS = [...INSTRUCTION_GUARDS, ...PAY_RUN_GUARDS, ...RECORD_GUARDS];
const DONE = 'done';

const own = idsOf(1);
const others = Object.entries<Row>(firstRows(2));
const seconds = new Map(Object.entries<Row>(secondRows(1)));

let database: TestDatabase;
/** The superuser, whom only constraints and triggers stop; each test is a transaction that is rolled back. */
let client: Client;

beforeAll(async () => {
  database = await testDatabase();
  await execute(database.superuserUrl, twoEmployers());
  client = new Client({ connectionString: database.superuserUrl });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});
beforeEach(() => client.query('BEGIN'));
afterEach(() => client.query('ROLLBACK'));

/** What becomes of statements, which are undone: done, or the constraint or the code by which they were refused. */
async function outcomeOf(...statements: string[]): Promise<string> {
  await client.query('SAVEPOINT trial');
  try {
    for (const statement of statements) await client.query(statement);
    return DONE;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return error.constraint ?? error.code ?? error.message;
  } finally {
    await client.query('ROLLBACK TO SAVEPOINT trial');
  }
}

const saidBy = (guard: Guard) => guard.says ?? guard.object;

/** Whether the guard, alone and nothing else, refuses its statement; what was found where that is not so. */
async function soleRefusal(guard: Guard): Promise<Record<string, string>> {
  const also = guard.also ?? [];
  const given = guard.given ?? [];
  return {
    lawful: await outcomeOf(...given, guard.lawful),
    alone: await outcomeOf(...given, ...also.map(dropping), guard.forbidden),
    without: await outcomeOf(...given, ...[guard, ...also].map(dropping), guard.forbidden),
  };
}

describe('a guard of the schema', () => {
  it.each(GUARDS.map((guard) => [guard.name, guard] as const))('%s', async (_name, guard) => {
    for (const statement of guard.given ?? []) await client.query(statement);
    expect(await outcomeOf(guard.lawful)).toBe(DONE);
    const names = [saidBy(guard), ...(guard.also ?? []).map(({ object }) => object)];
    expect(names).toContain(await outcomeOf(guard.forbidden));
  });

  it.each(GUARDS.map((guard) => [guard.name, guard] as const))(
    'is what refuses it, and nothing else: %s',
    async (_name, guard) => {
      expect(await soleRefusal(guard)).toEqual({ lawful: DONE, alone: saidBy(guard), without: DONE });
      for (const other of guard.also ?? []) {
        const rest = guard.also?.filter((one) => one !== other) ?? [];
        const kept = [...(guard.given ?? []), ...[guard, ...rest].map(dropping), guard.forbidden];
        expect([other.object, await outcomeOf(...kept)]).not.toEqual([other.object, DONE]);
      }
    },
  );

  it('has a name of its own', () => {
    const names = GUARDS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  it('is in the catalogue, and everything in the catalogue is a guard or keeps a shape', async () => {
    const { rows } = await client.query<{ key: string }>(`
      SELECT coalesce(nullif(c.conrelid, 0)::regclass::text, c.contypid::regtype::text) || '.' || c.conname AS key
      FROM pg_constraint c
      LEFT JOIN pg_class t ON t.oid = c.conrelid
      WHERE c.connamespace = 'public'::regnamespace AND c.contype IN ('c', 'u', 'p', 'x')
        AND NOT coalesce(t.relispartition, false) AND t.relname IS DISTINCT FROM 'migrations'
        AND NOT (c.contype = 'p' AND ${isIdentity('c')})
      UNION ALL SELECT i.indrelid::regclass || '.' || i.indexrelid::regclass
      FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
      WHERE i.indisunique AND t.relnamespace = 'public'::regnamespace AND NOT t.relispartition
        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
      UNION ALL SELECT tgrelid::regclass || '.' || tgname
      FROM pg_trigger WHERE NOT tgisinternal AND tgparentid = 0
      ORDER BY 1`);
    const foreign = await foreignKeys();
    const known = GUARDS.filter((one) => !foreign.some(({ object }) => object === one.object));
    expect(rows.map(({ key }) => key)).toEqual([...new Set([...known.map(keyOf), ...SHAPE_ONLY])].sort());
  });
});

/** A key of nothing but the row's own id, with or without its employer. */
function isIdentity(constraint: string): string {
  return `NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = ${constraint}.conrelid
    AND a.attnum = ANY (${constraint}.conkey) AND a.attname NOT IN ('id', 'employer_id'))
    AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = ${constraint}.conrelid
      AND a.attnum = ANY (${constraint}.conkey) AND a.attname = 'id')`;
}

interface ForeignKey {
  on: string;
  object: string;
  parent: string;
  columns: string[];
  parent_columns: string[];
}

async function foreignKeys(): Promise<ForeignKey[]> {
  const names = (relation: string, numbers: string) => `ARRAY(SELECT a.attname::text
    FROM unnest(${numbers}) WITH ORDINALITY AS k(n, place)
    JOIN pg_attribute a ON a.attrelid = ${relation} AND a.attnum = k.n ORDER BY place)`;
  const { rows } = await client.query<ForeignKey>(`
    SELECT conrelid::regclass::text AS on, conname AS object, confrelid::regclass::text AS parent,
      ${names('conrelid', 'conkey')} AS columns, ${names('confrelid', 'confkey')} AS parent_columns
    FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conparentid = 0
    ORDER BY 1, 2`);
  return rows;
}

describe('references', () => {
  const BY_INTENT: GuardObject = {
    kind: 'trigger',
    on: 'submit_attempt',
    object: 'refuse_submit_without_intent',
  };

  /** The second row of a table as it would be if it referred to a parent that is another's, or nobody. */
  function crossing(key: ForeignKey, parent: Row | undefined): Guard | undefined {
    const row = seconds.get(key.on);
    const changed = key.columns.flatMap((column, place): [string, Row[string]][] =>
      column === 'employer_id' ? [] : [[column, parent?.[key.parent_columns[place]!] ?? NOBODY]],
    );
    if (!row || changed.length === 0) return undefined;
    return {
      name: keyOf(key),
      kind: 'constraint',
      on: key.on,
      object: key.object,
      lawful: insertion(key.on, row),
      forbidden: insertion(key.on, { ...row, ...Object.fromEntries(changed) }),
      also: key.on === 'submit_attempt' ? [BY_INTENT] : [],
    };
  }

  it('never cross from one employer to another', async () => {
    const composite = (await foreignKeys()).filter(({ columns }) => columns.length > 1);
    const tried: string[] = [];
    for (const key of composite) {
      const guard = crossing(key, others.find(([table]) => table === key.parent)?.[1]);
      if (!guard) throw new Error(`no row to try ${keyOf(key)} with`);
      expect({ [guard.name]: await soleRefusal(guard) }).toEqual({
        [guard.name]: { lawful: DONE, alone: guard.object, without: DONE },
      });
      tried.push(guard.name);
    }
    expect(tried.length).toBeGreaterThanOrEqual(24);
  });

  it('to a person name one who exists', async () => {
    const toPersons = (await foreignKeys()).filter(
      ({ parent, on }) => parent === 'person' && on !== 'api_key',
    );
    for (const key of toPersons) {
      const guard = crossing(key, undefined);
      if (!guard) throw new Error(`no row to try ${keyOf(key)} with`);
      expect({ [guard.name]: await soleRefusal(guard) }).toEqual({
        [guard.name]: { lawful: DONE, alone: guard.object, without: DONE },
      });
    }
    expect(toPersons.length).toBeGreaterThanOrEqual(13);
  });

  it('between tables of an employer always carry the employer', async () => {
    const employers = new Set(others.filter(([, row]) => 'employer_id' in row).map(([table]) => table));
    const within = (await foreignKeys()).filter(
      ({ on, parent }) => employers.has(on) && employers.has(parent),
    );
    expect(within.filter(({ columns }) => columns[0] !== 'employer_id').map(keyOf)).toEqual([]);
    expect(within.length).toBeGreaterThanOrEqual(24);
  });

  it('that no key checks are those of partitions, of work, and of what may be one thing or another', async () => {
    const { rows } = await client.query<{ name: string }>(`
      SELECT c.table_name || '.' || c.column_name AS name
      FROM information_schema.columns c JOIN pg_class t ON t.oid = c.table_name::regclass
      WHERE c.table_schema = 'public' AND c.udt_name = 'uuid' AND c.column_name LIKE '%\\_id' AND NOT t.relispartition
        AND NOT EXISTS (SELECT FROM pg_constraint k
          JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
          WHERE k.conrelid = t.oid AND k.contype = 'f' AND a.attname = c.column_name)
      ORDER BY 1`);
    expect(rows.map(({ name }) => name)).toEqual([
      'attention.subject_id',
      'audit_entry.chain_id',
      'audit_head.chain_id',
      'bank_call.employer_id',
      'bank_call.instruction_id',
      'idempotency_key.employer_id',
      'lease.subject_id',
      'state_change.employer_id',
      'state_change.pay_run_id',
      'state_change.subject_id',
    ]);
  });
});

describe('moves', () => {
  /** Every move of a subject that the schema lets pass. */
  async function allowedMoves(
    table: 'pay_run' | 'instruction',
    statuses: readonly string[],
  ): Promise<string[]> {
    const row = secondRows(1)[table];
    const moves: string[] = [];
    for (const from of statuses) {
      const inserted = insertion(table, {
        ...row,
        status: from,
        ...(table === 'instruction' ? { outcome: 'FAILED' } : {}),
      });
      for (const to of statuses) {
        const move = `UPDATE ${table} SET status = '${to}' WHERE id = '${row.id}'`;
        const outcome = await outcomeOf(inserted, move);
        expect([DONE, 'legal_moves_only']).toContain(outcome);
        if (outcome === DONE && from !== to) moves.push(`${from} ${to}`);
      }
    }
    return moves.sort();
  }

  const pairs = (table: Readonly<Record<string, readonly string[]>>) =>
    Object.entries(table)
      .flatMap(([from, tos]) => tos.map((to) => `${from} ${to}`))
      .sort();

  it('of a run are those of the domain, out of every one there could be', async () => {
    expect(await allowedMoves('pay_run', PAY_RUN_STATUSES)).toEqual(pairs(PAY_RUN_TRANSITIONS));
  });

  it('of an instruction are those of the domain, out of every one there could be', async () => {
    expect(await allowedMoves('instruction', INSTRUCTION_STATUSES)).toEqual(pairs(INSTRUCTION_TRANSITIONS));
  });

  it('of a payment lead out of no final state', async () => {
    const excluded = (status: string) => (status === 'EXCLUDED' ? 'out' : null);
    const row = secondRows(1).payment;
    const outcomes: Record<string, string[]> = {};
    for (const from of PAYMENT_FINALS) {
      const inserted = insertion('payment', {
        ...row,
        status: from,
        live: LIVE_PAYMENT_STATUSES.includes(from),
        excluded_reason: excluded(from),
      });
      for (const to of PAYMENT_STATUSES.filter((status) => status !== from)) {
        const live = LIVE_PAYMENT_STATUSES.includes(to);
        const reason = excluded(to) === null ? 'NULL' : `'out'`;
        const move = `UPDATE payment SET status = '${to}', live = ${live}, excluded_reason = ${reason}
          WHERE id = '${row.id}'`;
        const outcome = await outcomeOf(inserted, move);
        (outcomes[outcome] ??= []).push(`${from} ${to}`);
      }
    }
    expect(Object.keys(outcomes)).toEqual(['terminal_never_changes']);
    expect(outcomes['terminal_never_changes']).toHaveLength(
      PAYMENT_FINALS.length * (PAYMENT_STATUSES.length - 1),
    );
  });
});

describe('the role of the application', () => {
  const HISTORY: [string, string][] = [
    ['state_change', `UPDATE state_change SET actor = 'somebody'`],
    ['pay_run_version', `UPDATE pay_run_version SET row_count = 1`],
    ['planned_instruction', `UPDATE planned_instruction SET last_row = 9`],
    ['pay_release', `UPDATE pay_release SET reason = 'another'`],
    ['audit_entry', `UPDATE audit_entry SET action = 'another'`],
    ['allowed_move', `UPDATE allowed_move SET to_status = 'BUILDING'`],
    ...[
      'planned_instruction_id',
      'instruction_id',
      'bank_instruction_id',
      'row_hash',
      'epoch',
      'attempted_at',
    ].map((column): [string, string] => [
      'submit_attempt',
      `UPDATE submit_attempt SET ${column} = ${column}`,
    ]),
  ];

  beforeEach(async () => {
    await client.query('SET LOCAL ROLE payrun_app');
    await client.query(`SET LOCAL payrun.employer_id = '${own.employer}'`);
  });

  it.each(HISTORY)('cannot rewrite %s: %s', async (_table, statement) => {
    expect(await outcomeOf(`UPDATE submit_attempt SET outcome = 'IN_DOUBT'`)).toBe(DONE);
    expect(await outcomeOf(statement)).toBe('42501');
  });

  it('takes rows away only where nothing is remembered, and empties no table', async () => {
    const { rows } = await client.query<{ privilege: string; tables: string[] }>(`
      SELECT privilege_type AS privilege, array_agg(table_name::text ORDER BY table_name) AS tables
      FROM information_schema.role_table_grants
      WHERE grantee = 'payrun_app' AND privilege_type NOT IN ('SELECT', 'INSERT', 'UPDATE') GROUP BY 1`);
    expect(rows).toEqual([{ privilege: 'DELETE', tables: ['idempotency_key', 'lease', 'person_role'] }]);
  });

  it('updates no column but these of what is written once', async () => {
    const { rows } = await client.query<{ name: string }>(`
      SELECT table_name || '.' || column_name AS name FROM information_schema.column_privileges
      WHERE grantee = 'payrun_app' AND privilege_type = 'UPDATE' AND table_name IN ('state_change', 'submit_attempt',
        'pay_run_version', 'pay_release', 'planned_instruction', 'audit_entry', 'allowed_move', 'webhook_inbox')
      ORDER BY 1`);
    expect(rows.map(({ name }) => name)).toEqual([
      'submit_attempt.finished_at',
      'submit_attempt.outcome',
      'submit_attempt.outcome_detail',
    ]);
  });

  it('reaches no partition beside its table, where no policy holds', async () => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class WHERE relispartition AND relkind = 'r'`,
    );
    expect(rows.length).toBeGreaterThanOrEqual(12);
    for (const { name } of rows)
      expect([name, await outcomeOf(`SELECT FROM ${name}`)]).toEqual([name, '42501']);
  });
});

describe('two sessions at once', () => {
  const theirs = idsOf(2);
  const { instruction, planned_instruction: plan, submit_attempt: attempt } = secondRows(2);
  let other: Client;

  beforeEach(async () => {
    other = new Client({ connectionString: database.superuserUrl });
    await other.connect();
  });
  afterEach(() => other.end());

  /** Both statements, the second while the first is not committed yet; what became of the second. */
  async function race(firstStatement: string, secondStatement: string): Promise<string> {
    await client.query(firstStatement);
    const outcome = other.query(secondStatement).then(
      () => DONE,
      (error: DatabaseError) => error.constraint ?? error.message,
    );
    const waits = await Promise.race([outcome, new Promise((resolve) => setTimeout(resolve, 200, 'waits'))]);
    expect(waits).toBe('waits');
    await client.query('COMMIT');
    return outcome;
  }

  it('do not put a row in two live instructions', async () => {
    const [, overlapping] = theirs.fresh;
    await execute(
      database.superuserUrl,
      insertion('planned_instruction', {
        ...plan,
        id: overlapping,
        run_version: 2,
        first_row: 1,
        last_row: 3,
      }),
    );
    const outcome = await race(
      `UPDATE instruction SET status = 'SUBMIT_UNKNOWN' WHERE id = '${theirs.instruction[0]}';
       ${insertion('instruction', instruction)}`,
      insertion('instruction', {
        ...instruction,
        id: overlapping,
        planned_instruction_id: overlapping,
        bank_instruction_id: null,
      }),
    );
    expect(outcome).toBe('one_live_instruction_per_row');
  });

  it('do not submit a plan twice', async () => {
    const [, again] = theirs.fresh;
    const outcome = await race(
      insertion('submit_attempt', attempt),
      insertion('submit_attempt', { ...attempt, id: again }),
    );
    expect(outcome).toBe('one_submit_per_planned_instruction');
  });

  it('do not pay an employee twice', async () => {
    const { payment } = secondRows(2);
    const [, again] = theirs.fresh;
    const outcome = await race(
      insertion('payment', payment),
      insertion('payment', { ...payment, id: again, row_no: 4, replaces_payment_id: null }),
    );
    expect(outcome).toBe('one_live_payment_per_employee_and_period');
  });
});
