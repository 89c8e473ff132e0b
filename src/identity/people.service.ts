import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { Clock } from '../config/clock';
import { EmployerTransaction, Transaction } from '../database/database';
import { newId } from '../database/new-id';
import { DomainError } from '../domain/errors';
import { EmployerRole } from '../http/allow';
import { hashOfKey, makeKey } from './api-key';
import { ApiKey, Person, PersonRole } from './person.entity';

const MAX_NAME_CHARACTERS = 140;
/** More people than work on one employer's payroll. */
const MAX_LISTED_PEOPLE = 1_000;

/** A key at the only moment when it can be read. */
export interface IssuedKey {
  readonly keyId: string;
  readonly key: string;
}

/** A person with the roles held at one employer. */
export interface PersonWithRoles {
  readonly id: string;
  readonly name: string;
  readonly disabled: boolean;
  readonly roles: EmployerRole[];
}

/** Persons, their keys and roles. Works inside the caller's transaction, so that the audit entry commits with it. */
@Injectable()
export class People {
  constructor(private readonly clock: Clock) {}

  /** @throws DomainError PERSON_NAME_INVALID when the name is empty or longer than 140 characters. */
  async createPerson(tx: Transaction, name: string, administrator = false): Promise<Person> {
    const trimmed = name.trim();
    if (trimmed === '' || trimmed.length > MAX_NAME_CHARACTERS) {
      throw new DomainError('PERSON_NAME_INVALID', 'A name has 1 to 140 characters.');
    }
    const now = this.clock.now();
    const person = {
      id: newId(now.getTime()),
      name: trimmed,
      administrator,
      createdAt: now,
      disabledAt: null,
    };
    await tx.manager.insert(Person, person);
    return person;
  }

  /** Ends every access of a person, at once and for good. @throws DomainError PERSON_NOT_FOUND. */
  async disablePerson(tx: Transaction, personId: string): Promise<void> {
    await this.findPerson(tx, personId);
    const when = { id: personId, disabledAt: IsNull() };
    await tx.manager.update(Person, when, { disabledAt: this.clock.now() });
  }

  /**
   * Gives a person a role at the transaction's employer.
   * @returns false when it was held already.
   * @throws DomainError PERSON_NOT_FOUND, PERSON_DISABLED, EMPLOYER_NOT_FOUND.
   */
  async grantRole(tx: EmployerTransaction, personId: string, role: EmployerRole): Promise<boolean> {
    const person = await this.findPerson(tx, personId);
    if (person.disabledAt !== null) throw new DomainError('PERSON_DISABLED', 'The person is disabled.');
    const employers = await tx.query('SELECT FROM employer WHERE id = $1', [tx.employerId]);
    if (employers.length === 0) throw new DomainError('EMPLOYER_NOT_FOUND', 'There is no such employer.');
    const granted = await tx.query(
      `INSERT INTO person_role (employer_id, person_id, role, granted_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT DO NOTHING RETURNING role`,
      [tx.employerId, personId, role, this.clock.now()],
    );
    return granted.length === 1;
  }

  /** Takes a role back. @returns false when it was not held. */
  async revokeRole(tx: EmployerTransaction, personId: string, role: EmployerRole): Promise<boolean> {
    const result = await tx.manager.delete(PersonRole, { employerId: tx.employerId, personId, role });
    return result.affected === 1;
  }

  /** Everybody who holds a role at the transaction's employer, by name. */
  async peopleOfEmployer(tx: EmployerTransaction): Promise<PersonWithRoles[]> {
    return tx.query<PersonWithRoles>(
      `SELECT p.id, p.name, p.disabled_at IS NOT NULL AS disabled, array_agg(r.role ORDER BY r.role) AS roles
       FROM person_role r JOIN person p ON p.id = r.person_id
       WHERE r.employer_id = $1 GROUP BY p.id ORDER BY p.name, p.id LIMIT ${MAX_LISTED_PEOPLE}`,
      [tx.employerId],
    );
  }

  /** Makes a key; what is returned is never shown again. @throws DomainError PERSON_NOT_FOUND, PERSON_DISABLED. */
  async issueKey(tx: Transaction, personId: string, label: string, expiresAt?: Date): Promise<IssuedKey> {
    const person = await this.findPerson(tx, personId);
    if (person.disabledAt !== null) throw new DomainError('PERSON_DISABLED', 'The person is disabled.');
    const now = this.clock.now();
    const key = makeKey();
    const keyId = newId(now.getTime());
    await tx.manager.insert(ApiKey, {
      id: keyId,
      personId,
      keyHash: hashOfKey(key),
      label,
      createdAt: now,
      expiresAt: expiresAt ?? null,
      revokedAt: null,
    });
    return { keyId, key };
  }

  /** Makes a key useless from the next request on; may be repeated. @throws DomainError API_KEY_NOT_FOUND. */
  async revokeKey(tx: Transaction, keyId: string): Promise<void> {
    const key = await tx.manager.findOneBy(ApiKey, { id: keyId });
    if (key === null) throw new DomainError('API_KEY_NOT_FOUND', 'There is no such API key.');
    await tx.manager.update(ApiKey, { id: keyId, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
  }

  private async findPerson(tx: Transaction, personId: string): Promise<Person> {
    const person = await tx.manager.findOneBy(Person, { id: personId });
    if (person === null) throw new DomainError('PERSON_NOT_FOUND', 'There is no such person.');
    return person;
  }
}
