import { execute, select, testDatabase, TestDatabase } from './database';
import { eventually } from './eventually';
import type { Variants } from '../../src/bank-sandbox/variants';
import { Payroll } from './payroll';

/** A bank that shows all there is, and counts it: what a restored database forgot is found by what the bank shows. */
export const FRANK = {
  linkReads: 'allowed',
  omitFromLists: [],
  optionalFields: 'sent',
  countMeans: 'total',
  emptyLists: 'envelope',
} as const;

/** Takes a payroll back to a copy of its database, as a restored backup does. */
export class Restoring {
  private backup: TestDatabase | undefined;

  constructor(readonly payroll: Payroll) {}

  /** At a bank that shows all there is, but for the variants. */
  static async start(
    settings: Record<string, string> = {},
    variants: Partial<Variants> = {},
    stepMs = 0,
  ): Promise<Restoring> {
    const payroll = await Payroll.start({
      rowsPerInstruction: 2,
      paidBefore: true,
      sandbox: { stepMs, variants: { ...FRANK, ...variants } },
      settings: { BANK_TIMEOUT_MS: '1000', ...settings },
    });
    return new Restoring(payroll);
  }

  /** Stops the service and copies its database; what happens from here on the copy does not know. */
  async backUp(): Promise<void> {
    const { payroll } = this;
    await payroll.stopServices();
    this.backup = await testDatabase(new URL(payroll.database.url).pathname.slice(1));
    await this.serve();
  }

  /** Changes the copy. */
  inBackup(sql: string): Promise<void> {
    return execute(this.backup!.superuserUrl, sql);
  }

  /** As where the bank's list was seen to show what is not submitted while runs were built before. */
  listIsKnown(): Promise<void> {
    return this.inBackup(
      `INSERT INTO bank_list (list, row_count, unsubmitted_shown_at) VALUES ('PAYMENTS', 0, now())
       ON CONFLICT (list) DO UPDATE SET unsubmitted_shown_at = excluded.unsubmitted_shown_at`,
    );
  }

  /** Stops the service and starts it on the copy. */
  async restore(): Promise<void> {
    await this.serveBackup();
    await eventually(async () => (await this.question()) !== undefined, 10_000);
  }

  /** As `restore`, of a copy that shows nowhere that it is one: nobody knows before an administrator says it. */
  async restoreUnnoticed(): Promise<void> {
    await this.inBackup(
      `UPDATE database_identity SET written_by = pg_current_xact_id(),
         database_oid = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    await this.serveBackup();
  }

  /** An administrator says that the database was restored. */
  async say(): Promise<void> {
    await this.payroll
      .as('administrator')
      .post('/v1/service/restored', { reason: 'the disk was rolled back' });
    await eventually(async () => (await this.question()) !== undefined, 10_000);
  }

  /** Stops the service and starts it anew: what it remembers to have tried it tries again. */
  async serveAgain(): Promise<void> {
    await this.payroll.stopServices();
    await this.serve();
  }

  stored<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return select<Row>(this.payroll.database.superuserUrl, sql, parameters);
  }

  change(sql: string): Promise<void> {
    return execute(this.payroll.database.superuserUrl, sql);
  }

  /** Waits until the bank was read. @returns what people are told then */
  async answered(): Promise<string> {
    let told = '';
    await eventually(
      async () => {
        told = (await this.question())?.happened ?? 'is being read';
        return !told.includes('is being read');
      },
      20_000,
      () => 'the bank was never read after the restore',
    );
    return told;
  }

  /** Two people let things go on. @returns the status or the code of the refusal */
  async resume(evidence?: string): Promise<string> {
    const path = this.payroll.path(`/attention/${(await this.question())!.id}`);
    const reason = 'the bank and we have compared our lists';
    await this.payroll.as('operator').post(`${path}/actions`, { action: 'RESUME', reason, evidence });
    const { status, data } = await this.payroll.confirm(path);
    return status === 200 ? 'RESUMED' : String(data.code);
  }

  /** Takes back what was proposed, so that it may be proposed otherwise. */
  async withdraw(): Promise<void> {
    const path = this.payroll.path(`/attention/${(await this.question())!.id}`);
    await this.payroll.as('operator').delete(`${path}/actions`);
  }

  async close(): Promise<void> {
    await this.payroll.close();
    await this.backup?.drop();
  }

  private async serveBackup(): Promise<void> {
    const { payroll } = this;
    const { url, superuserUrl } = this.backup!;
    await payroll.stopServices();
    Object.assign(payroll.database, { url, superuserUrl });
    Object.assign(payroll.settings, { DATABASE_URL: url });
    await this.serve();
  }

  private async question() {
    return (await this.payroll.attention()).find(({ kind }) => kind === 'RESTORED');
  }

  private async serve(): Promise<void> {
    this.payroll.url = (await this.payroll.addReplica()).url;
  }
}
