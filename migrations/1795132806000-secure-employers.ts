import { MigrationInterface, QueryRunner } from 'typeorm';

/** Tables of one employer: forced row-level security on the employer set for the transaction. */
const EMPLOYER_TABLES = [
  'employer_account',
  'bank_hook',
  'pay_schedule',
  'schedule_period',
  'pay_run',
  'pay_file',
  'pay_run_version',
  'amendment',
  'approval',
  'planned_instruction',
  'pay_release',
  'payment',
  'instruction',
  'submit_attempt',
  'add_intent',
  'bank_payment',
  'fact_sequence',
  'state_change',
  'bank_call',
  'attention',
  'attention_action',
  'idempotency_key',
] as const;

/** What the application may change of a row; nothing where no column is named, and all of any other table. */
const CHANGEABLE: Partial<Record<(typeof EMPLOYER_TABLES)[number], readonly string[]>> = {
  pay_run: [
    'execution_date',
    'status',
    'run_version',
    'row_count',
    'total_minor',
    'root_hash',
    'stopped_at',
    'stopped_reason',
    'lapse_reason',
    'revision',
  ],
  pay_run_version: [],
  approval: ['voided_at', 'voided_reason'],
  planned_instruction: [],
  pay_release: [],
  payment: ['status', 'live', 'excluded_reason', 'charges_minor', 'settled_on', 'returned_at'],
  submit_attempt: ['outcome', 'outcome_detail', 'finished_at'],
  state_change: [],
  attention: ['resolved_at', 'resolution'],
};

/** What the narrow role may read of every employer: identifiers to claim work by, never a name or an amount. */
const WORKER_READS: Record<string, string> = {
  instruction: 'employer_id, id, bank_instruction_id, status',
  bank_payment: 'employer_id, instruction_id, bank_payment_id, bank_transaction_id',
  employer_account: 'employer_id, id, bank_account_id, bank_user_id',
  pay_schedule: 'employer_id, id, active',
};

/** The application owns nothing, cannot bypass the policies, and sees no row without an employer. */
export class SecureEmployers1795132806000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION current_employer() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
        AS $$ SELECT nullif(current_setting('payrun.employer_id', true), '')::uuid $$;
      GRANT USAGE ON SCHEMA public TO payrun_app, payrun_worker;
    `);
    for (const table of EMPLOYER_TABLES) {
      await db.query(`
        ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
        ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;
        CREATE POLICY own_employer ON ${table} TO payrun_app
          USING (employer_id = (SELECT current_employer()))
          WITH CHECK (employer_id = (SELECT current_employer()));
        GRANT SELECT, INSERT${changing(table)} ON ${table} TO payrun_app;
      `);
    }
    await db.query(`
      ALTER TABLE employer ENABLE ROW LEVEL SECURITY;
      ALTER TABLE employer FORCE ROW LEVEL SECURITY;
      CREATE POLICY own_employer ON employer TO payrun_app
        USING (id = (SELECT current_employer())) WITH CHECK (id = (SELECT current_employer()));
      GRANT SELECT, INSERT, UPDATE ON employer TO payrun_app;
      CREATE POLICY every_employer ON employer FOR SELECT TO payrun_worker USING (true);
      GRANT SELECT (id, created_at) ON employer TO payrun_worker;

      ALTER TABLE audit_entry ENABLE ROW LEVEL SECURITY;
      ALTER TABLE audit_entry FORCE ROW LEVEL SECURITY;
      ALTER TABLE audit_head ENABLE ROW LEVEL SECURITY;
      ALTER TABLE audit_head FORCE ROW LEVEL SECURITY;
      CREATE POLICY own_chain ON audit_entry TO payrun_app
        USING (chain_id = coalesce((SELECT current_employer()), '00000000-0000-0000-0000-000000000000'))
        WITH CHECK (chain_id = coalesce((SELECT current_employer()), '00000000-0000-0000-0000-000000000000'));
      CREATE POLICY own_chain ON audit_head TO payrun_app
        USING (chain_id = coalesce((SELECT current_employer()), '00000000-0000-0000-0000-000000000000'))
        WITH CHECK (chain_id = coalesce((SELECT current_employer()), '00000000-0000-0000-0000-000000000000'));
      GRANT SELECT, INSERT ON audit_entry TO payrun_app;
      GRANT SELECT, INSERT, UPDATE ON audit_head TO payrun_app;

      GRANT DELETE ON idempotency_key TO payrun_app;
      GRANT SELECT, INSERT, UPDATE ON person, api_key TO payrun_app;
      GRANT SELECT, INSERT, UPDATE, DELETE ON person_role TO payrun_app;
      GRANT SELECT, UPDATE ON service_switch TO payrun_app;
      GRANT SELECT ON allowed_move TO payrun_app;
      GRANT SELECT, INSERT ON webhook_inbox TO payrun_app;
      GRANT SELECT, INSERT, UPDATE ON lease TO payrun_app;
      GRANT SELECT, UPDATE ON lease TO payrun_worker;
      GRANT EXECUTE ON FUNCTION ensure_month_partitions TO payrun_app;
    `);
    for (const [table, columns] of Object.entries(WORKER_READS)) {
      await db.query(`
        CREATE POLICY every_employer ON ${table} FOR SELECT TO payrun_worker USING (true);
        GRANT SELECT (${columns}) ON ${table} TO payrun_worker;
      `);
    }
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      REVOKE ALL ON ALL TABLES IN SCHEMA public FROM payrun_app, payrun_worker;
      REVOKE ALL ON FUNCTION ensure_month_partitions FROM payrun_app;
    `);
    for (const table of [...EMPLOYER_TABLES, 'employer', 'audit_entry', 'audit_head']) {
      await db.query(`
        DROP POLICY IF EXISTS own_employer ON ${table};
        DROP POLICY IF EXISTS own_chain ON ${table};
        DROP POLICY IF EXISTS every_employer ON ${table};
        ALTER TABLE ${table} NO FORCE ROW LEVEL SECURITY;
        ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY;
      `);
    }
    await db.query(`DROP FUNCTION current_employer`);
  }
}

function changing(table: (typeof EMPLOYER_TABLES)[number]): string {
  const columns = CHANGEABLE[table];
  if (columns === undefined) return ', UPDATE';
  return columns.length === 0 ? '' : `, UPDATE (${columns.join(', ')})`;
}
