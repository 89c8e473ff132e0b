import { createHash } from 'node:crypto';
import { Module } from '@nestjs/common';
import { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { Client } from 'pg';
import request from 'supertest';
import { AuditModule } from '../../src/audit/audit.module';
import { Clock } from '../../src/config/clock';
import { ConfigModule } from '../../src/config/config.module';
import { Database, EmployerTransaction } from '../../src/database/database';
import { DatabaseAway, NotDurable } from '../../src/database/outage';
import { DatabaseModule } from '../../src/database/database.module';
import { Fenced } from '../../src/database/leases';
import { newId } from '../../src/database/new-id';
import { PersonalData } from '../../src/database/personal-data';
import { Employer, EmployerAccount } from '../../src/employer/employer.entity';
import { ENTITIES } from '../../src/entities';
import { EmployerRole } from '../../src/http/allow';
import { APP_OPTIONS, configureApp } from '../../src/http/configure-app';
import { HttpModule } from '../../src/http/http.module';
import { describeApi } from '../../src/http/openapi';
import { showId } from '../../src/http/prefixed-id';
import { IdentityModule } from '../../src/identity/identity.module';
import { finishDraft, openDraft } from '../../src/pay-run/draft';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { PayRunModule } from '../../src/pay-run/pay-run.module';
import { Payment } from '../../src/pay-run/payment.entity';
import { movePayments } from '../../src/pay-run/payment.store';
import { replaceCandidates } from '../../src/pay-run/replaced.store';
import { rowHash } from '../../src/pay-run/run-hash';
import { copyPayments } from '../../src/pay-run/successor.store';
import { ReconciliationModule } from '../../src/reconciliation/reconciliation.module';
import { makePerson, TestClock, testConfig } from '../http/test-app';
import { isLockAwaited, TestDatabase, testDatabase } from '../support/database';
import { eventually } from '../support/eventually';

const DEBTOR_IBAN = 'DE70999900000000001001';
const SECOND_IBAN = 'DE43999900000000001002';
export const IBAN = 'DE42950800200355765512';

@Module({ imports: [AuditModule, IdentityModule, PayRunModule, ReconciliationModule] })
class Rooms {}

/** One row to be paid. */
export interface Row {
  amountMinor: bigint;
  employeeId?: string;
  name?: string;
  /** As it was uploaded, where that is otherwise. */
  writtenName?: string;
  iban?: string;
  /** The release of a second pay of the period. */
  releaseSequence?: number;
  /** The payment that it is made instead of. */
  replacesPaymentId?: string;
  /** Why, where that one was paid and came back. */
  replacesReason?: string;
  /** Kept back before the run is planned. */
  held?: boolean;
}

export const rows = (...amounts: number[]): Row[] => amounts.map((cents) => ({ amountMinor: BigInt(cents) }));

type Someone = Awaited<ReturnType<typeof makePerson>>;

/** An employer with one person for each role. */
export interface Company {
  employerId: string;
  accountId: string;
  preparer: Someone;
  approver: Someone;
  finance: Someone;
  operator: Someone;
}

/** The service's rooms around the record, over HTTP, on a database of their own, in November 2026. */
export class PayOffice {
  /** A Monday, four weeks before the runs are executed. */
  static readonly OPENED = new Date('2026-11-02T09:00:00Z');

  private constructor(
    private readonly store: TestDatabase,
    readonly app: NestExpressApplication,
    readonly clock: TestClock,
  ) {}

  static async open(): Promise<PayOffice> {
    const store = await testDatabase();
    const clock = new TestClock();
    clock.advance(PayOffice.OPENED.getTime() - Date.now());
    const tested = await Test.createTestingModule({
      imports: [
        ConfigModule.with(testConfig({ DATABASE_URL: store.url, DATABASE_POOL_SIZE: '4' })),
        DatabaseModule.with(ENTITIES),
        HttpModule.with([DatabaseAway, Fenced], [NotDurable]),
        Rooms,
      ],
    })
      .overrideProvider(Clock)
      .useValue(clock)
      .compile();
    const app = tested.createNestApplication<NestExpressApplication>(APP_OPTIONS);
    configureApp(app);
    describeApi(app);
    await app.init();
    return new PayOffice(store, app, clock);
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.store.drop();
  }

  get database(): Database {
    return this.app.get(Database);
  }

  get personal(): PersonalData {
    return this.app.get(PersonalData);
  }

  /** A request to `/v1/employers/:employerId` + path, as one of the company's people. */
  as(company: Company, who: EmployerRole | Someone): Asker {
    const { authorization } = typeof who === 'string' ? company[who] : who;
    return new Asker(this.app, `/v1/employers/${showId('emp', company.employerId)}`, authorization);
  }

  in<T>({ employerId }: Company, work: (tx: EmployerTransaction) => Promise<T>): Promise<T> {
    return this.database.inEmployer(employerId, work);
  }

  query<R = Record<string, unknown>>(
    company: Company,
    sql: string,
    parameters: unknown[] = [],
  ): Promise<R[]> {
    return this.in(company, (tx) => tx.query<R>(sql, parameters));
  }

  /** As an attacker with the database in hand: no policy, no trigger, no foreign key. */
  async tamper(sql: string, parameters: unknown[] = []): Promise<number> {
    return this.tampering(async (client) => (await client.query(sql, parameters)).rowCount ?? 0);
  }

  /** Begins `ask` while the table is locked, and changes what it is about once it waits for that. */
  async tamperAhead<Answer>(table: string, sql: string, ask: () => Promise<Answer>): Promise<Answer> {
    return this.tampering(async (client) => {
      await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      const answer = ask();
      await eventually(() => this.isLockAwaited(), 5_000);
      await client.query(`${sql}; COMMIT`);
      return answer;
    });
  }

  private async tampering<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    const client = new Client({ connectionString: this.store.superuserUrl });
    await client.connect();
    try {
      await client.query('SET session_replication_role = replica');
      return await work(client);
    } finally {
      await client.end();
    }
  }

  /** Whether a statement waits for a lock. */
  isLockAwaited(): Promise<boolean> {
    return isLockAwaited(this.store.superuserUrl);
  }

  /** An employer whose runs are approved without ticks unless they are asked for. */
  async company(
    options: { rowsPerInstruction?: number; approvalsRequired?: number; tickIbans?: boolean } = {},
  ): Promise<Company> {
    const [employerId, accountId] = [newId(), newId()];
    await this.database.inEmployer(employerId, async (tx) => {
      await tx.manager.insert(Employer, {
        id: employerId,
        name: `Employer ${employerId}`,
        timeZone: 'Europe/Paris',
        rowsPerInstruction: options.rowsPerInstruction ?? 100,
        approvalsRequired: options.approvalsRequired ?? 1,
        tickIbans: options.tickIbans ?? false,
      });
      await this.insertAccount(tx, accountId, DEBTOR_IBAN);
    });
    const person = (role: EmployerRole) => this.person(employerId, `A ${role}`, [role]);
    return {
      employerId,
      accountId,
      preparer: await person('preparer'),
      approver: await person('approver'),
      finance: await person('finance'),
      operator: await person('operator'),
    };
  }

  /** Another account of an employer. */
  async account(company: Company): Promise<string> {
    const id = newId();
    await this.in(company, (tx) => this.insertAccount(tx, id, SECOND_IBAN));
    return id;
  }

  private async insertAccount(tx: EmployerTransaction, id: string, iban: string): Promise<void> {
    await tx.manager.insert(EmployerAccount, {
      employerId: tx.employerId,
      id,
      bankAccountId: `bank-${id}`,
      bankUserId: '7',
      debtorName: 'Employer Ltd',
      ibanSealed: this.personal.seal(iban),
      ibanHash: this.personal.hash(iban),
      currency: 'EUR',
      bankStatus: 'OPENED',
      reads: [],
    });
  }

  person(employerId: string, name: string, roles: EmployerRole[]): Promise<Someone> {
    return makePerson(this.database, name, { [employerId]: roles });
  }

  /** A READY run made of rows, with its pay file. */
  run(company: Company, toPay: readonly Row[], terms: Partial<PayRun> = {}): Promise<PayRun> {
    return this.in(company, (tx) => this.runWithin(tx, company, toPay, terms));
  }

  /** As `run`, in a transaction that does more. */
  async runWithin(
    tx: EmployerTransaction,
    company: Company,
    toPay: readonly Row[],
    terms: Partial<PayRun>,
  ): Promise<PayRun> {
    const id = newId();
    await openDraft(tx, {
      id,
      accountId: company.accountId,
      period: '2026-11',
      kindOfPay: `PAY-${id.slice(-12).toUpperCase()}`,
      executionDate: '2026-11-27',
      submitAt: null,
      scheduleId: null,
      sequence: 0,
      parentRunId: null,
      createdBy: company.preparer.personId,
      ...terms,
    });
    await this.insertPayments(tx, id, toPay);
    const run = await finishDraft(tx, this.personal, id);
    await insertPayFile(tx, company, run, toPay);
    return run;
  }

  /** A READY run that copies payments of a run, made by the company's preparer. */
  successor(
    company: Company,
    parent: PayRun,
    paymentIds: readonly string[],
    { reason, sequence = 1 }: { reason?: string; sequence?: number } = {},
  ): Promise<PayRun> {
    const id = newId();
    const { personId } = company.preparer;
    return this.in(company, async (tx) => {
      const { accountId, period, kindOfPay, executionDate, submitAt } = parent;
      await openDraft(tx, {
        id,
        accountId,
        period,
        kindOfPay,
        executionDate,
        submitAt,
        scheduleId: null,
        sequence,
        parentRunId: parent.id,
        createdBy: personId,
      });
      await copyPayments(tx, this.personal, {
        payRunId: id,
        key: parent,
        replaced: await replaceCandidates(tx, parent.id, paymentIds, paymentIds.length),
        personId,
        reason,
      });
      return finishDraft(tx, this.personal, id);
    });
  }

  private async insertPayments(
    tx: EmployerTransaction,
    payRunId: string,
    toPay: readonly Row[],
  ): Promise<void> {
    const { period, kindOfPay } = await tx.manager.findOneByOrFail(PayRun, { id: payRunId });
    const payments = toPay.map((row, index) => this.payment(row, index + 1));
    for (const payment of payments) {
      await tx.manager.insert(Payment, {
        ...payment,
        employerId: tx.employerId,
        payRunId,
        period,
        kindOfPay,
      });
    }
    const held = payments.filter((_, index) => toPay[index]?.held);
    const moves = held.map(({ id }) => ({ paymentId: id, to: 'HELD' as const, reason: 'asked by HR' }));
    if (moves.length > 0) await movePayments(tx, payRunId, 'READY', moves, 'service');
  }

  private payment(row: Row, rowNo: number) {
    const name = row.name ?? `Ada Number ${rowNo}`;
    const iban = row.iban ?? IBAN;
    const fields = {
      employeeId: row.employeeId ?? `E-${rowNo}`,
      amountMinor: row.amountMinor,
      currency: 'EUR' as const,
      remittance: 'Salary',
      replacesPaymentId: row.replacesPaymentId ?? null,
    };
    return {
      ...fields,
      id: newId(),
      rowNo,
      line: rowNo + 1,
      nameSealed: this.personal.seal(name),
      writtenNameSealed: row.writtenName === undefined ? null : this.personal.seal(row.writtenName),
      nameHash: this.personal.hash(name),
      ibanSealed: this.personal.seal(iban),
      ibanHash: this.personal.hash(iban),
      rowHash: rowHash({ ...fields, sepaName: name, iban }),
      releaseSequence: row.releaseSequence ?? 0,
      replacesReason: row.replacesReason ?? null,
      status: 'READY' as const,
      live: true,
    };
  }
}

/** Sends requests as one person. */
export class Asker {
  constructor(
    private readonly app: NestExpressApplication,
    private readonly base: string,
    private readonly authorization: string,
  ) {}

  get(path: string): request.Test {
    return request(this.app.getHttpServer())
      .get(this.base + path)
      .set('authorization', this.authorization);
  }

  post(path: string, body: object = {}): request.Test {
    const post = request(this.app.getHttpServer()).post(this.base + path);
    return post.set('authorization', this.authorization).send(body);
  }

  delete(path: string, body: object = {}): request.Test {
    const sent = request(this.app.getHttpServer()).delete(this.base + path);
    return sent.set('authorization', this.authorization).send(body);
  }
}

export const pathOf = (run: PayRun, rest = ''): string => `/pay-runs/${showId('run', run.id)}${rest}`;

async function insertPayFile(
  tx: EmployerTransaction,
  company: Company,
  run: PayRun,
  toPay: readonly Row[],
): Promise<void> {
  const total = toPay.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  await tx.query(
    `INSERT INTO pay_file (employer_id, id, sha256, size_bytes, content, content_codec, period, kind_of_pay,
       execution_date, account_id, row_count, total_minor, pay_run_id, uploaded_by)
     VALUES ($1, $2, $3, 1, '', 'gzip', $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      tx.employerId,
      newId(),
      createHash('sha256').update(run.id).digest(),
      run.period,
      run.kindOfPay,
      run.executionDate,
      run.accountId,
      toPay.length,
      total.toString(),
      run.id,
      company.preparer.personId,
    ],
  );
}
