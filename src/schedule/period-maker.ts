import { Inject, Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { PaySchedule, SchedulePeriod } from '../pay-run/pay-schedule.entity';
import { bankHours } from '../submission/submit-window';
import { forEveryEmployer } from './every-employer';
import { missingPeriods, PeriodDates } from './period-dates';

/** Makes the months of every active schedule ahead of time. The table's key makes any number of makers make one row. */
@Injectable()
export class PeriodMaker {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Makes what is missing for every employer. @returns how many periods this maker made.
   * @throws Error after the last employer when any failed.
   */
  async tick(): Promise<number> {
    let made = 0;
    await forEveryEmployer(this.database, 'with an active schedule', async (employerId) => {
      made += await this.database.inEmployer(employerId, (tx) => this.makePeriods(tx));
    });
    return made;
  }

  /** Makes what is missing for the schedules of the transaction's employer. @returns how many periods were made. */
  async makePeriods(tx: EmployerTransaction): Promise<number> {
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
      const missing = missingPeriods(schedule, made.get(schedule.id) ?? new Set(), this.clock.now(), bank);
      if (missing.length > 0) count += await this.insert(tx, schedule.id, missing);
    }
    return count;
  }

  private async insert(tx: EmployerTransaction, scheduleId: string, periods: PeriodDates[]): Promise<number> {
    const inserted = await tx.query(
      `INSERT INTO schedule_period (employer_id, schedule_id, period, execution_date, submit_at, created_at)
       SELECT $1, $2, p.period, p.execution_date, p.submit_at, $6
       FROM unnest($3::text[], $4::date[], $5::timestamptz[]) AS p (period, execution_date, submit_at)
       ON CONFLICT DO NOTHING RETURNING period`,
      [
        tx.employerId,
        scheduleId,
        periods.map(({ period }) => period),
        periods.map(({ executionDate }) => executionDate),
        periods.map(({ submitAt }) => submitAt.toISOString()),
        this.clock.now(),
      ],
    );
    return inserted.length;
  }
}

async function madePeriods(
  tx: EmployerTransaction,
  schedules: readonly PaySchedule[],
): Promise<Map<string, Set<string>>> {
  const rows = await tx.manager.find(SchedulePeriod, {
    select: { employerId: true, scheduleId: true, period: true },
    where: { employerId: tx.employerId, scheduleId: In(schedules.map(({ id }) => id)) },
  });
  const bySchedule = new Map<string, Set<string>>();
  for (const { scheduleId, period } of rows) {
    bySchedule.set(scheduleId, (bySchedule.get(scheduleId) ?? new Set()).add(period));
  }
  return bySchedule;
}
