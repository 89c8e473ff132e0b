import { Injectable, Logger } from '@nestjs/common';
import { Database } from './database';
import { CLOCK_TOLERANCE_MS } from './leases';

/** Tells when the clock of this process and the database's part: no work is claimed by it then (`Leases.claim`). */
@Injectable()
export class ClockWatch {
  private readonly logger = new Logger(ClockWatch.name);
  private ahead = 0;

  constructor(private readonly database: Database) {}

  /** How far this process's clock was ahead of the database's when last asked, in ms. */
  get aheadMs(): number {
    return this.ahead;
  }

  /** Asks the database for its time. @returns whether both clocks agree well enough to work */
  async check(): Promise<boolean> {
    const agreed = agrees(this.ahead);
    this.ahead = await this.database.outsideEmployers(async (tx) => {
      const askedAt = Date.now();
      const [row] = await tx.query<{ ms: number }>(
        'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
      );
      return (askedAt + Date.now()) / 2 - (row?.ms ?? NaN);
    });
    const detail = { aheadSeconds: Math.round(this.ahead / 1_000) };
    if (agreed && !agrees(this.ahead))
      this.logger.error({
        message: "this replica's clock is not the database's: it takes no work up until they agree",
        ...detail,
      });
    if (!agreed && agrees(this.ahead))
      this.logger.log({ message: "this replica's clock agrees with the database's again", ...detail });
    return agrees(this.ahead);
  }
}

function agrees(aheadMs: number): boolean {
  return Math.abs(aheadMs) < CLOCK_TOLERANCE_MS;
}
