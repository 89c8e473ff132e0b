import { Column, Entity, PrimaryColumn } from 'typeorm';
import { bigintColumn } from '../database/transformers';
import type { PayRunStatus } from '../domain/pay-run';
import { AttentionAction as Action, AttentionKind } from './attention-words';

/** A record that a question is about, by the bank's id, and its euros in minor units: nothing where it is of none. */
export interface AskedRecord {
  id: string;
  minor: string;
  /** Of money that came in: the row it names, 0 for a payment that its instruction does not have; null where it names none. Absent where only what was kept was written down. */
  row?: number | null;
}

/** A refusal of our access that a question is about: of a run, and of an instruction where one was asked for. */
export interface AskedRefusal {
  runId: string;
  instructionId?: string;
  /** Whether the bank hides what was submitted; `words` is then its refusal only, and else all that is told. */
  isHidden: boolean;
  words: string;
  /** Payments whose adds were forbidden, where it may be that they are, and not our access. */
  forbidden?: readonly string[];
  /** The state of the run when it was refused; absent where it had something to send. */
  runWas?: PayRunStatus;
}

/** The rows of an instruction that a question is about by one status, as received, or by what of them cannot be read. */
export interface AskedRows {
  status: string;
  rows: readonly number[];
}

/** What an account lost at once, of which several runs are asked: of each, it may be all, some or nothing. In minor units. */
export interface AskedLoss {
  /** The same in every question about it. */
  id: string;
  payments: number;
  minor: string;
}

/** Something a person must decide: what happened, what is certain, what to ask the bank. */
@Entity('attention')
export class Attention {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('text') kind!: AttentionKind;
  @Column('uuid', { nullable: true }) payRunId!: string | null;
  @Column('uuid', { nullable: true }) instructionId!: string | null;
  @Column('uuid', { nullable: true }) paymentId!: string | null;
  /** What it is about: the payment, instruction, run, account or employer. At most one is open per kind. */
  @Column('uuid') subjectId!: string;
  @Column('text') happened!: string;
  /** The bank's own on a refusal, masked; they may name a person. */
  @Column('text', { nullable: true }) bankWords!: string | null;
  @Column('text') certain!: string;
  @Column('text') askBank!: string;
  @Column('integer') payments!: number;
  @Column('bigint', { transformer: bigintColumn }) amountMinor!: bigint;
  /** What the balance fell short by, in minor units; null where no balance is asked about. */
  @Column('bigint', { transformer: bigintColumn, nullable: true }) lackingMinor!: bigint | null;
  /** Of what moved besides the rows of a run; null where nothing of that is asked about. */
  @Column('jsonb', { nullable: true }) records!: AskedRecord[] | null;
  /** How payments differ from what was approved, each in its words; null where that is not asked about, or was not kept yet. */
  @Column('text', { array: true, nullable: true }) differing!: readonly string[] | null;
  /** Of access that the bank refuses; null where that is not asked about, or was not kept yet. */
  @Column('jsonb', { nullable: true }) refusals!: AskedRefusal[] | null;
  /** Where people decide what statuses mean, or on charges: of which rows; null where that is not asked about, or was not kept yet. */
  @Column('jsonb', { nullable: true }) askedRows!: readonly AskedRows[] | null;
  /** What the bank shows, or seems to have paid, beyond the approved payments; negative where it is less. */
  @Column('integer', { nullable: true }) beyondPayments!: number | null;
  /** The same in minor units. */
  @Column('bigint', { transformer: bigintColumn, nullable: true }) beyondMinor!: bigint | null;
  /** Of which loss of its account it is asked, where others are asked of it too; null where none is, or that was not kept yet. */
  @Column('jsonb', { nullable: true }) loss!: AskedLoss | null;
  @Column('timestamptz') openedAt!: Date;
  @Column('timestamptz', { nullable: true }) resolvedAt!: Date | null;
  @Column('text', { nullable: true }) resolution!: string | null;
}

/** What one person proposed to do about it, and who confirmed it. */
@Entity('attention_action')
export class AttentionActionRow {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') attentionId!: string;
  @Column('text') action!: Action;
  @Column('text') reason!: string;
  /** The bank's written reference, where the action rests on one. */
  @Column('text', { nullable: true }) evidence!: string | null;
  /** Of which payments the meaning of a status is decided; null for every other action. */
  @Column('uuid', { array: true, nullable: true }) paymentIds!: string[] | null;
  /** The status that each of them had then; null where no status is decided on. */
  @Column('text', { array: true, nullable: true }) paymentStatuses!: string[] | null;
  @Column('uuid') proposedBy!: string;
  @Column('timestamptz') proposedAt!: Date;
  @Column('uuid', { nullable: true }) confirmedBy!: string | null;
  @Column('timestamptz', { nullable: true }) confirmedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) withdrawnAt!: Date | null;
}
