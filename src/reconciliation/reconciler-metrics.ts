import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram } from 'prom-client';
import { Metrics } from '../http/metrics';
import { INVARIANTS } from './invariants';

/** From an employer without runs to one of the largest. */
const BUCKETS_SECONDS = [0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What the standing reconciler of this process did. */
@Injectable()
export class ReconcilerMetrics {
  /** Ended by the first employer checked after it; alarm when the newest of all replicas grows old. */
  readonly lastCheck: Gauge;
  readonly duration: Histogram;
  readonly breaches: Counter<'invariant'>;
  readonly failures: Counter<'invariant'>;

  constructor({ registry }: Metrics) {
    const registers = [registry];
    this.lastCheck = new Gauge({
      name: 'payrun_reconciler_last_check_timestamp_seconds',
      help: 'When this process last asserted the invariants of an employer.',
      registers,
    });
    this.duration = new Histogram({
      name: 'payrun_reconciler_check_duration_seconds',
      help: 'Duration of asserting the invariants of one employer.',
      buckets: BUCKETS_SECONDS,
      registers,
    });
    const labelNames = ['invariant'] as const;
    this.breaches = new Counter({
      name: 'payrun_invariant_breaches_total',
      help: 'Breaches told by this process, by invariant.',
      labelNames,
      registers,
    });
    this.failures = new Counter({
      name: 'payrun_reconciler_failures_total',
      help: 'Invariants that could not be asserted, by invariant.',
      labelNames,
      registers,
    });
    for (const { name } of INVARIANTS) {
      this.breaches.inc({ invariant: name }, 0);
      this.failures.inc({ invariant: name }, 0);
    }
  }
}
