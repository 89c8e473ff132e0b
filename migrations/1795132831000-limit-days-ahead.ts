import { MigrationInterface, QueryRunner } from 'typeorm';

/** How many days ahead an employer lets a run be executed. */
export class LimitDaysAhead1795132831000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(
      'ALTER TABLE employer ADD COLUMN days_ahead_limit integer CHECK (days_ahead_limit BETWEEN 7 AND 366)',
    );
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE employer DROP COLUMN days_ahead_limit');
  }
}
