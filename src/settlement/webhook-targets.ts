import { Transaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { validateIban } from '../domain/iban';

/** Something of an employer: the UUID of an account or an instruction. */
export interface Target {
  readonly employerId: string;
  readonly id: string;
}

/** What the ids of a delivery may name. Ids of different kinds may be equal, so this only ever wakes. */
export interface Targets {
  readonly accounts: readonly Target[];
  readonly instructions: readonly Target[];
}

/** What one id names. */
interface Named {
  reference: string;
  employer_id: string;
  id: string;
}

/**
 * Looks the ids of deliveries up, of all of them at once: accounts by their id, their IBAN or their holder at the bank,
 * instructions by their id or by one of their payments. Reads identifiers of every employer, so it is the worker role's.
 * @returns the deliveries, each with what it names
 */
export async function targetsOf<D extends { references: readonly string[] }>(
  worker: Transaction,
  personal: PersonalData,
  deliveries: readonly D[],
): Promise<(D & { targets: Targets })[]> {
  const references = [...new Set(deliveries.flatMap((one) => one.references))];
  const ibans = references.flatMap((reference) => {
    const checked = validateIban(reference);
    return checked.ok ? [{ reference, hash: personal.hash(checked.iban) }] : [];
  });
  const accounts = await worker.query<Named>(
    `SELECT bank_account_id AS reference, employer_id, id FROM employer_account
       WHERE detached_at IS NULL AND bank_account_id = ANY ($1)
     UNION SELECT bank_user_id, employer_id, id FROM employer_account
       WHERE detached_at IS NULL AND bank_user_id = ANY ($1)
     UNION SELECT i.reference, employer_id, id FROM unnest($2::text[], $3::bytea[]) AS i (reference, hash)
       JOIN employer_account ON iban_hash = i.hash WHERE detached_at IS NULL
     ORDER BY 2, 3`,
    [references, ibans.map(({ reference }) => reference), ibans.map(({ hash }) => hash)],
  );
  const instructions = await worker.query<Named>(
    `SELECT bank_payment_id AS reference, employer_id, instruction_id AS id FROM bank_payment
       WHERE bank_payment_id = ANY ($1)
     UNION SELECT bank_transaction_id, employer_id, instruction_id FROM bank_payment
       WHERE bank_transaction_id = ANY ($1)
     UNION SELECT bank_instruction_id, employer_id, id FROM instruction WHERE bank_instruction_id = ANY ($1)`,
    [references],
  );
  return deliveries.map((one) => {
    const mine = new Set(one.references);
    const targets = { accounts: namedBy(mine, accounts), instructions: namedBy(mine, instructions) };
    return { ...one, targets };
  });
}

/** Each once, by however many ids it is named. */
function namedBy(references: ReadonlySet<string>, all: readonly Named[]): Target[] {
  const named = all.filter(({ reference }) => references.has(reference));
  const targets = named.map(({ employer_id: employerId, id }) => [id, { employerId, id }] as const);
  return [...new Map(targets).values()];
}

/** The employers an event is shown to: of what its family is about, or of anything where that cannot be told. */
export function concernsOf(event: string, { accounts, instructions }: Targets): ReadonlySet<string> {
  const about = targetsOfFamily(event, accounts, instructions);
  return new Set(about.map(({ employerId }) => employerId));
}

function targetsOfFamily(
  event: string,
  accounts: readonly Target[],
  instructions: readonly Target[],
): readonly Target[] {
  const [family = ''] = event.split('.', 1);
  switch (family) {
    case 'account':
    case 'identity':
      return accounts;
    case 'payment_transaction':
      return instructions;
    default:
      return [...accounts, ...instructions];
  }
}
