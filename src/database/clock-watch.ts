import { Injectable, Logger } from '@nestjs/common';
import { Database, Transaction } from './database';
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
    this.ahead = await this.database.outsideEmployers(aheadMs);
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

/** How far this process's clock is ahead of the database's, in ms: about as long as the question takes is not seen. */
async function aheadMs(tx: Transaction): Promise<number> {
  const askedAt = Date.now();
  const [row] = await tx.query<{ ms: number }>(
    'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
  );
  return (askedAt + Date.now()) / 2 - (row?.ms ?? NaN);
}

/** An instant of this process's clock as the database's has it, where the two disagree: for what is kept for good. */
export async function byDatabase(tx: Transaction, instant: Date): Promise<Date> {
  const ms = await aheadMs(tx);
  return agrees(ms) ? instant : new Date(instant.getTime() - ms);
}

function agrees(ms: number): boolean {
  return Math.abs(ms) < CLOCK_TOLERANCE_MS;
}
