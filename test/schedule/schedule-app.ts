import { DynamicModule, Global, Module } from '@nestjs/common';
import { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { AuditModule } from '../../src/audit/audit.module';
import { Clock } from '../../src/config/clock';
import { ConfigModule } from '../../src/config/config.module';
import { ClockWatch } from '../../src/database/clock-watch';
import { Database } from '../../src/database/database';
import { DatabaseAway, NotDurable } from '../../src/database/outage';
import { Fenced } from '../../src/database/leases';
import { PersonalData } from '../../src/database/personal-data';
import { APP_OPTIONS, configureApp } from '../../src/http/configure-app';
import { HttpModule } from '../../src/http/http.module';
import { apiDocument } from '../../src/http/openapi';
import { showId } from '../../src/http/prefixed-id';
import { IdentityModule } from '../../src/identity/identity.module';
import { OverduePeriods } from '../../src/schedule/overdue-periods';
import { PayScheduleController } from '../../src/schedule/pay-schedule.controller';
import { PaySchedules } from '../../src/schedule/pay-schedules';
import { PeriodMaker } from '../../src/schedule/period-maker';
import { makePerson, testConfig } from '../http/test-app';
import { testDatabase } from '../support/database';
import { makeEmployerWithAccount, openReplica, SetClock } from './schedules';

@Global()
@Module({})
class OneDatabase {
  static with(database: Database): DynamicModule {
    const providers = [{ provide: Database, useValue: database }, ClockWatch, PersonalData];
    return { module: OneDatabase, providers, exports: providers };
  }
}

@Module({ controllers: [PayScheduleController], providers: [OverduePeriods, PaySchedules, PeriodMaker] })
class Schedules {}

/** The routes of schedules over a database of their own, without anything that ticks. */
export async function scheduleApp(clock: SetClock) {
  const config = testConfig();
  const store = await testDatabase();
  const { database, dataSource } = await openReplica(store.url, clock, config);
  const tested = await Test.createTestingModule({
    imports: [
      ConfigModule.with(config),
      OneDatabase.with(database),
      HttpModule.with([DatabaseAway, Fenced], [NotDurable]),
      IdentityModule,
      AuditModule,
      Schedules,
    ],
  })
    .overrideProvider(Clock)
    .useValue(clock)
    .compile();
  const app = tested.createNestApplication<NestExpressApplication>(APP_OPTIONS);
  configureApp(app);
  await app.init();
  const close = async () => {
    await app.close();
    await dataSource.destroy();
    await store.drop();
  };
  return {
    database,
    overdue: app.get(OverduePeriods),
    server: app.getHttpServer(),
    document: () => apiDocument(app),
    close,
  };
}

type ScheduleApp = Awaited<ReturnType<typeof scheduleApp>>;

/** An employer's routes as an operator of it, or a person of another role, calls them. */
export async function employerApi(app: ScheduleApp, role: 'operator' | 'preparer' = 'operator') {
  const { employerId, accountId } = await makeEmployerWithAccount(app.database);
  const person = await makePerson(app.database, `A ${role}`, { [employerId]: [role] });
  const call = (method: 'get' | 'post' | 'patch', path: string, body?: object) => {
    const sent = request(app.server)[method](`/v1/employers/${showId('emp', employerId)}/${path}`);
    return sent.set('authorization', person.authorization).send(body);
  };
  return { employerId, accountId: showId('acc', accountId), personId: person.personId, call };
}
