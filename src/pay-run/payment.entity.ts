import { Column, Entity, PrimaryColumn } from 'typeorm';
import { bigintColumn } from '../database/transformers';
import { PaymentStatus } from '../domain/payment';

/** One row of a pay run: what one employee is paid. Name and IBAN are sealed; compare their hashes. */
@Entity('payment')
export class Payment {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') payRunId!: string;
  /** Its place in the run, from 1. */
  @Column('integer') rowNo!: number;
  /** The line of the pay file it came from, from 1. */
  @Column('integer') line!: number;
  @Column('text') period!: string;
  @Column('text') kindOfPay!: string;
  @Column('text') employeeId!: string;
  /** The name the bank is sent, in the SEPA character set. */
  @Column('text') nameSealed!: string;
  /** The name as the pay file wrote it, where that differs. */
  @Column('text', { nullable: true }) writtenNameSealed!: string | null;
  @Column('bytea') nameHash!: Buffer;
  @Column('text') ibanSealed!: string;
  @Column('bytea') ibanHash!: Buffer;
  @Column('text', { nullable: true }) bic!: string | null;
  @Column('bigint', { transformer: bigintColumn }) amountMinor!: bigint;
  @Column('text') currency!: 'EUR';
  @Column('text', { nullable: true }) remittance!: string | null;
  @Column('bytea') rowHash!: Buffer;
  @Column('text') status!: PaymentStatus;
  @Column('boolean') live!: boolean;
  @Column('smallint') releaseSequence!: number;
  /** The payment of an earlier run that this one is made instead of; part of its hash. */
  @Column('uuid', { nullable: true }) replacesPaymentId!: string | null;
  /** Why a payment that was paid and came back is paid again. */
  @Column('text', { nullable: true }) replacesReason!: string | null;
  @Column('text', { nullable: true }) excludedReason!: string | null;
  @Column('bigint', { nullable: true, transformer: bigintColumn }) chargesMinor!: bigint | null;
  @Column('date', { nullable: true }) settledOn!: string | null;
  @Column('timestamptz', { nullable: true }) returnedAt!: Date | null;
  @Column('bigint', { transformer: bigintColumn, nullable: true }) returnedMinor!: bigint | null;
}
