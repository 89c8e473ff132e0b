import { isDeepStrictEqual } from 'node:util';
import { EmployerTransaction } from '../database/database';
import { Encoding } from '../domain/pay-file-encoding';
import { NO_PROFILE, PayFileProfile } from '../domain/pay-file-profile';
import { Problem } from '../http/problem';
import { ReadAs } from './pay-file.entity';
import { findProfileNamed } from './profile.store';
import { UploadFields, UploadOfPeriod } from './terms';

/** How one file is read. */
export interface Reading {
  profile: PayFileProfile;
  profileId: string | null;
  /** What is kept of it with the file. */
  readAs: ReadAs;
}

/**
 * The profile an upload names, under the encoding it says.
 * @throws Problem 422 `PROFILE_UNKNOWN`
 */
export async function reading(
  tx: EmployerTransaction,
  said: { profile?: string; encoding?: Encoding },
): Promise<Reading> {
  const encoding = said.encoding === undefined ? {} : { encoding: said.encoding };
  if (said.profile === undefined) {
    return { profile: { ...NO_PROFILE, ...encoding }, profileId: null, readAs: encoding };
  }
  const kept = await findProfileNamed(tx, said.profile);
  if (!kept) throw new Problem(422, 'PROFILE_UNKNOWN', 'The employer has no profile of this name.');
  const profile = { ...kept.definition, ...encoding };
  return { profile, profileId: kept.id, readAs: profile };
}

/** The fields with the period of the profile where the upload names none. @throws Problem 422 `PERIOD_MISSING` */
export function completeFields(fields: UploadFields, { profile }: Reading): UploadOfPeriod {
  const period = fields.period ?? profile.constants.period;
  if (period !== undefined) return { ...fields, period };
  throw new Problem(422, 'PERIOD_MISSING', 'Neither the upload nor its profile names the period.');
}

/** Whether two files were read alike. */
export function sameReading(one: ReadAs, other: ReadAs): boolean {
  return isDeepStrictEqual(plain(one), plain(other));
}

/** As it is after a trip through the database, which keeps no member that is undefined. */
function plain(value: ReadAs): unknown {
  return JSON.parse(JSON.stringify(value));
}
