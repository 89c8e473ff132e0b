import { DynamicModule, Global, Module, Type } from '@nestjs/common';
import { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { Clock } from '../../src/config/clock';
import { ConfigModule } from '../../src/config/config.module';
import { Config, readConfig } from '../../src/config/env';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { Database } from '../../src/database/database';
import { DatabaseAway, NotDurable } from '../../src/database/outage';
import { Fenced } from '../../src/database/leases';
import { PersonalData } from '../../src/database/personal-data';
import { newId } from '../../src/database/new-id';
import { EmployerRole } from '../../src/http/allow';
import { APP_OPTIONS, configureApp } from '../../src/http/configure-app';
import { HttpModule } from '../../src/http/http.module';
import { describeApi } from '../../src/http/openapi';
import { ApiKey, Person, PersonRole } from '../../src/identity/person.entity';
import { People } from '../../src/identity/people.service';
import { testDatabase } from '../support/database';

/** A clock that a test moves. */
export class TestClock extends Clock {
  private offsetMs = 0;

  override now(): Date {
    return new Date(Date.now() + this.offsetMs);
  }

  advance(ms: number): void {
    this.offsetMs += ms;
  }
}

/** A configuration that is complete, with a bank that is never called. */
export function testConfig(settings: Partial<Record<keyof Config, string>> = {}): Config {
  return readConfig({
    DATABASE_URL: 'postgresql://nowhere/payrun',
    PAYRUN_HASH_KEY: 'k'.repeat(32),
    BANK_BASE_URL: 'http://127.0.0.1:1',
    BANK_AMOUNT_UNIT: 'minor',
    BANK_ACCESS_TOKEN: 'token',
    LOG_LEVEL: 'silent',
    ...settings,
  });
}

/** An application without a database: only what the rooms http and above put before a route. */
export async function httpApp(
  parts: { controllers?: Type[]; imports?: DynamicModule[] },
  config = testConfig(),
) {
  @Module({ controllers: parts.controllers ?? [] })
  class Routes {}

  const tested = await Test.createTestingModule({
    imports: [
      ConfigModule.with(config),
      HttpModule.with([DatabaseAway, Fenced], [NotDurable]),
      ...(parts.imports ?? []),
      Routes,
    ],
  }).compile();
  const app = tested.createNestApplication<NestExpressApplication>(APP_OPTIONS);
  configureApp(app);
  describeApi(app);
  await app.init();
  return app;
}

@Global()
@Module({})
class TestDatabaseModule {
  static with(database: Database): DynamicModule {
    return {
      module: TestDatabaseModule,
      providers: [{ provide: Database, useValue: database }, PersonalData],
      exports: [Database, PersonalData],
    };
  }
}

/** A database of its own with the people of identity in it, and an application over it. */
export async function identityApp(modules: Type[], controllers: Type[]) {
  const store = await testDatabase();
  const dataSource = await openDataSource(dataSourceOptions(store.url, [Person, ApiKey, PersonRole], 5));
  const database = new Database(dataSource);
  const clock = new TestClock();
  const app = await appOver(database, modules, controllers, clock);
  const close = async () => {
    await app.close();
    await dataSource.destroy();
    await store.drop();
  };
  return { app, server: app.getHttpServer(), database, clock, store, close };
}

/** An application over a database that is there already. */
export async function appOver(
  database: Database,
  modules: Type[],
  controllers: Type[],
  clock: Clock = new TestClock(),
): Promise<NestExpressApplication> {
  @Module({ imports: modules, controllers })
  class Routes {}

  const tested = await Test.createTestingModule({
    imports: [
      ConfigModule.with(testConfig()),
      TestDatabaseModule.with(database),
      HttpModule.with([DatabaseAway, Fenced], [NotDurable]),
      Routes,
    ],
  })
    .overrideProvider(Clock)
    .useValue(clock)
    .compile();
  const app = tested.createNestApplication<NestExpressApplication>(APP_OPTIONS);
  configureApp(app);
  await app.init();
  return app;
}

export async function makeEmployer(database: Database, name: string): Promise<string> {
  const id = newId();
  await database.inEmployer(id, (tx) =>
    tx.query(`INSERT INTO employer (id, name, time_zone) VALUES ($1, $2, 'Europe/Paris')`, [id, name]),
  );
  return id;
}

/** A person with roles at employers, and the header a program of theirs sends. */
export async function makePerson(
  database: Database,
  name: string,
  roles: Record<string, EmployerRole[]> = {},
  administrator = false,
): Promise<{ personId: string; keyId: string; authorization: string }> {
  const people = new People(new Clock());
  const { person, key } = await database.outsideEmployers(async (tx) => {
    const made = await people.createPerson(tx, name, administrator);
    return { person: made, key: await people.issueKey(tx, made.id, 'test') };
  });
  for (const [employerId, held] of Object.entries(roles)) {
    await database.inEmployer(employerId, async (tx) => {
      for (const role of held) await people.grantRole(tx, person.id, role);
    });
  }
  return { personId: person.id, keyId: key.keyId, authorization: `Bearer ${key.key}` };
}
