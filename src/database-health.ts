import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Database } from './database/database';
import { Metrics } from './http/metrics';
import { Readiness } from './http/readiness';

/** Tells machines whether the database answers: in /readyz by asking it, in the metrics by the last unit of work. */
@Injectable()
export class DatabaseHealth {
  constructor(database: Database, readiness: Readiness, { registry }: Metrics) {
    readiness.register('database', () => database.outsideEmployers((tx) => tx.query('SELECT 1')));
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
