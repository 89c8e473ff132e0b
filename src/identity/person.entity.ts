import { Column, Entity, PrimaryColumn } from 'typeorm';
import { EmployerRole } from '../http/allow';

/** Somebody who acts. Approvals and audit name persons, never keys. */
@Entity('person')
export class Person {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  @Column('boolean') administrator!: boolean;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) disabledAt!: Date | null;
}

/** A key a person's program signs in with; only its SHA-256 is stored. */
@Entity('api_key')
export class ApiKey {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') personId!: string;
  @Column('bytea') keyHash!: Buffer;
  @Column('text') label!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz', { nullable: true }) revokedAt!: Date | null;
}

/** A role a person holds at an employer. */
@Entity('person_role')
export class PersonRole {
  @PrimaryColumn('uuid') employerId!: string;
  @PrimaryColumn('uuid') personId!: string;
  @PrimaryColumn('text') role!: EmployerRole;
  @Column('timestamptz') grantedAt!: Date;
}
