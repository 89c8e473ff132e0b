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

/**
 * Looks the ids of a delivery up: accounts by their id, their IBAN or their holder at the bank, instructions by their
 * id or by one of their payments. Reads identifiers of every employer, so it is the worker role's.
 */
export async function targetsOf(
  worker: Transaction,
  personal: PersonalData,
  references: readonly string[],
): Promise<Targets> {
  const ibanHashes = references.flatMap((reference) => {
    const checked = validateIban(reference);
    return checked.ok ? [personal.hash(checked.iban)] : [];
  });
  const accounts = await worker.query<{ employer_id: string; id: string }>(
    `SELECT employer_id, id FROM employer_account WHERE detached_at IS NULL AND bank_account_id = ANY ($1)
     UNION SELECT employer_id, id FROM employer_account WHERE detached_at IS NULL AND bank_user_id = ANY ($1)
     UNION SELECT employer_id, id FROM employer_account WHERE detached_at IS NULL AND iban_hash = ANY ($2)
     ORDER BY 1, 2`,
    [references, ibanHashes],
  );
  const instructions = await worker.query<{ employer_id: string; id: string }>(
    `SELECT employer_id, instruction_id AS id FROM bank_payment WHERE bank_payment_id = ANY ($1)
     UNION SELECT employer_id, instruction_id FROM bank_payment WHERE bank_transaction_id = ANY ($1)
     UNION SELECT employer_id, id FROM instruction WHERE bank_instruction_id = ANY ($1)`,
    [references],
  );
  return { accounts: accounts.map(targetOf), instructions: instructions.map(targetOf) };
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

function targetOf(row: { employer_id: string; id: string }): Target {
  return { employerId: row.employer_id, id: row.id };
}
