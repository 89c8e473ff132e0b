import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { append } from '../../src/audit/audit';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { Database } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import { PersonalData } from '../../src/database/personal-data';
import { ENTITIES } from '../../src/entities';
import { Metrics } from '../../src/http/metrics';
import { resumeAfter } from '../../src/pay-run/stop';
import { ReconcilerMetrics } from '../../src/reconciliation/reconciler-metrics';
import { StandingReconciler } from '../../src/reconciliation/standing-reconciler';
import { readId } from '../../src/http/prefixed-id';
import { execute, select, TestDatabase, testDatabase } from '../support/database';
import { Mixed, MIXED, mixedPayrolls, startMixedPayroll } from '../support/mixed-payrolls';
import { Payroll } from '../support/payroll';

const HASH_KEY = 'a key of the tests, long enough to be one';

/** A copy of payrolls that came to every kind of end, with a reconciler and somebody who has the database in hand. */
export class PayrollsCopy {
  readonly metrics = new Metrics();
  private readonly reconciler: StandingReconciler;

  private constructor(
    readonly store: TestDatabase,
    readonly source: DataSource,
    readonly employerId: string,
    metrics?: ReconcilerMetrics,
  ) {
    this.reconciler = new StandingReconciler(
      this.database,
      new PersonalData({ PAYRUN_HASH_KEY: HASH_KEY }),
      metrics ?? new ReconcilerMetrics(this.metrics),
      { RECONCILE_MS: 300_000 },
    );
  }

  static async of(template: string, employerId: string): Promise<PayrollsCopy> {
    const store = await testDatabase(template);
    return new PayrollsCopy(
      store,
      await openDataSource(dataSourceOptions(store.url, ENTITIES, 4)),
      employerId,
    );
  }

  get database(): Database {
    return new Database(this.source);
  }

  /** No policy, no trigger, no foreign key. */
  async tamper(...statements: string[]): Promise<number> {
    const client = new Client({ connectionString: this.store.superuserUrl });
    await client.connect();
    try {
      await client.query('SET session_replication_role = replica');
      let changed = 0;
      for (const sql of statements) changed += (await client.query(sql)).rowCount ?? 0;
      return changed;
    } finally {
      await client.end();
    }
  }

  /** A pass, as if the last one were long ago. Answers the names of what was told and of whom. */
  async check(employerId = this.employerId): Promise<string[]> {
    await execute(this.store.superuserUrl, `UPDATE reconciler_pass SET checked_at = '-infinity'`);
    const told = await this.reconciler.check(employerId);
    return told.map(({ invariant }) => invariant).sort();
  }

  checkIfDue(): Promise<unknown[]> {
    return this.reconciler.check(this.employerId);
  }

  attentions() {
    return select<{
      id: string;
      happened: string;
      pay_run_id: string;
      subject_id: string;
      ask_bank: string;
    }>(
      this.store.superuserUrl,
      `SELECT id, happened, pay_run_id, subject_id, ask_bank FROM attention
       WHERE kind = 'INVARIANT_BREACH' AND resolved_at IS NULL ORDER BY happened`,
    );
  }

  /** Who is stopped: everything, or employers by id. */
  async stopped(): Promise<string[]> {
    const rows = await select<{ who: string }>(
      this.store.superuserUrl,
      `SELECT 'everything' AS who FROM service_switch WHERE submits_off AND reason = 'INVARIANT_BREACH'
       UNION ALL SELECT id::text FROM employer WHERE stopped_reason = 'INVARIANT_BREACH' ORDER BY 1`,
    );
    return rows.map(({ who }) => who);
  }

  /** As two people do it at the attention desk. */
  async resume(): Promise<void> {
    for (const { id, pay_run_id: payRunId, subject_id: subjectId } of await this.attentions()) {
      await this.database.inEmployer(this.employerId, async (tx) => {
        await tx.query(
          `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by,
             confirmed_at)
           SELECT $1, $2, $3, 'RESUME', 'seen', a.prepared_by, a.approver_id, now() FROM approval a LIMIT 1`,
          [this.employerId, newId(), id],
        );
        await tx.query(`UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE id = $1`, [id]);
        await resumeAfter(tx, { id, kind: 'INVARIANT_BREACH', payRunId, subjectId });
      });
    }
  }

  /** Somebody does something lawful that is written to the audit chain. */
  async append(): Promise<void> {
    await this.database.inEmployer(this.employerId, (tx) =>
      append(tx, { action: 'a', subject: 's', detail: {} }),
    );
  }

  async close(): Promise<void> {
    await this.source.destroy();
    await this.store.drop();
  }
}

/** A payroll that is not served any more and came to every kind of end: what copies are made of, and the ids in it. */
export async function mixedTemplate(): Promise<{
  payroll: Payroll;
  template: string;
  employerId: string;
  runs: Mixed;
}> {
  const payroll = await startMixedPayroll();
  const shown = await mixedPayrolls(payroll);
  const runs = Object.fromEntries(MIXED.map((name) => [name, readId('run', shown[name])])) as Mixed;
  await payroll.stopServices();
  const template = new URL(payroll.database.superuserUrl).pathname.slice(1);
  return { payroll, template, employerId: readId('emp', payroll.employer), runs };
}

export const instructions = (run: string) => `(SELECT id FROM instruction WHERE pay_run_id = '${run}')`;
export const firstOf = (run: string) =>
  `(SELECT id FROM instruction WHERE pay_run_id = '${run}' AND status NOT IN ('ABANDONED', 'CANCELLED') ORDER BY id LIMIT 1)`;
