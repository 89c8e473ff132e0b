import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { ClockWatch } from './database/clock-watch';
import { Database } from './database/database';
import { Metrics } from './http/metrics';
import { Readiness } from './http/readiness';

/**
 * Tells machines whether the database answers and agrees on the time: in /readyz by asking it, in the metrics by the last
 * unit of work and the last look at its clock.
 */
@Injectable()
export class DatabaseHealth {
  constructor(database: Database, clock: ClockWatch, readiness: Readiness, { registry }: Metrics) {
    readiness.register('database', () => database.outsideEmployers((tx) => tx.query('SELECT 1')));
    readiness.register('clock', async () => {
      if (!(await clock.check())) throw new Error('the clocks of this process and of the database differ');
    });
    new Gauge({
      name: 'payrun_clock_ahead_seconds',
      help: "How far this process's clock was ahead of the database's when it was last compared.",
      registers: [registry],
      collect() {
        this.set(clock.aheadMs / 1_000);
      },
    });
    new Gauge({
      name: 'database_up',
      help: 'Whether the last unit of work reached PostgreSQL.',
      registers: [registry],
      collect() {
        this.set(database.availability.available ? 1 : 0);
      },
    });
  }
}
