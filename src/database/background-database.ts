import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CONFIG, Config } from '../config/env';
import { Lanes } from '../config/lanes';
import type { Waits } from './data-source';
import { Database, Lent } from './database';

/** Connections of the pool that background work leaves to what people and the bank wait for. */
const LEFT_FREE = 3;

/**
 * The door to the database for work of which much may go on at once and for which nobody waits: its units of work queue
 * for all but a few connections of the pool, so that a request is not turned away for want of one.
 */
@Injectable()
export class BackgroundDatabase extends Database {
  private readonly lanes: Lanes;

  constructor(
    // The container hands a subclass what its parent asks for by position.
    dataSource: DataSource,
    @Inject(CONFIG) config: Pick<Config, 'DATABASE_POOL_SIZE'> & Waits,
    database: Database,
  ) {
    super(dataSource, config, database.availability);
    this.lanes = new Lanes(Math.max(1, config.DATABASE_POOL_SIZE - LEFT_FREE));
  }

  protected override onConnection<T>(work: (lent: Lent) => Promise<T>): Promise<T> {
    return this.lanes.run(() => super.onConnection(work));
  }
}
