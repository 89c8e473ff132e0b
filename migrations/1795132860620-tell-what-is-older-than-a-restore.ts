import { MigrationInterface, QueryRunner } from 'typeorm';

/** What is compared with restores, and when it was made. */
const STAMPED = {
  employer: 'created_at',
  pay_run: 'created_at',
  approval: 'approved_at',
  submit_attempt: 'attempted_at',
  pay_release: 'released_at',
};

/**
 * What is older than a restore is told by how many were known when it was made, and not by the time: the clock of the server
 * that is lost may have been ahead of that which notices the restore. And an account may have gone from one employer to
 * another: what a restore found of it, and no record knows, is held against whichever has it.
 */
export class TellWhatIsOlderThanARestore1795132860620 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE database_restore ADD COLUMN nth integer;
      COMMENT ON COLUMN database_restore.nth IS 'what was made while fewer were known is older, whatever a clock says';
      UPDATE database_restore d SET nth = r.nth
        FROM (SELECT id, row_number() OVER (ORDER BY noticed_at, id) AS nth FROM database_restore) r WHERE r.id = d.id;
      CREATE FUNCTION known_restores() RETURNS integer LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
        SELECT coalesce(max(nth), 0) FROM database_restore $$;
      COMMENT ON FUNCTION known_restores IS 'of how many restores the database knows';
      ALTER TABLE database_restore ALTER COLUMN nth SET NOT NULL, ALTER COLUMN nth SET DEFAULT known_restores() + 1;

      CREATE FUNCTION restores_known_at(moment timestamptz) RETURNS integer LANGUAGE sql STABLE
      SET search_path = public, pg_temp AS $$
        SELECT coalesce(max(nth), 0) FROM database_restore WHERE noticed_at <= moment $$;
    `);
    const anyRestore = (await db.query('SELECT FROM database_restore LIMIT 1')) as unknown[];
    for (const [table, at] of Object.entries(STAMPED)) {
      await db.query(`
        ALTER TABLE ${table} ADD COLUMN known_restores integer NOT NULL DEFAULT 0;
        COMMENT ON COLUMN ${table}.known_restores IS 'how many restores were known when it was made';
      `);
      // Of what is there already only the time is known.
      if (anyRestore.length > 0)
        await db.query(
          `ALTER TABLE ${table} ALTER COLUMN known_restores TYPE integer USING restores_known_at(${at})`,
        );
      await db.query(`ALTER TABLE ${table} ALTER COLUMN known_restores SET DEFAULT known_restores()`);
    }
    await db.query(`
      DROP FUNCTION restores_known_at;

      CREATE FUNCTION restore_leaves_in_doubt(employer uuid, known integer, since timestamptz) RETURNS boolean
      LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
        SELECT EXISTS (SELECT FROM database_restore d WHERE d.nth > known
            AND (NOT EXISTS (SELECT FROM restore_check c WHERE c.employer_id = employer AND c.restore_id = d.id
                AND c.passed_at IS NOT NULL AND NOT c.needs_evidence)
              OR EXISTS (SELECT FROM forgotten_debit f
                JOIN employer_account a ON a.employer_id = employer AND a.iban_hash = f.debtor_hash
                WHERE f.restore_id = d.id)
              OR EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = employer AND f.restore_id = d.id
                AND f.pay_run_id IS NULL AND f.adopted_at IS NULL)))
          OR EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = employer AND f.pay_run_id IS NULL
            AND f.adopted_at IS NULL AND f.found_at > since) $$;
      COMMENT ON FUNCTION restore_leaves_in_doubt(uuid, integer, timestamptz) IS
        'whether a submit may be forgotten of which nobody knows whom it paid, among those who were owed at a moment';

      CREATE OR REPLACE ${mayBePaid('restore_leaves_in_doubt(employer, own.known_restores, own.created_at)', 'd.nth > r.known_restores')};
      DROP FUNCTION restore_leaves_in_doubt(uuid, timestamptz);

      CREATE OR REPLACE ${refuseArming('s.known_restores', 'known_restores()')};
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE OR REPLACE ${refuseArming('s.attempted_at', '(SELECT max(noticed_at) FROM database_restore)')};

      CREATE FUNCTION restore_leaves_in_doubt(employer uuid, since timestamptz) RETURNS boolean LANGUAGE sql STABLE
      SET search_path = public, pg_temp AS $$
        SELECT EXISTS (SELECT FROM database_restore d WHERE d.noticed_at > since
            AND NOT EXISTS (SELECT FROM restore_check c WHERE c.employer_id = employer AND c.restore_id = d.id
              AND c.passed_at IS NOT NULL AND NOT c.needs_evidence))
          OR EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = employer AND f.pay_run_id IS NULL
            AND f.adopted_at IS NULL AND f.found_at > since) $$;
      COMMENT ON FUNCTION restore_leaves_in_doubt(uuid, timestamptz) IS
        'whether a submit may be forgotten of which nobody knows whom it paid, among those who were owed at a moment';
      CREATE OR REPLACE ${mayBePaid('restore_leaves_in_doubt(employer, own.created_at)', 'd.noticed_at > r.created_at')};
      DROP FUNCTION restore_leaves_in_doubt(uuid, integer, timestamptz);
    `);
    for (const table of Object.keys(STAMPED))
      await db.query(`ALTER TABLE ${table} DROP COLUMN known_restores`);
    await db.query(`
      ALTER TABLE database_restore DROP COLUMN nth;
      DROP FUNCTION known_restores;
    `);
  }
}

function mayBePaid(isInDoubt: string, isOlder: string): string {
  return `FUNCTION may_be_paid_by_another(employer uuid, replaced uuid, release integer) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
      SELECT EXISTS (SELECT FROM payment p JOIN pay_run own ON own.employer_id = p.employer_id AND own.id = p.pay_run_id
        WHERE p.employer_id = employer AND p.id = replaced
          AND (${isInDoubt} OR EXISTS (
            SELECT FROM pay_run r
            WHERE r.employer_id = employer AND r.period = p.period AND r.id <> own.id
              AND (EXISTS (SELECT FROM forgotten_instruction f
                  WHERE f.employer_id = employer AND f.pay_run_id = r.id AND f.adopted_at IS NULL)
                OR r.status = 'CANCELLED' AND EXISTS (SELECT FROM database_restore d WHERE ${isOlder}))
              AND EXISTS (SELECT FROM payment o
                WHERE o.employer_id = employer AND o.period = p.period AND o.kind_of_pay = p.kind_of_pay
                  AND o.employee_id = p.employee_id AND o.pay_run_id = r.id AND o.release_sequence >= release)))) $$`;
}

function refuseArming(made: string, last: string): string {
  return `FUNCTION refuse_arming_after_a_restore() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
    BEGIN
      IF (SELECT max(${made}) FROM submit_attempt s WHERE s.employer_id = NEW.employer_id
            AND s.planned_instruction_id = NEW.planned_instruction_id AND s.instruction_id = NEW.id) < ${last} THEN
        RAISE EXCEPTION 'a submit from before a restore is not sent again: that it was may be forgotten'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_before_a_restore_is_not_sent_again';
      END IF;
      RETURN NEW;
    END $$`;
}
