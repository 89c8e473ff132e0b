import { DynamicModule, Global, Inject, Module, OnApplicationBootstrap } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Client } from 'pg';
import { DataSource, EntityTarget, ObjectLiteral } from 'typeorm';
import { CONFIG, Config } from '../config/env';
import { BackgroundDatabase } from './background-database';
import { BankLists } from './bank-lists';
import { BankRate } from './bank-rate';
import { assertBankZone } from './bank-zone';
import { ClockWatch } from './clock-watch';
import { Database } from './database';
import { dataSourceOptions } from './data-source';
import { tellUnlessDurable } from './durability';
import { assertHashKey } from './kept-hash-key';
import { Leases } from './leases';
import { pendingMigrations } from './migrate';
import { PersonalData } from './personal-data';
import { RestoreGuard } from './restore-guard';
import { RestoreWitness } from './restore-witness';
import { assertSafeRole } from './roles';

/** The one DataSource and the one door to it. */
@Global()
@Module({
  providers: [
    BackgroundDatabase,
    BankLists,
    BankRate,
    ClockWatch,
    Database,
    Leases,
    PersonalData,
    RestoreGuard,
    RestoreWitness,
  ],
  exports: [
    BackgroundDatabase,
    BankLists,
    BankRate,
    ClockWatch,
    Database,
    Leases,
    PersonalData,
    RestoreGuard,
  ],
})
export class DatabaseModule implements OnApplicationBootstrap {
  constructor(
    private readonly dataSource: DataSource,
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly guard: RestoreGuard,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  static with(entities: EntityTarget<ObjectLiteral>[]): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          inject: [CONFIG],
          useFactory: (config: Config) =>
            dataSourceOptions(config.DATABASE_URL, entities, config.DATABASE_POOL_SIZE, config),
        }),
      ],
    };
  }

  /**
   * Looks whether the database is the one the service last ran on before anything works on it.
   * @throws UnsafeRole when the role could see past row-level security; ConfigurationError under another hash key than its
   * data have, or a time zone that the database does not take for the same; Error when migrations are missing, or the
   * restore witness cannot be read.
   */
  async onApplicationBootstrap(): Promise<void> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as Client;
      await assertSafeRole(client);
      await tellUnlessDurable(client);
    } finally {
      await runner.release();
    }
    const pending = await pendingMigrations(this.config.DATABASE_URL);
    if (pending.length > 0) {
      throw new Error(`The database lacks ${pending.length} migrations: run "npm run migrate" first.`);
    }
    await assertHashKey(this.database, this.personal);
    await assertBankZone(this.database, this.config.BANK_TIME_ZONE);
    await this.guard.check();
  }
}
