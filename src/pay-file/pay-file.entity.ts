import { Column, Entity, PrimaryColumn } from 'typeorm';
import { bigintColumn } from '../database/transformers';
import { FaultPolicy } from '../domain/fault-policy';
import { PayFileProfile } from '../domain/pay-file-profile';

/** A profile as it is kept with a file that it read; empty where nothing was said. */
export type ReadAs = Partial<PayFileProfile>;

/** A file that became a pay run, kept as it was uploaded. */
@Entity('pay_file')
export class PayFile {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('bytea') sha256!: Buffer;
  @Column('bigint', { transformer: bigintColumn }) sizeBytes!: bigint;
  /** The bytes, compressed; read in parts by `sendContent`. */
  @Column('bytea', { select: false }) content!: Buffer;
  @Column('text') contentCodec!: 'gzip';
  @Column('text', { nullable: true }) fileName!: string | null;
  @Column('text') period!: string;
  @Column('text') kindOfPay!: string;
  @Column('date') executionDate!: string;
  @Column('uuid') accountId!: string;
  @Column('integer') rowCount!: number;
  @Column('bigint', { transformer: bigintColumn }) totalMinor!: bigint;
  /** Rows that pay again what earlier payments did not. */
  @Column('integer') replacing!: number;
  /** Rows whose name is sent otherwise than it was written. */
  @Column('integer') renamed!: number;
  @Column('uuid') payRunId!: string;
  /** Whether the same upload again is answered with this one; false once its run is cancelled. */
  @Column('boolean') replayable!: boolean;
  @Column('uuid') uploadedBy!: string;
  @Column('uuid', { nullable: true }) profileId!: string | null;
  /** What was said of the file when it was read: the profile as it was then, under the encoding of the upload. */
  @Column('jsonb') readAs!: ReadAs;
  /** The employer's policy when it was taken. */
  @Column('jsonb') faultPolicy!: FaultPolicy;
  @Column('timestamptz') uploadedAt!: Date;
}
