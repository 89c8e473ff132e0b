import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Client } from 'pg';
import { DataSource, DataSourceOptions } from 'typeorm';
import { AuditEntry } from '../../src/audit/audit-entry';
import { Clock } from '../../src/config/clock';
import { Database, EmployerTransaction } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { newId } from '../../src/database/new-id';
import { PersonalData } from '../../src/database/personal-data';
import { Employer, EmployerAccount } from '../../src/employer/employer.entity';
import { ENTITIES } from '../../src/entities';
import { readId } from '../../src/http/prefixed-id';
import { Problem } from '../../src/http/problem';
import { Corrected, Corrections } from '../../src/pay-file/corrections';
import { correctionsFile } from '../../src/pay-file/corrections-file';
import { findFaultyFile, findRefusedFile } from '../../src/pay-file/faulty-file.store';
import { PayFileIntake, Taken } from '../../src/pay-file/intake';
import { PayFilePreview } from '../../src/pay-file/preview';
import { PayFileFault } from '../../src/pay-file/pay-file-fault';
import { releaseFurtherPay } from '../../src/pay-file/release';
import { UploadedFile } from '../../src/pay-file/spool';
import { readCorrectionFields, readUploadFields } from '../../src/pay-file/terms';
import { amend, Proposal } from '../../src/pay-run/amendment';
import { approve } from '../../src/pay-run/approval';
import { cancelRun } from '../../src/pay-run/cancellation';
import { HoldChoice, releaseHold } from '../../src/pay-run/hold-release';
import { HoldDecision } from '../../src/pay-run/hold.store';
import { Release, ReleaseRequest } from '../../src/pay-run/pay-release';
import { Amendment, PayRun } from '../../src/pay-run/pay-run.entity';
import { lockRun } from '../../src/pay-run/pay-run.store';
import { isLockAwaited, TestDatabase, testDatabase } from '../support/database';
import { germanIban } from '../support/pay-rows';
import { Excess, explainPlans, isHeard, watchPlans } from '../support/plans';

export const HEADER = 'employee_id,name,iban,bic,amount,currency,remittance';
/** The account of the sample `creditor-is-debtor.csv`. */
const DEBTOR_IBAN = 'DE43999900000000001002';

export const sample = (name: string): Buffer => readFileSync(`${__dirname}/../../samples/${name}`);

/** An account of their own for each employee. */
const ibanOf = (employeeId: string): string =>
  germanIban([...employeeId].reduce((n, letter) => (n * 31 + letter.charCodeAt(0)) % 1_000_000_007, 7));

/** A valid row for an employee. */
export const row = (
  employeeId: string,
  amount = '1000.00',
  name = 'Zoë Müller',
  iban = ibanOf(employeeId),
): string => `${employeeId},${name},${iban},ELBKDEHHXXX,${amount},EUR,Salary`;

/** A file of rows below the header. */
export const csv = (...rows: string[]): Buffer => Buffer.from([HEADER, ...rows, ''].join('\n'));

const BANK = { BANK_CLOSED_DAYS: [], BANK_CUT_OFF: '16:00', BANK_TIME_ZONE: 'Europe/Paris' };

class FixedClock extends Clock {
  constructor(readonly instant: Date) {
    super();
  }
  override now(): Date {
    return this.instant;
  }
}

export interface Desk {
  employerId: string;
  personId: string;
  accountId: string;
}

/** The intake on a database of its own, at 2026-11-02 in the morning. */
export class PayDesk {
  static readonly NOW = new Date('2026-11-02T09:00:00Z');
  readonly personal = new PersonalData({ PAYRUN_HASH_KEY: 'a key of at least thirty-two letters' });

  private constructor(
    private readonly test: TestDatabase,
    private readonly source: DataSource,
    readonly database: Database,
  ) {}

  static async open(): Promise<PayDesk> {
    const test = await testDatabase();
    return PayDesk.on(test, dataSourceOptions(test.url, ENTITIES, 6));
  }

  /** As `open`; the parts of plans that look at more rows than `limit` are noted. */
  static async watched(limit: number): Promise<{ desk: PayDesk; found: Excess[] }> {
    const test = await testDatabase();
    await explainPlans(test.superuserUrl);
    const { options, found } = watchPlans(dataSourceOptions(test.url, ENTITIES, 6), limit);
    const desk = await PayDesk.on(test, options);
    if (!(await isHeard(desk.source, found, limit))) throw new Error('no plan is heard of');
    return { desk, found };
  }

  private static async on(test: TestDatabase, options: DataSourceOptions): Promise<PayDesk> {
    const source = await openDataSource(options);
    return new PayDesk(test, source, new Database(source));
  }

  async close(): Promise<void> {
    await this.source.destroy();
    await this.test.drop();
  }

  intake(
    limits: { maxRows?: number; closedDays?: string[]; now?: Date; personal?: PersonalData } = {},
  ): PayFileIntake {
    const personal = limits.personal ?? this.personal;
    return new PayFileIntake(this.database, personal, new FixedClock(limits.now ?? PayDesk.NOW), {
      ...BANK,
      BANK_CLOSED_DAYS: limits.closedDays ?? [],
      MAX_PAY_FILE_ROWS: limits.maxRows ?? 1_000_000,
    });
  }

  /** Sends bytes back as corrections of a run. */
  correct(desk: Desk, runId: string, bytes: Buffer, fields: Record<string, string> = {}): Promise<Corrected> {
    const clock = new FixedClock(PayDesk.NOW);
    return new Corrections(this.database, this.personal, clock, {
      ...BANK,
      MAX_PAY_FILE_ROWS: 1_000_000,
    }).take({
      ...desk,
      payRunId: readId('run', runId),
      file: fileOf(bytes),
      fields: readCorrectionFields(Object.entries(fields)),
    });
  }

  /** The corrections file of a run, or of a refused file. */
  async corrections({ employerId }: Desk, id: string): Promise<Buffer> {
    const file = await this.database.inEmployer(employerId, (tx) =>
      id.startsWith('run_')
        ? findFaultyFile(tx, readId('run', id))
        : findRefusedFile(tx, readId('rfl', id), PayDesk.NOW),
    );
    if (!file) throw new Error('there are no corrections');
    return buffer(Readable.from(correctionsFile(this.database, this.personal, employerId, file)));
  }

  /** Approves a run as it stands, as somebody who did not prepare it, unless it is said who. */
  async approve(desk: Desk, runId: string, by?: string): Promise<void> {
    const approver = by ?? (await this.person('Ada Approver'));
    await this.inRun(desk, readId('run', runId), async (tx, run) => {
      await letApprove(tx, approver);
      const rootHash = run.rootHash?.toString('hex') ?? '';
      return approve(tx, this.personal, run, approver, { rootHash, totalMinor: run.totalMinor });
    });
  }

  /** Cancels a run, as its preparer. */
  cancel(desk: Desk, runId: string): Promise<void> {
    return this.inRun(desk, readId('run', runId), (tx, run) =>
      cancelRun(tx, run, `person:${desk.personId}`, 'a test'),
    );
  }

  /** Releases a hold of a payment, or of the whole run. @param runId bare, as in the database */
  releaseHold(desk: Desk, runId: string, choice: HoldChoice, decision: HoldDecision): Promise<void> {
    return this.inRun(desk, runId, (tx, run) => releaseHold(tx, this.personal, run, choice, decision));
  }

  /** Amends a run, as its preparer. @param runId bare, as in the database */
  amend(desk: Desk, runId: string, proposal: Partial<Proposal>): Promise<Amendment> {
    const proposed = { excludePaymentIds: [], reason: 'a test', ...proposal };
    return this.inRun(desk, runId, (tx, run) => amend(tx, this.personal, run, desk.personId, proposed));
  }

  /** Leaves lines of a run's file out of it, as its preparer. @param runId bare, as in the database */
  async leaveOut(desk: Desk, runId: string, lines: readonly number[]): Promise<Amendment> {
    const ids = await Promise.all(lines.map((line) => this.paymentIn(desk, runId, line)));
    return this.amend(desk, runId, { excludePaymentIds: ids });
  }

  /** Does something with a run that is locked for it. @param runId bare, as in the database */
  inRun<T>(
    { employerId }: Desk,
    runId: string,
    work: (tx: EmployerTransaction, run: PayRun) => Promise<T>,
  ): Promise<T> {
    return this.database.inEmployer(employerId, async (tx) => work(tx, await lockRun(tx, runId)));
  }

  /** The id of the payment that a line of a run's file became. @param runId bare, as in the database */
  async paymentIn(desk: Desk, runId: string, line: number): Promise<string> {
    const sql = 'SELECT id FROM payment WHERE pay_run_id = $1 AND line = $2';
    const [found] = await this.query<{ id: string }>(desk, sql, [runId, line]);
    return found?.id ?? '';
  }

  /** Changes a setting of the employer. */
  async set({ employerId }: Desk, settings: Partial<Employer>): Promise<void> {
    await this.database.inEmployer(employerId, (tx) =>
      tx.manager.update(Employer, { id: employerId }, settings),
    );
  }

  /** A new person, who holds no role. */
  async person(name: string): Promise<string> {
    const id = newId();
    await this.database.outsideEmployers((tx) =>
      tx.query('INSERT INTO person (id, name) VALUES ($1, $2)', [id, name]),
    );
    return id;
  }

  /** Allows the next file of somebody else a further payment, as an approver. */
  release(desk: Desk, by: string, request: ReleaseRequest): Promise<Release> {
    return this.database.inEmployer(desk.employerId, async (tx) => {
      await letApprove(tx, by);
      return releaseFurtherPay(tx, by, request);
    });
  }

  preview(): PayFilePreview {
    return new PayFilePreview(this.database, this.personal);
  }

  /** A new employer with one account, and a person. */
  async employer(accounts = 1): Promise<Desk> {
    const [employerId, personId] = [newId(), await this.person('Petra Preparer')];
    const accountIds = Array.from({ length: accounts }, () => newId());
    await this.database.inEmployer(employerId, async (tx) => {
      await tx.manager.insert(Employer, {
        id: employerId,
        name: `Employer ${employerId}`,
        timeZone: 'Europe/Madrid',
        rowsPerInstruction: 100,
        tickIbans: false,
      });
      for (const id of accountIds) {
        await tx.manager.insert(EmployerAccount, {
          employerId,
          id,
          bankAccountId: `bank-${id}`,
          bankUserId: '7',
          debtorName: 'Employer Ltd',
          ibanSealed: this.personal.seal(DEBTOR_IBAN),
          ibanHash: this.personal.hash(DEBTOR_IBAN),
          currency: 'EUR',
          bankStatus: 'OPENED',
          reads: [],
        });
      }
    });
    return { employerId, personId, accountId: accountIds[0] ?? '' };
  }

  /** Uploads bytes for November, to be paid on the 27th unless `fields` say otherwise. */
  upload(
    desk: Desk,
    bytes: Buffer,
    fields: Record<string, string> = {},
    intake = this.intake(),
  ): Promise<Taken> {
    return intake.take({
      ...desk,
      file: fileOf(bytes),
      fields: readUploadFields(Object.entries({ period: '2026-11', executionDate: '2026-11-27', ...fields })),
    });
  }

  /** The Problem an upload ends with. */
  async refusal(
    desk: Desk,
    bytes: Buffer,
    fields: Record<string, string> = {},
    intake = this.intake(),
  ): Promise<Problem> {
    const thrown: unknown = await this.upload(desk, bytes, fields, intake).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (thrown instanceof Problem) return thrown;
    throw thrown instanceof Error ? thrown : new Error('the upload was taken');
  }

  /** How many rows of the employer there are in the tables an upload writes. */
  async stored({ employerId }: Desk): Promise<{ runs: number; files: number; payments: number }> {
    const [counts] = await this.database.inEmployer(employerId, (tx) =>
      tx.query<{ runs: number; files: number; payments: number }>(
        `SELECT (SELECT count(*)::int FROM pay_run) AS runs, (SELECT count(*)::int FROM pay_file) AS files,
           (SELECT count(*)::int FROM payment) AS payments`,
      ),
    );
    return counts ?? { runs: 0, files: 0, payments: 0 };
  }

  query<Row>({ employerId }: Desk, sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.database.inEmployer(employerId, (tx) => tx.query<Row>(sql, parameters));
  }

  audit(desk: Desk): Promise<Pick<AuditEntry, 'action' | 'subject' | 'detail'>[]> {
    return this.query(desk, 'SELECT action, subject, detail FROM audit_entry ORDER BY seq');
  }

  /** Whether a statement waits for a lock. @param like how it reads, in SQL */
  isLockAwaited(like?: string): Promise<boolean> {
    return isLockAwaited(this.test.superuserUrl, like);
  }

  /** A connection that row-level security does not bind. */
  async asSuperuser(sql: string, parameters: unknown[] = []): Promise<void> {
    const client = new Client({ connectionString: this.test.superuserUrl });
    await client.connect();
    await client.query(sql, parameters).finally(() => client.end());
  }
}

export function fileOf(bytes: Buffer): UploadedFile {
  return {
    sha256: createHash('sha256').update(bytes).digest(),
    sizeBytes: bytes.length,
    read: () => Readable.from([bytes]),
  };
}

/** The faults of a refusal, as line, column and code. */
export function faultsOf(problem: Problem): [number, string | null, string][] {
  expect(problem).toMatchObject({ status: 422, code: 'PAY_FILE_REFUSED' });
  return (problem.extra['faults'] as PayFileFault[]).map(({ line, column, code }) => [line, column, code]);
}

async function letApprove(tx: EmployerTransaction, personId: string): Promise<void> {
  await tx.query(
    `INSERT INTO person_role (employer_id, person_id, role) VALUES ($1, $2, 'approver') ON CONFLICT DO NOTHING`,
    [tx.employerId, personId],
  );
}
