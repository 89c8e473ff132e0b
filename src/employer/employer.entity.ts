import { Column, Entity, PrimaryColumn } from 'typeorm';
import { FaultPolicy } from '../domain/fault-policy';
import { bigintColumn } from '../database/transformers';

/** A company that pays salaries through this service. */
@Entity('employer')
export class Employer {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  /** Of a new schedule that names none; dates and cut-offs are in the bank's. */
  @Column('text') timeZone!: string;
  @Column('integer') rowsPerInstruction!: number;
  @Column('smallint') approvalsRequired!: number;
  /** Whether a run is approved only after its new IBANs were looked at. */
  @Column('boolean') tickIbans!: boolean;
  /** By how much pay may differ from the pay before it before that is told: 2000 is 20 %. */
  @Column('integer') netChangeBasisPoints!: number;
  /** What a payment says to its receiver where its row says nothing; null: kind of pay and period. */
  @Column('text', { nullable: true }) remittanceTemplate!: string | null;
  /** What becomes of pay files with faulty rows; each run keeps the one it was taken by. */
  @Column('jsonb') faultPolicy!: FaultPolicy;
  /** What is above is held until a person releases it: a payment, and all rows of a file; null: no limit. */
  @Column('bigint', { nullable: true, transformer: bigintColumn }) paymentLimitMinor!: bigint | null;
  @Column('bigint', { nullable: true, transformer: bigintColumn }) runLimitMinor!: bigint | null;
  /** How far a payment may be above the median of the last ones of its employee. */
  @Column('integer', { nullable: true }) increaseLimitBp!: number | null;
  /** How many days ahead of today a run may be executed; null: a year. */
  @Column('integer', { nullable: true }) daysAheadLimit!: number | null;
  /** The employer's kill switch: nothing of its pay runs is intended at the bank while it is set. */
  @Column('timestamptz', { nullable: true }) stoppedAt!: Date | null;
  @Column('text', { nullable: true }) stoppedReason!: string | null;
  @Column('timestamptz') createdAt!: Date;
  /** How many restores of the database were known when it was made: the database sets it. */
  @Column({ type: 'integer', insert: false, update: false }) knownRestores?: number;
}

/** An account of an employer at the bank: the debtor of its pay runs. */
@Entity('employer_account')
export class EmployerAccount {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('text') bankAccountId!: string;
  /** The identity at the bank that holds the account. */
  @Column('text') bankUserId!: string;
  @Column('text') debtorName!: string;
  @Column('text') ibanSealed!: string;
  @Column('bytea') ibanHash!: Buffer;
  @Column('text', { nullable: true }) bic!: string | null;
  @Column('text') currency!: 'EUR';
  @Column('text') bankStatus!: string;
  /** When another status was kept last, by the clock of the database; null where that is not known. */
  @Column('timestamptz', { nullable: true }) bankStatusAt!: Date | null;
  /** The reads the bank was found to allow. */
  @Column('text', { array: true }) reads!: BankRead[];
  /** Whether the bank counts its pages from 0 or from 1; null until it was learnt. */
  @Column('smallint', { nullable: true }) pageBase!: 0 | 1 | null;
  @Column('timestamptz', { nullable: true }) probedAt!: Date | null;
  /** The unit of amounts in which the bank's balance equalled the one a person typed. */
  @Column('text', { nullable: true }) unitConfirmed!: 'minor' | 'major' | null;
  @Column('timestamptz', { nullable: true }) unitConfirmedAt!: Date | null;
  @Column('uuid', { nullable: true }) unitConfirmedBy!: string | null;
  /** Set when the employer stopped paying from it: the row stays for what it has paid. */
  @Column('timestamptz', { nullable: true }) detachedAt!: Date | null;
  @Column('timestamptz') createdAt!: Date;
}

/** A read by which an instruction can be checked before its submit. */
export type BankRead = 'INSTRUCTION' | 'INSTRUCTION_PAYMENTS' | 'PAYMENT_LIST' | 'PAYMENT' | 'BALANCE';

/** A user identity at the bank whose events reach this service through its one hook. */
@Entity('bank_hook')
export class BankHook {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('text') bankHookId!: string;
  @PrimaryColumn('text') bankIdentityId!: string;
  @Column('timestamptz') associatedAt!: Date;
  /** Set when the employer gave its events up; the bank has no call that ends an association. */
  @Column('timestamptz', { nullable: true }) removedAt!: Date | null;
}
