import { Column, Entity, PrimaryColumn } from 'typeorm';

/** When an employer pays every month. */
@Entity('pay_schedule')
export class PaySchedule {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @Column('text') kindOfPay!: string;
  /** Null: the last banking day of the month. */
  @Column('smallint', { nullable: true }) dayOfMonth!: number | null;
  /** Which banking day is taken when the day of the month is none. */
  @Column('text') whenClosed!: 'PREVIOUS' | 'NEXT';
  /** Banking days before the execution date on which the run is submitted. */
  @Column('smallint') submitDaysBefore!: number;
  /** Local time of the submit, `HH:MM`. */
  @Column('text') submitTime!: string;
  @Column('text') timeZone!: string;
  @Column('text') firstPeriod!: string;
  @Column('boolean') active!: boolean;
  @Column('uuid') createdBy!: string;
  @Column('timestamptz') createdAt!: Date;
}

/** One month of a schedule: one row, whoever and however many make it, and the run bound to it. */
@Entity('schedule_period')
export class SchedulePeriod {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') scheduleId!: string;
  @PrimaryColumn('text') period!: string;
  @Column('date') executionDate!: string;
  @Column('timestamptz') submitAt!: Date;
  @Column('uuid', { nullable: true }) payRunId!: string | null;
  @Column('timestamptz') createdAt!: Date;
}
