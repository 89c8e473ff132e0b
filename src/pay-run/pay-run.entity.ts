import { Column, Entity, PrimaryColumn } from 'typeorm';
import { bigintColumn } from '../database/transformers';
import { PayRunStatus } from '../domain/pay-run';

/** One payroll with one execution date: the record that is approved, submitted and reconciled. */
@Entity('pay_run')
export class PayRun {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @Column('text') period!: string;
  @Column('text') kindOfPay!: string;
  @Column('date') executionDate!: string;
  /** When it is to be submitted; null: on its approval, be its date weeks ahead. */
  @Column('timestamptz', { nullable: true }) submitAt!: Date | null;
  @Column('uuid', { nullable: true }) scheduleId!: string | null;
  @Column('integer') sequence!: number;
  @Column('uuid', { nullable: true }) parentRunId!: string | null;
  @Column('text') status!: PayRunStatus;
  @Column('integer') runVersion!: number;
  @Column('integer') rowCount!: number;
  @Column('bigint', { transformer: bigintColumn }) totalMinor!: bigint;
  @Column('text') currency!: 'EUR';
  @Column('smallint') exponent!: number;
  @Column('bytea', { nullable: true }) rootHash!: Buffer | null;
  @Column('timestamptz', { nullable: true }) stoppedAt!: Date | null;
  @Column('text', { nullable: true }) stoppedReason!: string | null;
  /** Why the approval cannot be used any more; set until every instruction has ended and the run is READY again. */
  @Column('text', { nullable: true }) lapseReason!: string | null;
  /** What the account had at the run gate, when that was asked for and when answered; null again once it was compared. */
  @Column('bigint', { transformer: bigintColumn, nullable: true }) balanceBeforeMinor!: bigint | null;
  /** Null also of a run whose balance was read before this was kept. */
  @Column('timestamptz', { nullable: true }) balanceAskedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) balanceReadAt!: Date | null;
  /** When it was last found to lack nothing, while it is still compared. */
  @Column('timestamptz', { nullable: true }) balanceEvenAt!: Date | null;
  @Column('bigint', { transformer: bigintColumn }) revision!: bigint;
  @Column('uuid') createdBy!: string;
  @Column('timestamptz') createdAt!: Date;
  /** How many restores of the database were known when it was made: the database sets it. */
  @Column({ type: 'integer', insert: false, update: false }) knownRestores?: number;
}

/** What one version of a run held, and who prepared it. An amendment makes the next one. */
@Entity('pay_run_version')
export class PayRunVersion {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') payRunId!: string;
  @PrimaryColumn('integer') runVersion!: number;
  @Column('bytea') rootHash!: Buffer;
  @Column('integer') rowCount!: number;
  @Column('bigint', { transformer: bigintColumn }) totalMinor!: bigint;
  @Column('date') executionDate!: string;
  @Column('uuid') preparedBy!: string;
  @Column('text', { nullable: true }) reason!: string | null;
  @Column('timestamptz') createdAt!: Date;
}

/** A proposed change of a run: rows to take out, a new execution date. It waits until nothing is alive at the bank. */
@Entity('amendment')
export class Amendment {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') payRunId!: string;
  @Column('date', { nullable: true }) executionDate!: string | null;
  @Column('timestamptz', { nullable: true }) submitAt!: Date | null;
  @Column('uuid', { array: true }) excludePaymentIds!: string[];
  @Column('text') reason!: string;
  @Column('uuid') proposedBy!: string;
  @Column('timestamptz') proposedAt!: Date;
  @Column('integer', { nullable: true }) appliedAsVersion!: number | null;
}

/** One person's approval of exactly one version of a run. */
@Entity('approval')
export class Approval {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') payRunId!: string;
  @Column('integer') runVersion!: number;
  @Column('uuid') approverId!: string;
  @Column('uuid') preparedBy!: string;
  @Column('bytea') rootHash!: Buffer;
  @Column('timestamptz') approvedAt!: Date;
  @Column('timestamptz', { nullable: true }) voidedAt!: Date | null;
  @Column('text', { nullable: true }) voidedReason!: string | null;
  /** How many restores of the database were known when it was made: the database sets it. */
  @Column({ type: 'integer', insert: false, update: false }) knownRestores?: number;
}
