import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, Config } from '../config/env';
import { Lanes } from '../config/lanes';
import { LARGE_BYTES } from './tidy-heap';

/**
 * Lets some files at a time into the database, where each holds a connection to its end: as many as the pool has would
 * leave none for anybody else, and the service would take the database to be away. A usual file waits for none that takes
 * a minute.
 */
@Injectable()
export class IntakeTurns {
  private readonly large: Lanes;
  private readonly usual: Lanes;

  constructor(@Inject(CONFIG) { DATABASE_POOL_SIZE }: Pick<Config, 'DATABASE_POOL_SIZE'>) {
    const atOnce = Math.max(1, Math.floor(DATABASE_POOL_SIZE / 4));
    this.large = new Lanes(atOnce);
    this.usual = new Lanes(atOnce);
  }

  /** Takes a file of so many bytes in when it is its turn. */
  take<T>(sizeBytes: number, taking: () => Promise<T>): Promise<T> {
    return (sizeBytes > LARGE_BYTES ? this.large : this.usual).run(taking);
  }
}
