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
/** More people than any installation lets in; the disabled are listed last, so it is they who would be left out. */
const MAX_REGISTERED_PEOPLE = 10_000;
/** A new key every other day, for as long as the oldest of them may be good. */
const MAX_LISTED_KEYS = 2_000;

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

/** What is known of a key once it was issued; the key itself is not. */
export type KnownKey = Pick<ApiKey, 'id' | 'label' | 'createdAt' | 'expiresAt' | 'revokedAt'>;

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

  /** Everybody, disabled people last, by name. */
  async everybody(tx: Transaction): Promise<Person[]> {
    return tx.manager.find(Person, {
      order: { disabledAt: { direction: 'ASC', nulls: 'FIRST' }, name: 'ASC', id: 'ASC' },
      take: MAX_REGISTERED_PEOPLE,
    });
  }

  /**
   * Ends every access of a person, at once and for good.
   * @returns false when the person was disabled already.
   * @throws DomainError PERSON_NOT_FOUND, LAST_ADMINISTRATOR where nobody else could make an employer or grant a role.
   */
  async disablePerson(tx: Transaction, personId: string): Promise<boolean> {
    const { administrator, disabledAt } = await this.findPerson(tx, personId);
    if (disabledAt !== null) return false;
    if (administrator) await requireAnotherAdministrator(tx, personId);
    const when = { id: personId, disabledAt: IsNull() };
    const { affected } = await tx.manager.update(Person, when, { disabledAt: this.clock.now() });
    return affected === 1;
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

  /** The keys of a person, revoked ones last, the newest first. @throws DomainError PERSON_NOT_FOUND. */
  async keysOf(tx: Transaction, personId: string): Promise<KnownKey[]> {
    await this.findPerson(tx, personId);
    return tx.query<KnownKey>(
      `SELECT id, label, created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt"
       FROM api_key WHERE person_id = $1
       ORDER BY revoked_at IS NOT NULL, created_at DESC, id DESC LIMIT ${MAX_LISTED_KEYS}`,
      [personId],
    );
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

/** Locks every enabled administrator, so that of two people who disable one another one is refused. */
async function requireAnotherAdministrator(tx: Transaction, personId: string): Promise<void> {
  const enabled = await tx.query<{ id: string }>(
    'SELECT id FROM person WHERE administrator AND disabled_at IS NULL ORDER BY id FOR UPDATE',
  );
  if (enabled.some(({ id }) => id !== personId)) return;
  throw new DomainError(
    'LAST_ADMINISTRATOR',
    'This is the last administrator who is not disabled: make another one first, with person create and --administrator.',
  );
}
