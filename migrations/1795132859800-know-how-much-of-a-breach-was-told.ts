import { MigrationInterface, QueryRunner } from 'typeorm';

/** How much of a breach people were told of, so that more of it is told again; a broken entry of a chain is told by its number. */
export class KnowHowMuchOfABreachWasTold1795132859800 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE invariant_breach ADD COLUMN found integer NOT NULL DEFAULT 1;
      COMMENT ON COLUMN invariant_breach.found IS 'how many rows, payments or entries people were told of';

      -- The owner, who migrates, sees no row of any employer otherwise.
      ALTER TABLE invariant_breach NO FORCE ROW LEVEL SECURITY;
      ALTER TABLE attention NO FORCE ROW LEVEL SECURITY;
      -- What people read before is what they were told.
      UPDATE invariant_breach b SET
        found = coalesce(substring(a.happened FROM '\\((\\d+) found')::int, b.found),
        subject_id = CASE WHEN b.invariant IN ('audit-chain', 'installation-audit-chain') THEN coalesce(
          lpad(to_hex(substring(a.happened FROM ': at entry (\\d+)\\)')::bigint), 32, '0')::uuid, b.subject_id)
          ELSE b.subject_id END
      FROM attention a
      WHERE a.employer_id = b.employer_id AND a.kind = 'INVARIANT_BREACH' AND a.subject_id = b.id;
      ALTER TABLE attention FORCE ROW LEVEL SECURITY;
      ALTER TABLE invariant_breach FORCE ROW LEVEL SECURITY;

      ALTER TABLE invariant_breach ALTER COLUMN found DROP DEFAULT;
      GRANT UPDATE (found) ON invariant_breach TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE invariant_breach DROP COLUMN found');
  }
}
