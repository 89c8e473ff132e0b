import { ConfigurationError } from '../config/env';
import { Database, Transaction } from './database';
import { newId } from './new-id';
import { PersonalData } from './personal-data';

/** No name and no IBAN: its hash is not among those that are compared. */
const HASHED = 'PAYRUN_HASH_KEY';

/**
 * Keeps by which key names and IBANs are hashed, at the first start; later starts have the same one.
 * @throws ConfigurationError under another key: hashes of two keys never match, and who was paid already is not found
 */
export async function assertHashKey(database: Database, personal: PersonalData): Promise<void> {
  const fingerprint = personal.hash(HASHED);
  const isKept = await database.outsideEmployers(async (tx) => {
    await tx.query('INSERT INTO hash_key (id, fingerprint) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      newId(),
      fingerprint,
    ]);
    const kept = await tx.query('SELECT FROM hash_key WHERE given_up_at IS NULL AND fingerprint = $1', [
      fingerprint,
    ]);
    return kept.length > 0;
  });
  if (isKept) return;
  throw new ConfigurationError(
    [
      'PAYRUN_HASH_KEY is not the key by which names and IBANs are hashed in this database: nobody would be found to be paid already.',
      'Give the service the key that belongs to the data, which is kept with its backups.',
      'If it was changed on purpose, stop every process of Payrun and say so: npm run payrun -- hash-key-changed "why".',
    ].join('\n'),
  );
}

/** From here on the key of the next start is kept. @returns false where none was kept yet */
export async function giveUpHashKey(tx: Transaction): Promise<boolean> {
  const givenUp = await tx.query(
    'UPDATE hash_key SET given_up_at = clock_timestamp() WHERE given_up_at IS NULL RETURNING id',
  );
  return givenUp.length > 0;
}
