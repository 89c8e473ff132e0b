import { IsNull, LessThan } from 'typeorm';
import { append } from '../audit/audit';
import { Json } from '../audit/audit-entry';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { PayFileProfile } from '../domain/pay-file-profile';
import { assertIfMatch } from '../http/etag';
import { notFound, showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { KeptProfile } from './profile.entity';

/** A group of companies has some payroll systems, each with a file for a few kinds of pay. */
const MAX_PROFILES = 100;

/** A profile under its name. */
export interface NamedProfile {
  name: string;
  definition: PayFileProfile;
}

/** The profile of this name that is not deleted. */
export function findProfileNamed({ manager, employerId }: EmployerTransaction, name: string) {
  return manager.findOneBy(KeptProfile, { employerId, name, deletedAt: IsNull() });
}

/** @throws Problem 404 `PAY_FILE_PROFILE_NOT_FOUND`, also for one that is deleted */
export async function findProfile(
  { manager, employerId }: EmployerTransaction,
  id: string,
  lock?: { mode: 'for_no_key_update' },
): Promise<KeptProfile> {
  const where = { employerId, id, deletedAt: IsNull() };
  const kept = await manager.findOne(KeptProfile, { where, lock });
  if (!kept) throw notFound('prf');
  return kept;
}

/** Profiles that are not deleted, the newest first, those older than `before`. */
export function listProfiles(
  { manager, employerId }: EmployerTransaction,
  before: string | undefined,
  limit: number,
): Promise<KeptProfile[]> {
  const where = { employerId, deletedAt: IsNull(), ...(before !== undefined && { id: LessThan(before) }) };
  return manager.find(KeptProfile, { where, order: { id: 'DESC' }, take: limit });
}

/** @throws Problem 409 `TOO_MANY_PROFILES`; breaks `one_profile_of_a_name` when another has the name */
export async function createProfile(
  tx: EmployerTransaction,
  personId: string,
  { name, definition }: NamedProfile,
): Promise<KeptProfile> {
  const { employerId } = tx;
  if ((await tx.manager.countBy(KeptProfile, { employerId, deletedAt: IsNull() })) >= MAX_PROFILES) {
    throw new Problem(409, 'TOO_MANY_PROFILES', `An employer has at most ${MAX_PROFILES} profiles.`);
  }
  const id = newId();
  await tx.query(
    `INSERT INTO pay_file_profile (employer_id, id, name, definition, created_by) VALUES ($1, $2, $3, $4, $5)`,
    [employerId, id, name, JSON.stringify(definition), personId],
  );
  await audit(tx, personId, 'created', id, { name, definition });
  return findProfile(tx, id);
}

/**
 * Replaces name and definition; files that were read keep what they were read by.
 * @throws Problem 404 `PAY_FILE_PROFILE_NOT_FOUND`, 412 `PRECONDITION_FAILED`; breaks `one_profile_of_a_name`
 */
export async function replaceProfile(
  tx: EmployerTransaction,
  personId: string,
  id: string,
  { name, definition }: NamedProfile,
  ifMatch: string | undefined,
): Promise<KeptProfile> {
  const kept = await findProfile(tx, id, { mode: 'for_no_key_update' });
  assertIfMatch(ifMatch, kept.revision);
  await tx.query(
    `UPDATE pay_file_profile SET name = $3, definition = $4, revision = revision + 1, changed_at = clock_timestamp()
     WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, id, name, JSON.stringify(definition)],
  );
  await audit(tx, personId, 'replaced', id, { name, definition });
  return findProfile(tx, id);
}

/** @throws Problem 404 `PAY_FILE_PROFILE_NOT_FOUND`, 412 `PRECONDITION_FAILED` */
export async function deleteProfile(
  tx: EmployerTransaction,
  personId: string,
  id: string,
  ifMatch: string | undefined,
): Promise<void> {
  const kept = await findProfile(tx, id, { mode: 'for_no_key_update' });
  assertIfMatch(ifMatch, kept.revision);
  await tx.query(
    `UPDATE pay_file_profile SET deleted_at = clock_timestamp() WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, id],
  );
  await append(tx, {
    personId,
    action: 'pay-file-profile.deleted',
    subject: showId('prf', id),
    detail: { name: kept.name },
  });
}

async function audit(
  tx: EmployerTransaction,
  personId: string,
  what: 'created' | 'replaced',
  id: string,
  { name, definition }: NamedProfile,
): Promise<void> {
  await append(tx, {
    personId,
    action: `pay-file-profile.${what}`,
    subject: showId('prf', id),
    // As the database keeps it: without members that are undefined.
    detail: { name, definition: JSON.parse(JSON.stringify(definition)) as Json },
  });
}
