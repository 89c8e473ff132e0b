import { MigrationInterface, QueryRunner } from 'typeorm';

/** The text of a question names the first few: of all the others it could not be told whether people were asked. */
export class KeepWhatDiffers1795132859977 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention ADD COLUMN differing text[];
      COMMENT ON COLUMN attention.differing IS
        'how payments differ from what was approved, each in its words, values hashed; null where that is not asked about, or was not kept yet';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE attention DROP COLUMN differing');
  }
}
