import { randomBytes } from 'node:crypto';
import { DataSource } from 'typeorm';
import { Clock } from '../../src/config/clock';
import { Config } from '../../src/config/env';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { ClockWatch } from '../../src/database/clock-watch';
import { Database } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import { ENTITIES } from '../../src/entities';
import { PaySchedule, SchedulePeriod } from '../../src/pay-run/pay-schedule.entity';
import { OverduePeriods } from '../../src/schedule/overdue-periods';
import { PeriodMaker } from '../../src/schedule/period-maker';
import { WaitingRuns } from '../../src/schedule/waiting-runs';

/** A clock that stands until a test sets it. */
export class SetClock extends Clock {
  private time: Date;

  constructor(time: string) {
    super();
    this.time = new Date(time);
  }

  set(time: string): void {
    this.time = new Date(time);
  }

  override now(): Date {
    return this.time;
  }
}

/** One process of several on the same database. */
export interface Replica {
  readonly dataSource: DataSource;
  readonly database: Database;
  readonly maker: PeriodMaker;
  readonly overdue: OverduePeriods;
  readonly waiting: WaitingRuns;
}

export async function openReplica(url: string, clock: Clock, config: Config): Promise<Replica> {
  const dataSource = await openDataSource(dataSourceOptions(url, ENTITIES, 5));
  const database = new Database(dataSource);
  const maker = new PeriodMaker(database, clock, config, new ClockWatch(database));
  const overdue = new OverduePeriods(database, clock, config, new ClockWatch(database));
  const waiting = new WaitingRuns(database, clock, config, new ClockWatch(database));
  return { dataSource, database, maker, overdue, waiting };
}

/** An employer with an account at the bank, and the person who connected it. */
export async function makeEmployerWithAccount(
  database: Database,
): Promise<{ employerId: string; accountId: string; personId: string }> {
  const employerId = newId();
  const accountId = newId();
  const personId = newId();
  await database.outsideEmployers((tx) =>
    tx.query(`INSERT INTO person (id, name) VALUES ($1, 'Olga Operator')`, [personId]),
  );
  await database.inEmployer(employerId, async (tx) => {
    await tx.query(`INSERT INTO employer (id, name, time_zone) VALUES ($1, $2, 'Europe/Paris')`, [
      employerId,
      `Employer ${employerId}`,
    ]);
    await tx.query(
      `INSERT INTO employer_account (employer_id, id, bank_account_id, bank_user_id, debtor_name, iban_sealed,
         iban_hash, currency, bank_status)
       VALUES ($1, $2, $3, '7', 'Example SAS', 'sealed', $4, 'EUR', 'OPENED')`,
      [employerId, accountId, accountId, randomBytes(32)],
    );
  });
  return { employerId, accountId, personId };
}

/** Terms of a schedule: the 25th or the banking day before, submitted two banking days ahead at nine. */
export const TERMS = {
  kindOfPay: 'SALARY',
  dayOfMonth: 25,
  whenClosed: 'PREVIOUS',
  submitDaysBefore: 2,
  submitTime: '09:00',
  timeZone: 'Europe/Paris',
  firstPeriod: '2026-01',
} as const satisfies Partial<PaySchedule>;

/** Stores a schedule of an employer of its own, active, without any period. */
export async function makeSchedule(
  database: Database,
  createdAt: string,
  terms: Partial<PaySchedule> = {},
): Promise<PaySchedule> {
  const { employerId, accountId, personId } = await makeEmployerWithAccount(database);
  const schedule = {
    ...TERMS,
    employerId,
    id: newId(),
    accountId,
    active: true,
    createdBy: personId,
    createdAt: new Date(createdAt),
    ...terms,
  };
  await database.inEmployer(employerId, (tx) => tx.manager.insert(PaySchedule, schedule));
  return schedule;
}

/** Every period of a schedule, oldest first. */
export function periodsOf(database: Database, { employerId, id }: PaySchedule): Promise<SchedulePeriod[]> {
  return database.inEmployer(employerId, (tx) =>
    tx.manager.find(SchedulePeriod, { where: { employerId, scheduleId: id }, order: { period: 'ASC' } }),
  );
}

/** Binds a DRAFT run of no rows to a month of the employer's schedule of a kind of pay. @returns its id */
export async function bindRun(
  database: Database,
  employerId: string,
  period: string,
  madeAt?: string,
  kindOfPay: string = TERMS.kindOfPay,
): Promise<string> {
  const id = newId();
  await database.inEmployer(employerId, async (tx) => {
    await tx.query(
      `INSERT INTO pay_run (employer_id, id, account_id, period, kind_of_pay, execution_date, submit_at, schedule_id,
         status, row_count, total_minor, currency, created_by, created_at)
       SELECT s.employer_id, $1, account_id, p.period, kind_of_pay, execution_date, submit_at, schedule_id, 'DRAFT', 0,
         0, 'EUR', created_by, coalesce($3::timestamptz, now()) FROM pay_schedule s JOIN schedule_period p ON p.schedule_id = s.id WHERE p.period = $2 AND kind_of_pay = $4`,
      [id, period, madeAt ?? null, kindOfPay],
    );
    await tx.query(
      `UPDATE schedule_period p SET pay_run_id = r.id FROM pay_run r
       WHERE r.id = $1 AND p.schedule_id = r.schedule_id AND p.period = r.period`,
      [id],
    );
  });
  return id;
}
