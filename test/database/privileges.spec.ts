import { PAY_RUN_STATUSES } from '../../src/domain/pay-run';
import { DONE, trials } from './trials';
import { idsOf, insertion, Row, secondRows } from './two-employers';

const own = idsOf(1);
const trial = trials();
const { outcomeOf } = trial;

const IDENTITY_OF_A_RUN = [
  'employer_id',
  'id',
  'account_id',
  'period',
  'kind_of_pay',
  'created_by',
  'parent_run_id',
  'sequence',
  'currency',
  'exponent',
];
const CONTENT_OF_A_PAYMENT = [
  'amount_minor',
  'iban_sealed',
  'iban_hash',
  'name_sealed',
  'name_hash',
  'bic',
  'currency',
  'remittance',
  'employee_id',
  'period',
  'kind_of_pay',
  'row_no',
  'line',
  'pay_run_id',
  'row_hash',
  'replaces_payment_id',
  'replaces_reason',
];

describe('the role of the application', () => {
  const HISTORY: [string, string][] = [
    ['state_change', `UPDATE state_change SET actor = 'somebody'`],
    ['pay_run_version', `UPDATE pay_run_version SET row_count = 1`],
    ['planned_instruction', `UPDATE planned_instruction SET last_row = 9`],
    ['pay_release', `UPDATE pay_release SET reason = 'another'`],
    ['pay_release', `UPDATE pay_release SET sequence = sequence`],
    ['audit_entry', `UPDATE audit_entry SET action = 'another'`],
    ['allowed_move', `UPDATE allowed_move SET to_status = 'BUILDING'`],
    ['lease', `DELETE FROM lease`],
    ...['id', 'employer_id', 'kind', 'subject_id', 'stopped_at'].map((column): [string, string] => [
      'service_stop',
      `UPDATE service_stop SET ${column} = ${column}`,
    ]),
    ['service_stop', `DELETE FROM service_stop`],
    ['bank_rate', `INSERT INTO bank_rate DEFAULT VALUES`],
    ['bank_rate', `UPDATE bank_rate SET id = id`],
    ['bank_rate', `DELETE FROM bank_rate`],
    ['hook_address', `UPDATE hook_address SET url = url`],
    ['hook_subscription', `DELETE FROM hook_subscription`],
    ['installation_event', `UPDATE installation_event SET event = event`],
    ['bank_list', `UPDATE bank_list SET list = list`],
    ['bank_list', `DELETE FROM bank_list`],
    ['database_identity', `DELETE FROM database_identity`],
    ['hash_key', `UPDATE hash_key SET fingerprint = fingerprint`],
    ['hash_key', `DELETE FROM hash_key`],
    ['database_restore', `UPDATE database_restore SET what = what`],
    ['database_restore', `DELETE FROM database_restore`],
    ['restore_mark', `DELETE FROM restore_mark`],
    ['forgotten_debit', `UPDATE forgotten_debit SET debtor_hash = NULL`],
    ['forgotten_debit', `DELETE FROM forgotten_debit`],
    ['restore_check', `UPDATE restore_check SET restore_id = restore_id`],
    ['forgotten_instruction', `UPDATE forgotten_instruction SET pay_run_id = pay_run_id`],
    ['forgotten_instruction', `UPDATE forgotten_instruction SET bank_status = bank_status`],
    ['forgotten_instruction', `DELETE FROM forgotten_instruction`],
    ['payment_decision', `UPDATE payment_decision SET bank_status = bank_status`],
    ['payment_decision', `DELETE FROM payment_decision`],
    ['moved_instruction', `UPDATE moved_instruction SET bank_status = bank_status`],
    ['moved_instruction', `DELETE FROM moved_instruction`],
    ['moved_payment', `UPDATE moved_payment SET row_no = row_no`],
    ['moved_payment', `DELETE FROM moved_payment`],
    ['pay_file_profile', `DELETE FROM pay_file_profile`],
    ['pay_file_profile', `UPDATE pay_file_profile SET created_by = created_by`],
    ['pay_file', `UPDATE pay_file SET read_as = '{}'`],
    ['pay_file', `UPDATE pay_file SET fault_policy = '{"policy": "hold"}'`],
    ['faulty_file', `UPDATE faulty_file SET pay_run_id = NULL`],
    ['faulty_row', `UPDATE faulty_row SET line = line`],
    ['faulty_row', `DELETE FROM faulty_row`],
    ['approval', `UPDATE approval SET root_hash = root_hash`],
    ...['run_comparison', 'run_difference', 'iban_tick'].flatMap((table): [string, string][] => [
      [table, `UPDATE ${table} SET run_version = run_version`],
      [table, `DELETE FROM ${table}`],
    ]),
    ...[
      'row_no',
      'code',
      'payment_id',
      'bound_minor',
      'beside_run_id',
      'also_beside_run_ids',
      'beside_payment_ids',
      'later_payment_ids',
    ].map((column): [string, string] => ['pay_hold', `UPDATE pay_hold SET ${column} = ${column}`]),
    ['pay_hold', `DELETE FROM pay_hold`],
    ['attention', `UPDATE attention SET happened = 'nothing'`],
    ['invariant_breach', `UPDATE invariant_breach SET invariant = invariant`],
    ['invariant_breach', `DELETE FROM invariant_breach`],
    ...IDENTITY_OF_A_RUN.map((column): [string, string] => [
      'pay_run',
      `UPDATE pay_run SET ${column} = ${column}`,
    ]),
    ...CONTENT_OF_A_PAYMENT.map((column): [string, string] => [
      'payment',
      `UPDATE payment SET ${column} = ${column}`,
    ]),
    ...['batch', 'row_nos', 'body_hashes', 'epoch', 'intended_at'].map((column): [string, string] => [
      'add_intent',
      `UPDATE add_intent SET ${column} = ${column}`,
    ]),
    ...['operation', 'target', 'body_hash', 'attempt', 'epoch', 'intended_at'].map(
      (column): [string, string] => ['bank_call', `UPDATE bank_call SET ${column} = ${column}`],
    ),
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
    await trial.client.query('SET LOCAL ROLE payrun_app');
    await trial.client.query(`SET LOCAL payrun.employer_id = '${own.employer}'`);
  });

  it.each(HISTORY)('cannot rewrite %s: %s', async (_table, statement) => {
    expect(await outcomeOf(`UPDATE submit_attempt SET outcome = 'IN_DOUBT'`)).toBe(DONE);
    expect(await outcomeOf(statement)).toBe('42501');
  });

  it('takes rows away only where nothing is remembered, and empties no table', async () => {
    const { rows } = await trial.client.query<{ privilege: string; tables: string[] }>(`
      SELECT privilege_type AS privilege, array_agg(table_name::text ORDER BY table_name) AS tables
      FROM information_schema.role_table_grants
      WHERE grantee = 'payrun_app' AND privilege_type NOT IN ('SELECT', 'INSERT', 'UPDATE') GROUP BY 1`);
    expect(rows).toEqual([
      { privilege: 'DELETE', tables: ['faulty_file', 'idempotency_key', 'person_role'] },
    ]);
  });

  it('updates no column but these of what is written once', async () => {
    const { rows } = await trial.client.query<{ table: string; columns: string[] }>(`
      SELECT table_name::text AS table, array_agg(column_name::text ORDER BY column_name) AS columns
      FROM information_schema.column_privileges
      WHERE grantee = 'payrun_app' AND privilege_type = 'UPDATE' AND table_name IN ('state_change', 'submit_attempt',
        'pay_run_version', 'pay_release', 'planned_instruction', 'audit_entry', 'allowed_move', 'webhook_inbox',
        'pay_run', 'payment', 'approval', 'attention', 'pay_file', 'pay_file_profile', 'faulty_file', 'faulty_row',
         'pay_hold', 'add_intent', 'bank_call')
      GROUP BY 1`);
    expect(Object.fromEntries(rows.map(({ table, columns }) => [table, columns.join(' ')]))).toEqual({
      add_intent: 'finished_at',
      approval: 'voided_at voided_reason',
      attention: 'resolution resolved_at',
      bank_call: 'finished_at outcome outcome_detail',
      faulty_row: 'amount_minor cells_sealed employee_id fault_count faults_sealed payment_id rewritten_by',
      pay_file: 'replayable',
      pay_file_profile: 'changed_at definition deleted_at name revision',
      pay_hold: 'decided_at decided_by outcome reason',
      pay_release: 'withdrawn_at withdrawn_by withdrawn_reason',
      pay_run:
        'balance_asked_at balance_before_minor balance_even_at balance_read_at execution_date lapse_reason revision root_hash row_count run_version status stopped_at stopped_reason submit_at total_minor',
      payment:
        'charges_minor excluded_reason live release_sequence returned_at returned_minor settled_on status',
      submit_attempt: 'finished_at outcome outcome_detail',
    });
  });

  it('reaches no partition beside its table, where no policy holds', async () => {
    const { rows } = await trial.client.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class WHERE relispartition AND relkind = 'r'`,
    );
    expect(rows.length).toBeGreaterThanOrEqual(12);
    for (const { name } of rows)
      expect([name, await outcomeOf(`SELECT FROM ${name}`)]).toEqual([name, '42501']);
  });

  const { pay_run, instruction, payment, pay_hold, forgotten_instruction } = secondRows(1);
  const open: Row = { ...pay_hold, outcome: null, reason: null, decided_by: null, decided_at: null };
  const is = (status: string): Row => ({ status });
  const during = (status: string) =>
    `RESET ROLE; SET LOCAL session_replication_role = replica; UPDATE pay_run SET status = '${status}';
     SET LOCAL session_replication_role = origin; SET LOCAL ROLE payrun_app`;
  it.each<[string, Row, Row, Row]>([
    ['pay_run', pay_run, is('DRAFT'), is('APPROVED')],
    ['instruction', instruction, is('PLANNED'), is('VERIFIED')],
    ['payment', payment, is('READY'), is('SETTLED')],
    ['payment', payment, is('READY'), is('AT_BANK')],
    ['pay_hold', pay_hold, open, {}],
    ['forgotten_instruction', forgotten_instruction, { adopted_at: null }, {}],
  ])('begins every %s at its beginning', async (table, row, beginning, later) => {
    await trial.client.query(during('DRAFT'));
    expect(await outcomeOf(insertion(table, { ...row, ...beginning }))).toBe(DONE);
    const further = insertion(table, { ...row, ...later });
    expect(await outcomeOf(further)).toBe('42501');
    const without = `RESET ROLE; DROP POLICY begins_at_the_beginning ON ${table}; SET LOCAL ROLE payrun_app`;
    expect(await outcomeOf(without, further)).toBe(DONE);
  });

  const { planned_instruction, pay_run_version } = secondRows(1);
  it.each<[string, Row]>([
    ['payment', { ...payment, status: 'READY' }],
    ['payment', { ...payment, status: 'HELD', live: false }],
    ['planned_instruction', planned_instruction],
    ['pay_run_version', pay_run_version],
  ])('adds no %s to a run that is no draft', async (table, row) => {
    const added = insertion(table, row);
    expect(await outcomeOf(during('DRAFT'), added)).toBe(DONE);
    for (const status of PAY_RUN_STATUSES.filter((one) => one !== 'DRAFT'))
      expect([status, await outcomeOf(during(status), added)]).toEqual([status, '42501']);
    const without = `RESET ROLE; DROP POLICY joins_a_draft ON ${table}; SET LOCAL ROLE payrun_app`;
    expect(await outcomeOf(without, added)).toBe(DONE);
  });

  it('hides no table of the schema behind one of its session', async () => {
    const reading = `SELECT repays_forgotten('${own.employer}', '${own.run}') AS repays`;
    const hiding =
      'CREATE TEMPORARY TABLE forgotten_instruction AS SELECT * FROM forgotten_instruction LIMIT 0';
    await trial.client.query(`${during('FOLLOWING')}; RESET ROLE;
      SET LOCAL session_replication_role = replica; UPDATE forgotten_instruction SET adopted_at = NULL;
      SET LOCAL session_replication_role = origin; SET LOCAL ROLE payrun_app; ${hiding}`);
    expect((await trial.client.query(reading)).rows).toEqual([{ repays: true }]);
  });
});

it('no function of the schema looks for its tables among those of the session', async () => {
  const { rows } = await trial.client.query<{ name: string }>(
    `SELECT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace
       AND NOT coalesce(proconfig, '{}') @> ARRAY['search_path=public, pg_temp']`,
  );
  // The planner puts its body in its place, and it reads no table.
  expect(rows).toEqual([{ name: 'current_employer' }]);
});
