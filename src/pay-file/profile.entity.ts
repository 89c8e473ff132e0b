import { Column, Entity, PrimaryColumn } from 'typeorm';
import { bigintColumn } from '../database/transformers';
import { PayFileProfile } from '../domain/pay-file-profile';

/** What an employer said of the files of one payroll system. */
@Entity('pay_file_profile')
export class KeptProfile {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  @Column('jsonb') definition!: PayFileProfile;
  /** Counts the replacements; the entity tag of the API. */
  @Column('bigint', { transformer: bigintColumn }) revision!: bigint;
  @Column('uuid') createdBy!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') changedAt!: Date;
  @Column('timestamptz', { nullable: true }) deletedAt!: Date | null;
}
