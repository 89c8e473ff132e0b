import { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import axios, { AxiosResponse } from 'axios';
import { AuditModule } from '../../src/audit/audit.module';
import { BankModule } from '../../src/bank/bank.module';
import { DEFAULT_TOKEN, Sandbox, SandboxOptions, startSandbox } from '../../src/bank-sandbox/sandbox';
import { ConfigModule } from '../../src/config/config.module';
import { Config, readConfig } from '../../src/config/env';
import { DatabaseModule } from '../../src/database/database.module';
import { Database } from '../../src/database/database';
import { DatabaseAway, NotDurable } from '../../src/database/outage';
import { Fenced } from '../../src/database/leases';
import { EmployerModule } from '../../src/employer/employer.module';
import { ENTITIES } from '../../src/entities';
import { EMPLOYER_ROLES, EmployerRole } from '../../src/http/allow';
import { APP_OPTIONS, configureApp } from '../../src/http/configure-app';
import { HttpModule } from '../../src/http/http.module';
import { describeApi } from '../../src/http/openapi';
import { readId, showId } from '../../src/http/prefixed-id';
import { makePerson } from '../http/test-app';
import { TestDatabase, testDatabase } from '../support/database';

type Settings = Partial<Record<keyof Config, string>>;

/** What an answer's JSON reads as: a test names the fields it looks at. */
export type Body = ReturnType<typeof JSON.parse>;

export interface Answer {
  status: number;
  body: Body;
  text: string;
}

/** The rooms up to employer over a database and a sandbox bank of their own. */
export class Desk {
  /** Every answer given so far. */
  readonly said: string[] = [];

  private constructor(
    readonly store: TestDatabase,
    readonly bank: Sandbox,
    readonly apps: NestExpressApplication[],
    private readonly settings: Settings,
    readonly administrator: string,
  ) {}

  static async open(settings: Settings = {}, sandbox: SandboxOptions = {}): Promise<Desk> {
    const store = await testDatabase();
    const bank = await startSandbox({ stepMs: 0, ...sandbox });
    const all = { ...SETTINGS, DATABASE_URL: store.url, BANK_BASE_URL: bank.url, ...settings };
    const app = await startApp(all);
    const { authorization } = await makePerson(app.get(Database), 'Root', {}, true);
    return new Desk(store, bank, [app], all, authorization);
  }

  get app(): NestExpressApplication {
    return this.apps[0]!;
  }

  get database(): Database {
    return this.app.get(Database);
  }

  /** Another replica, possibly with other settings. */
  async addApp(settings: Settings = {}): Promise<NestExpressApplication> {
    const app = await startApp({ ...this.settings, ...settings });
    this.apps.push(app);
    return app;
  }

  /** An employer, and somebody for each of its roles. */
  async employer(name: string): Promise<Company> {
    const created = await this.call('POST', '/v1/employers', this.administrator, {
      name,
      timeZone: 'Europe/Paris',
    });
    expect(created.status).toBe(201);
    const id = String(created.body.id);
    const people = {} as Company['people'];
    for (const role of EMPLOYER_ROLES) {
      people[role] = await makePerson(this.database, role, { [readId('emp', id)]: [role] });
    }
    return new Company(this, id, people);
  }

  async call(
    method: string,
    path: string,
    authorization: string,
    body?: unknown,
    app = this.app,
    key?: string,
  ): Promise<Answer> {
    const answer: AxiosResponse<string> = await axios.request({
      method,
      url: (await app.getUrl()) + path,
      data: body,
      headers: { authorization, ...(key !== undefined && { 'idempotency-key': key }) },
      validateStatus: () => true,
      responseType: 'text',
      transformResponse: (text: string) => text,
      proxy: false,
    });
    const text = answer.data;
    this.said.push(text);
    return { status: answer.status, text, body: text === '' ? undefined : JSON.parse(text) };
  }

  async sandbox(method: string, path: string, body?: unknown): Promise<Body> {
    const headers = { authorization: `Bearer ${DEFAULT_TOKEN}` };
    return (await axios.request({ method, url: this.bank.url + path, data: body, headers, proxy: false }))
      .data;
  }

  hooks(): Promise<{ id: number; body: string; events: string[] }[]> {
    return this.sandbox('GET', '/api/distributor/v1/hooks');
  }

  async close(): Promise<void> {
    await Promise.all(this.apps.map((app) => app.close()));
    await this.bank.close();
    await this.store.drop();
  }
}

/** One employer and its people. */
export class Company {
  constructor(
    private readonly desk: Desk,
    readonly id: string,
    readonly people: Record<EmployerRole, { personId: string; authorization: string }>,
  ) {}

  get uuid(): string {
    return readId('emp', this.id);
  }

  as(role: EmployerRole, method: string, path: string, body?: unknown, app?: NestExpressApplication) {
    const { authorization } = this.people[role];
    return this.desk.call(method, `/v1/employers/${this.id}${path}`, authorization, body, app);
  }

  asAdministrator(method: string, path: string, body?: unknown, key?: string): Promise<Answer> {
    const { desk } = this;
    return desk.call(method, `/v1/employers/${this.id}${path}`, desk.administrator, body, desk.app, key);
  }

  attach(bankAccountId = '1001', more: Record<string, unknown> = {}, app?: NestExpressApplication) {
    const body = { bankAccountId, debtorName: 'Alder Logistics GmbH', ...more };
    return this.as('operator', 'POST', '/accounts', body, app);
  }

  /** Actions of the audit chain, oldest first. */
  async audited(): Promise<{ action: string; detail: Body; person_id: string; subject: string }[]> {
    return this.desk.database.inEmployer(this.uuid, (tx) =>
      tx.query(
        'SELECT action, detail, person_id, subject FROM audit_entry WHERE chain_id = $1 ORDER BY seq',
        [this.uuid],
      ),
    );
  }

  query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.desk.database.inEmployer(this.uuid, (tx) => tx.query<Row>(sql, parameters));
  }
}

export const person = (id: string): string => showId('per', id);

const SETTINGS: Settings = {
  LOG_LEVEL: 'silent',
  PAYRUN_HASH_KEY: 'a key of the tests, long enough to be one',
  BANK_AMOUNT_UNIT: 'minor',
  BANK_ACCESS_TOKEN: DEFAULT_TOKEN,
  BANK_WEBHOOK_SECRETS: 'secret',
  BANK_LAG_BOUND_MS: '0',
  BANK_TIMEOUT_MS: '2000',
};

async function startApp(settings: Settings): Promise<NestExpressApplication> {
  const tested = await Test.createTestingModule({
    imports: [
      ConfigModule.with(readConfig(settings)),
      DatabaseModule.with(ENTITIES),
      HttpModule.with([DatabaseAway, Fenced], [NotDurable]),
      BankModule,
      AuditModule,
      EmployerModule,
    ],
  }).compile();
  const app = tested.createNestApplication<NestExpressApplication>(APP_OPTIONS);
  configureApp(app);
  describeApi(app);
  await app.listen(0, '127.0.0.1');
  return app;
}
