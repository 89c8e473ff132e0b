import { Inject, Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { ClockWatch } from '../database/clock-watch';
import { Database, EmployerTransaction } from '../database/database';
import { PaySchedule, SchedulePeriod } from '../pay-run/pay-schedule.entity';
import { forEveryEmployer } from './every-employer';
import { MadePeriod, missingPeriods, movedPeriods, PeriodDates } from './period-dates';

/**
 * Makes the months of every active schedule ahead of time, and gives those without a run the dates they have by the
 * bank's days of now. The table's key makes any number of makers make one row.
 */
@Injectable()
export class PeriodMaker {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    private readonly watch: ClockWatch,
  ) {}

  /**
   * Makes what is missing for every employer, unless this process's clock is not the database's: a month keeps its dates
   * once they are past. @returns how many periods this maker made or moved.
   * @throws Error after the last employer when any failed.
   */
  async tick(): Promise<number> {
    if (!(await this.watch.check())) return 0;
    let made = 0;
    await forEveryEmployer(this.database, 'with an active schedule', async (employerId) => {
      made += await this.database.inEmployer(employerId, (tx) => this.makePeriods(tx));
    });
    return made;
  }

  /**
   * Makes what is missing for the schedules of the transaction's employer, and moves what has other dates now.
   * @param now what is read of the clock unless it is given
   * @returns how many periods were made or moved.
   */
  async makePeriods(tx: EmployerTransaction, now = this.clock.now()): Promise<number> {
    const { employerId } = tx;
    // The lock makes a deactivation wait, or this see it: none is made for a schedule that has ended.
    const schedules = await tx.manager.find(PaySchedule, {
      where: { employerId, active: true },
      order: { id: 'ASC' },
      lock: { mode: 'pessimistic_read' },
    });
    const made = await madePeriods(tx, schedules);
    const bank = bankHours(this.config);
    let count = 0;
    for (const schedule of schedules) {
      const before = made.get(schedule.id) ?? [];
      const known = new Set(before.map(({ period }) => period));
      const missing = missingPeriods(schedule, known, now, bank);
      const due = [...missing, ...movedPeriods(schedule, before, now, bank)];
      if (due.length > 0) count += await this.store(tx, schedule.id, due, now);
    }
    return count;
  }

  private async store(
    tx: EmployerTransaction,
    scheduleId: string,
    periods: PeriodDates[],
    now: Date,
  ): Promise<number> {
    // An upload may have bound its run since the months were read: then the month keeps its dates.
    const stored = await tx.query(
      `INSERT INTO schedule_period AS s (employer_id, schedule_id, period, execution_date, submit_at, created_at)
       SELECT $1, $2, p.period, p.execution_date, p.submit_at, $6
       FROM unnest($3::text[], $4::date[], $5::timestamptz[]) AS p (period, execution_date, submit_at)
       ON CONFLICT (employer_id, schedule_id, period)
       DO UPDATE SET execution_date = EXCLUDED.execution_date, submit_at = EXCLUDED.submit_at
       WHERE s.pay_run_id IS NULL
         AND (s.execution_date, s.submit_at) <> (EXCLUDED.execution_date, EXCLUDED.submit_at)
       RETURNING period`,
      [
        tx.employerId,
        scheduleId,
        periods.map(({ period }) => period),
        periods.map(({ executionDate }) => executionDate),
        periods.map(({ submitAt }) => submitAt.toISOString()),
        now,
      ],
    );
    return stored.length;
  }
}

async function madePeriods(
  tx: EmployerTransaction,
  schedules: readonly PaySchedule[],
): Promise<Map<string, MadePeriod[]>> {
  const rows = await tx.manager.find(SchedulePeriod, {
    where: { employerId: tx.employerId, scheduleId: In(schedules.map(({ id }) => id)) },
    // Makers that move the same months lock them in one order.
    order: { period: 'ASC' },
  });
  const bySchedule = new Map<string, MadePeriod[]>();
  for (const row of rows) {
    bySchedule.set(row.scheduleId, [...(bySchedule.get(row.scheduleId) ?? []), row]);
  }
  return bySchedule;
}
