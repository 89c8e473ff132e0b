import { append } from '../audit/audit';
import { Clock } from '../config/clock';
import { readDriverError } from '../config/driver-error';
import { dataSourceOptions, openDataSource } from '../database/data-source';
import { Database } from '../database/database';
import { giveUpHashKey } from '../database/kept-hash-key';
import { recordRestore } from '../database/restore-guard';
import { DAY_MS } from '../domain/durations';
import { ENTITIES } from '../entities';
import { EmployerRole } from '../http/allow';
import { readId, showId } from '../http/prefixed-id';
import { Person } from '../identity/person.entity';
import { IssuedKey, KnownKey, People } from '../identity/people.service';
import { CommandRefused } from './database';

/** SQLSTATE of a table that there is not. */
const UNDEFINED_TABLE = '42P01';
/** One command does one thing at a time. */
const POOL_SIZE = 2;

/**
 * Persons, keys and roles from the command line: whoever may connect to the database may make the first
 * administrator. Ids are as the API shows them; every change is audited as the service's own.
 */
export class Register {
  constructor(
    private readonly database: Database,
    private readonly people: People,
    private readonly clock: Clock,
  ) {}

  /** @returns the id. @throws DomainError PERSON_NAME_INVALID */
  createPerson(name: string, administrator: boolean): Promise<string> {
    return this.database.outsideEmployers(async (tx) => {
      const person = await this.people.createPerson(tx, name, administrator);
      const subject = showId('per', person.id);
      await append(tx, { action: 'person.created', subject, detail: { administrator } });
      return subject;
    });
  }

  /** Everybody, disabled people last. */
  async everybody(): Promise<Person[]> {
    const people = await this.database.outsideEmployers((tx) => this.people.everybody(tx));
    return people.map((person) => ({ ...person, id: showId('per', person.id) }));
  }

  /**
   * Ends every access of a person, at once and for good.
   * @returns false when the person was disabled already.
   * @throws DomainError PERSON_NOT_FOUND, LAST_ADMINISTRATOR; Problem 404
   */
  disablePerson(personId: string): Promise<boolean> {
    return this.database.outsideEmployers(async (tx) => {
      const disabled = await this.people.disablePerson(tx, readId('per', personId));
      if (disabled) await append(tx, { action: 'person.disabled', subject: personId, detail: {} });
      return disabled;
    });
  }

  /** The keys of a person, revoked ones last; no key can be read. @throws DomainError PERSON_NOT_FOUND; Problem 404 */
  async keysOf(personId: string): Promise<KnownKey[]> {
    const id = readId('per', personId);
    const keys = await this.database.outsideEmployers((tx) => this.people.keysOf(tx, id));
    return keys.map((key) => ({ ...key, id: showId('key', key.id) }));
  }

  /** The key can be read now and never again. @throws DomainError PERSON_NOT_FOUND, PERSON_DISABLED; Problem 404 */
  issueKey(personId: string, label: string, days: number): Promise<IssuedKey> {
    const expiresAt = new Date(this.clock.now().getTime() + days * DAY_MS);
    return this.database.outsideEmployers(async (tx) => {
      const issued = await this.people.issueKey(tx, readId('per', personId), label, expiresAt);
      const keyId = showId('key', issued.keyId);
      const detail = { personId, expiresAt: expiresAt.toISOString() };
      await append(tx, { action: 'key.issued', subject: keyId, detail });
      return { keyId, key: issued.key };
    });
  }

  /** @throws DomainError API_KEY_NOT_FOUND; Problem 404 */
  revokeKey(keyId: string): Promise<void> {
    return this.database.outsideEmployers(async (tx) => {
      await this.people.revokeKey(tx, readId('key', keyId));
      await append(tx, { action: 'key.revoked', subject: keyId, detail: {} });
    });
  }

  /** @returns false when the role was held already. @throws DomainError PERSON_NOT_FOUND, EMPLOYER_NOT_FOUND */
  grantRole(personId: string, employerId: string, role: EmployerRole): Promise<boolean> {
    return this.database.inEmployer(readId('emp', employerId), async (tx) => {
      const granted = await this.people.grantRole(tx, readId('per', personId), role);
      if (granted) await append(tx, { action: 'role.granted', subject: personId, detail: { role } });
      return granted;
    });
  }

  /** Says that the database was restored: the service, running or not, submits nothing until people resumed. */
  sayRestored(reason: string): Promise<void> {
    return this.database.outsideEmployers(async (tx) => {
      const what = `Whoever has the database says that it was restored: ${reason}.`;
      const restoreId = await recordRestore(tx, what, 'unknown');
      await append(tx, { action: 'service.restored', subject: 'service', detail: { reason, restoreId } });
    });
  }

  /** Says that `PAYRUN_HASH_KEY` is another one from the next start on. @returns false where none was kept yet */
  sayHashKeyChanged(reason: string): Promise<boolean> {
    return this.database.outsideEmployers(async (tx) => {
      const changed = await giveUpHashKey(tx);
      if (changed)
        await append(tx, { action: 'service.hash-key-changed', subject: 'service', detail: { reason } });
      return changed;
    });
  }

  /** @returns false when the role was not held. */
  revokeRole(personId: string, employerId: string, role: EmployerRole): Promise<boolean> {
    return this.database.inEmployer(readId('emp', employerId), async (tx) => {
      const revoked = await this.people.revokeRole(tx, readId('per', personId), role);
      if (revoked) await append(tx, { action: 'role.revoked', subject: personId, detail: { role } });
      return revoked;
    });
  }
}

/**
 * Opens the register of a database for `work`.
 * @param databaseUrl the application's role
 * @throws CommandRefused where the database has no tables yet
 */
export async function withRegister<T>(
  databaseUrl: string,
  work: (register: Register) => Promise<T>,
): Promise<T> {
  const dataSource = await openDataSource(dataSourceOptions(databaseUrl, ENTITIES, POOL_SIZE));
  const clock = new Clock();
  try {
    return await work(new Register(new Database(dataSource), new People(clock), clock));
  } catch (error) {
    if (readDriverError(error)?.sqlState !== UNDEFINED_TABLE) throw error;
    throw new CommandRefused(
      'The database has no tables yet: `npm run migrate`, or the first `npm start`, makes them.',
    );
  } finally {
    await dataSource.destroy();
  }
}
