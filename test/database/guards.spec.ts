import { Client, DatabaseError } from 'pg';
import { execute } from '../support/database';
import { COMPARISON_GUARDS } from './comparison-guards';
import { dropping, Guard, GuardObject, keyOf } from './guard';
import { HOLD_GUARDS } from './hold-guards';
import { INSTRUCTION_GUARDS } from './instruction-guards';
import { PAY_RUN_GUARDS } from './pay-run-guards';
import { PAYMENT_GUARDS } from './payment-guards';
import { RECORD_GUARDS } from './record-guards';
import { RESTORE_GUARDS } from './restore-guards';
import { SHAPE_ONLY } from './shape-only';
import { SUBMIT_GUARDS } from './submit-guards';
import { DONE, trials } from './trials';
import { APPROVER, firstRows, idsOf, insertion, NOBODY, Row, secondRows, uuid } from './two-employers';

const GUARDS = [
  ...COMPARISON_GUARDS,
  ...INSTRUCTION_GUARDS,
  ...SUBMIT_GUARDS,
  ...PAY_RUN_GUARDS,
  ...PAYMENT_GUARDS,
  ...HOLD_GUARDS,
  ...RECORD_GUARDS,
  ...RESTORE_GUARDS,
];
const others = Object.entries<Row>(firstRows(2));
const seconds = new Map(Object.entries<Row>(secondRows(1)));

const trial = trials();
const { outcomeOf } = trial;

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
    for (const statement of guard.given ?? []) await trial.client.query(statement);
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
    const { rows } = await trial.client.query<{ key: string }>(`
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
      FROM pg_trigger JOIN pg_class t ON t.oid = tgrelid
      WHERE NOT tgisinternal AND tgparentid = 0 AND (NOT t.relispartition OR relname LIKE '%\\_rest')
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
  const { rows } = await trial.client.query<ForeignKey>(`
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

  const BY_TWO: GuardObject = {
    kind: 'trigger',
    on: 'forgotten_instruction',
    object: 'refuse_decision_by_one_person',
  };
  const BY_MEANING: GuardObject = {
    kind: 'trigger',
    on: 'payment_decision',
    object: 'refuse_meaning_without_two_people',
  };
  const BY_WORD: GuardObject = {
    kind: 'trigger',
    on: 'unseen_decision',
    object: 'refuse_word_without_two_people',
  };
  const alsoOf = ({ on, parent }: ForeignKey): GuardObject[] => {
    if (on === 'submit_attempt') return [BY_INTENT];
    if (on === 'payment_decision') return [BY_MEANING];
    if (on === 'unseen_decision') return [BY_WORD];
    return on === 'forgotten_instruction' && parent === 'attention_action' ? [BY_TWO] : [];
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
      also: alsoOf(key),
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
      ({ parent, on }) => parent === 'person' && on !== 'api_key' && on !== 'service_switch',
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
    const { rows } = await trial.client.query<{ name: string }>(`
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
      'bank_payment.employer_id',
      'bank_payment.instruction_id',
      'bank_payment.payment_id',
      'forgotten_instruction.instruction_id',
      'idempotency_key.employer_id',
      'invariant_breach.subject_id',
      'lease.subject_id',
      'service_stop.subject_id',
      'state_change.employer_id',
      'state_change.pay_run_id',
      'state_change.subject_id',
    ]);
  });
});

it('no partition of the history is emptied, also none made later', async () => {
  await trial.client.query(`SELECT ensure_month_partitions('2031-01-01', 2)`);
  const { rows } = await trial.client.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'state_change'::regclass`,
  );
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(['state_change_203102']));
  for (const { name } of rows)
    expect([name, await outcomeOf(`TRUNCATE ${name}`)]).toEqual([name, 'append_only']);
  expect(await outcomeOf('TRUNCATE state_change')).toBe('append_only');
});

describe('two sessions at once', () => {
  const theirs = idsOf(2);
  const { instruction, planned_instruction: plan, submit_attempt: attempt } = secondRows(2);
  let other: Client;

  beforeEach(async () => {
    other = new Client({ connectionString: trial.superuserUrl });
    await other.connect();
  });
  afterEach(() => other.end());

  /** Both statements, the second while the first is not committed yet; what became of the second. */
  async function race(firstStatement: string, secondStatement: string): Promise<string> {
    await trial.client.query(firstStatement);
    const outcome = other.query(secondStatement).then(
      () => DONE,
      (error: DatabaseError) => error.constraint ?? error.message,
    );
    const waits = await Promise.race([outcome, new Promise((resolve) => setTimeout(resolve, 200, 'waits'))]);
    expect(waits).toBe('waits');
    await trial.client.query('COMMIT');
    return outcome;
  }

  it('do not end a payment by what two statuses mean', async () => {
    const { payment_decision: decision } = secondRows(2);
    await execute(
      trial.superuserUrl,
      `UPDATE attention SET happened = 'this: PRO_ODD (rows 1, 2), PRO_ODDER (rows 1, 2)'
       WHERE employer_id = '${theirs.employer}'`,
    );
    const outcome = await race(
      insertion('payment_decision', decision),
      insertion('payment_decision', { ...decision, bank_status: 'PRO_ODDER' }),
    );
    expect(outcome).toBe('one_decision_ends_a_payment');
  });

  it('do not put a row in two live instructions', async () => {
    const [, overlapping] = theirs.fresh;
    await execute(
      trial.superuserUrl,
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

  /** An instruction of a row of its own, in SUBMIT_INTENT, and its submit. */
  async function intended(row: number): Promise<{ submit: string; takenBack: string }> {
    const id = uuid(2200 + row);
    const bank_instruction_id = `bank-2-of-${row}`;
    const own = { ...plan, id, ordinal: row, first_row: row, last_row: row };
    await execute(
      trial.superuserUrl,
      [
        insertion('planned_instruction', own),
        insertion('instruction', { ...instruction, id, planned_instruction_id: id, bank_instruction_id }),
      ].join('; '),
    );
    const of = {
      planned_instruction_id: id,
      instruction_id: id,
      bank_instruction_id,
      row_hash: plan.row_hash,
    };
    return {
      submit: insertion('submit_attempt', { ...attempt, id, ...of }),
      takenBack: `UPDATE instruction SET status = 'VERIFIED' WHERE id = '${id}'`,
    };
  }

  it('do not take an instruction back while it is submitted', async () => {
    const { submit, takenBack } = await intended(21);
    expect(await race(submit, takenBack)).toBe('submit_is_not_given_up');
  });

  it('do not submit an instruction while it is taken back', async () => {
    const { submit, takenBack } = await intended(22);
    expect(await race(takenBack, submit)).toBe('submit_needs_intent');
  });

  /** An account that nothing uses, a run on it, and its detachment. */
  async function unused(n: number): Promise<{ run: string; detached: string }> {
    const { employer_account: account, pay_run: run } = secondRows(2);
    const id = uuid(2300 + n);
    await execute(
      trial.superuserUrl,
      insertion('employer_account', { ...account, id, bank_account_id: `account-2-of-${n}` }),
    );
    return {
      run: insertion('pay_run', { ...run, id, account_id: id, sequence: n }),
      detached: `UPDATE employer_account SET detached_at = now() WHERE id = '${id}'`,
    };
  }

  it('do not detach an account while a run is made on it', async () => {
    const { run, detached } = await unused(31);
    expect(await race(run, detached)).toBe('detached_account_is_idle');
  });

  it('do not make a run on an account while it is detached', async () => {
    const { run, detached } = await unused(32);
    expect(await race(detached, run)).toBe('account_is_attached');
  });

  it('make a run on an account while another on it passes its gate', async () => {
    const { run } = await unused(33);
    await trial.client.query(`SELECT FROM employer_account WHERE id = '${uuid(2333)}' FOR NO KEY UPDATE`);
    await other.query(run);
  });

  /** A release of one employee, a payment by it, and its withdrawal. */
  async function release(n: number): Promise<{ pay: string; withdrawn: string }> {
    const { pay_release: given, payment } = firstRows(2);
    const id = uuid(2400 + n);
    await execute(trial.superuserUrl, insertion('pay_release', { ...given, id, sequence: n }));
    return {
      pay: insertion('payment', { ...payment, id, row_no: n, release_sequence: n }),
      withdrawn: `UPDATE pay_release SET withdrawn_at = now(), withdrawn_by = '${APPROVER}',
        withdrawn_reason = 'a mistake' WHERE id = '${id}'`,
    };
  }

  it('do not withdraw a release while it is used', async () => {
    const { pay, withdrawn } = await release(41);
    expect(await race(pay, withdrawn)).toBe('used_release_stands');
  });

  it('do not use a release while it is withdrawn', async () => {
    const { pay, withdrawn } = await release(42);
    expect(await race(withdrawn, pay)).toBe('second_pay_is_released');
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

  it('do not pay around one another what a chain is to pay', async () => {
    const { payment } = firstRows(2);
    const of = { ...payment, employee_id: 'E25', replaces_payment_id: null };
    const [first, leftOut, released] = [uuid(2501), uuid(2502), uuid(2503)];
    const ended: Row = { ...of, status: 'VOID', live: false, row_no: 51, id: first };
    const excluded: Row = {
      ...of,
      status: 'EXCLUDED',
      live: false,
      excluded_reason: 'sent twice',
      row_no: 52,
    };
    await execute(
      trial.superuserUrl,
      [
        insertion('payment', ended),
        insertion('payment', { ...excluded, id: leftOut, replaces_payment_id: first }),
        insertion('pay_release', { ...firstRows(2).pay_release, id: released, employee_id: 'E25' }),
      ].join('; '),
    );
    const outcome = await race(
      insertion('payment', { ...of, id: uuid(2504), row_no: 53, replaces_payment_id: first }),
      insertion('payment', {
        ...of,
        id: uuid(2505),
        row_no: 54,
        release_sequence: 1,
        replaces_payment_id: leftOut,
      }),
    );
    expect(outcome).toBe('last_sent_is_replaced');
  });

  it.each([
    {
      when: 'while its run is stopped',
      first: `UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a doubt' WHERE id = '${theirs.run}'`,
      refusal: 'submit_is_stopped',
      undone: `UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL`,
    },
    {
      when: 'while its employer is stopped',
      first: `UPDATE employer SET stopped_at = now(), stopped_reason = 'a doubt' WHERE id = '${theirs.employer}'`,
      refusal: 'submit_is_stopped',
      undone: `UPDATE employer SET stopped_at = NULL, stopped_reason = NULL`,
    },
    {
      when: 'while all submits are switched off',
      first: `UPDATE service_switch SET submits_off = true, reason = 'a doubt'`,
      refusal: 'submit_is_stopped',
      undone: `UPDATE service_switch SET submits_off = false, reason = NULL`,
    },
    {
      when: 'while its approval is taken back',
      first: `UPDATE approval SET voided_at = now(), voided_reason = 'a doubt' WHERE id = '${theirs.approval}'`,
      refusal: 'submit_needs_approval',
      undone: insertion('approval', secondRows(2).approval),
    },
  ])('do not submit $when', async ({ first, refusal, undone }) => {
    expect(await race(first, insertion('submit_attempt', attempt))).toBe(refusal);
    await execute(trial.superuserUrl, undone);
  });
});
