import { Column, Entity, PrimaryColumn } from 'typeorm';
import { bigintColumn } from '../database/transformers';
import { InstructionStatus } from '../domain/instruction';

/** A share of a run's rows, fixed before the approval. At most one submit is ever attempted for it. */
@Entity('planned_instruction')
export class PlannedInstruction {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') payRunId!: string;
  @Column('integer') runVersion!: number;
  @Column('integer') ordinal!: number;
  @Column('integer') firstRow!: number;
  @Column('integer') lastRow!: number;
  @Column('integer') rowCount!: number;
  @Column('bigint', { transformer: bigintColumn }) totalMinor!: bigint;
  @Column('bytea') rowHash!: Buffer;
}

/** One attempt to build a planned instruction at the bank. */
@Entity('instruction')
export class Instruction {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') payRunId!: string;
  @Column('uuid') plannedInstructionId!: string;
  @Column('integer') attempt!: number;
  @Column('text') status!: InstructionStatus;
  @Column('text', { nullable: true }) bankInstructionId!: string | null;
  @Column('text', { nullable: true }) bankStatus!: string | null;
  @Column('smallint') bankRank!: number;
  @Column('timestamptz', { nullable: true }) verifiedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) submittedAt!: Date | null;
  /** When the bank's count and sum of the submitted instruction were found equal to the plan. */
  @Column('timestamptz', { nullable: true }) totalsCheckedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) closedAt!: Date | null;
  /** When the last read after its end began that showed all its payments. */
  @Column('timestamptz', { nullable: true }) paymentsReadAt!: Date | null;
  /** When it was last found taken up, or a payment of it a step further, though it had been seen to be ended. */
  @Column('timestamptz', { nullable: true }) wentOnAt!: Date | null;
  @Column('text', { nullable: true }) outcome!: 'SETTLED' | 'PARTLY_SETTLED' | 'FAILED' | null;
  @Column('text', { nullable: true }) endedReason!: string | null;
  @Column('timestamptz') createdAt!: Date;
}

/** The one submit of a planned instruction, written down before it is sent. */
@Entity('submit_attempt')
export class SubmitAttempt {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') plannedInstructionId!: string;
  @Column('uuid') instructionId!: string;
  @Column('text') bankInstructionId!: string;
  @Column('bytea') rowHash!: Buffer;
  @Column('bigint', { transformer: bigintColumn }) epoch!: bigint;
  @Column('timestamptz') attemptedAt!: Date;
  @Column('text', { nullable: true }) outcome!: 'EXECUTED' | 'REFUSED' | 'IN_DOUBT' | 'PROVEN_UNSENT' | null;
  @Column('text', { nullable: true }) outcomeDetail!: string | null;
  @Column('timestamptz', { nullable: true }) finishedAt!: Date | null;
  /** How many restores of the database were known when it was made: the database sets it. */
  @Column({ type: 'integer', insert: false, update: false }) knownRestores?: number;
}

export type AddOutcome = 'ADDED' | 'ADOPTED' | 'IN_DOUBT' | 'REFUSED';

/** What the bank answered for one row of one instruction, and the bank's status of it, as received. */
@Entity('bank_payment')
export class BankPaymentRow {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') instructionId!: string;
  @PrimaryColumn('integer') rowNo!: number;
  @Column('uuid') paymentId!: string;
  @Column('text', { nullable: true }) bankPaymentId!: string | null;
  @Column('text', { nullable: true }) bankTransactionId!: string | null;
  @Column('text') addOutcome!: AddOutcome;
  /** The status of an answer that leaves it in doubt. */
  @Column('text', { nullable: true }) addDoubt!: string | null;
  @Column('text', { nullable: true }) bankStatus!: string | null;
  @Column('text', { nullable: true }) shownStatus!: string | null;
  @Column('timestamptz', { nullable: true }) behindSince!: Date | null;
  @Column('timestamptz', { nullable: true }) moreBackSince!: Date | null;
  /** The fields that are shown otherwise than they were sent, by commas. */
  @Column('text', { nullable: true }) shownOtherwise!: string | null;
  @Column('boolean') chargesUnread!: boolean;
  /** The id of the record of money that came in and names it; null while none was seen. */
  @Column('text', { nullable: true }) cameBackAs!: string | null;
  @Column('smallint') bankRank!: number;
  @Column('timestamptz', { nullable: true }) bankStatusAt!: Date | null;
  @Column('timestamptz', { nullable: true }) lastSeenAt!: Date | null;
}
