import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Database, Transaction } from '../database/database';
import { DatabaseAway } from '../database/outage';
import { PAY_RUN_FINALS } from '../domain/pay-run';
import { Metrics } from '../http/metrics';
import { ATTENTION_WORDS } from '../pay-run/attention-words';

interface Open {
  attentions: Counted[];
  runs: Counted[];
  work: Counted[];
}

interface Counted {
  label: string;
  count: number;
  seconds: number;
}

/** What of all employers is open, counted when it is asked for; nothing while the database is away. */
@Injectable()
export class OpenWorkMetrics {
  private readonly attentions: Gauge<'kind'>;
  private readonly attentionAge: Gauge<'kind'>;
  private readonly runs: Gauge<'status'>;
  private readonly work: Gauge<'kind'>;
  private readonly waiting: Gauge<'kind'>;
  private counting: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    { registry }: Metrics,
  ) {
    const gauge = <Label extends string>(name: string, label: Label, help: string) =>
      new Gauge({ name, help, labelNames: [label], registers: [registry], collect: () => this.count() });
    this.attentions = gauge('payrun_attentions_open', 'kind', 'Questions that wait for people, by kind.');
    this.attentionAge = gauge(
      'payrun_attention_age_seconds',
      'kind',
      'Age of the oldest open question, by kind.',
    );
    this.runs = gauge('payrun_runs_open', 'status', 'Pay runs that have not ended, by state.');
    this.work = gauge('payrun_work', 'kind', 'Entries of the work list, by kind.');
    this.waiting = gauge(
      'payrun_work_waiting_seconds',
      'kind',
      'How long the work that was due first has waited for a replica, by kind.',
    );
  }

  /** The gauges are collected together: all of them wait for one reading. */
  private count(): Promise<void> {
    this.counting ??= this.read().finally(() => (this.counting = undefined));
    return this.counting;
  }

  private async read(): Promise<void> {
    for (const gauge of [this.attentions, this.attentionAge, this.runs, this.work, this.waiting])
      gauge.reset();
    const open = await this.database.asWorker(readOpen).catch((error: unknown) => {
      if (!(error instanceof DatabaseAway)) throw error;
    });
    if (open) this.show(open);
  }

  private show({ attentions, runs, work }: Open): void {
    for (const kind of Object.keys(ATTENTION_WORDS)) this.attentions.set({ kind }, 0);
    for (const { label: kind, count, seconds } of attentions) {
      this.attentions.set({ kind }, count);
      this.attentionAge.set({ kind }, seconds);
    }
    for (const { label: status, count } of runs) this.runs.set({ status }, count);
    for (const { label: kind, count, seconds } of work) {
      this.work.set({ kind }, count);
      this.waiting.set({ kind }, seconds);
    }
  }
}

async function readOpen(tx: Transaction): Promise<Open> {
  const attentions = await tx.query<Counted>(
    `SELECT kind AS label, count(*)::int AS count, extract(epoch FROM now() - min(opened_at))::float8 AS seconds
     FROM attention WHERE resolved_at IS NULL GROUP BY kind`,
  );
  const runs = await tx.query<Counted>(
    `SELECT status AS label, count(*)::int AS count, 0 AS seconds FROM pay_run
     WHERE status <> ALL ($1) GROUP BY status`,
    [PAY_RUN_FINALS],
  );
  const work = await tx.query<Counted>(
    `SELECT kind AS label, count(*)::int AS count,
       coalesce(extract(epoch FROM now() - min(coalesce(leased_until, wake_at))
         FILTER (WHERE coalesce(leased_until, wake_at) < now())), 0)::float8 AS seconds
     FROM lease GROUP BY kind`,
  );
  return { attentions, runs, work };
}
