import { Transaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { validateIban } from '../domain/iban';
import type { Delivery } from './delivery';

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

/** Families of events about payments alone. */
const OF_PAYMENTS: ReadonlySet<string> = new Set(['transaction', 'payment_transaction']);

/**
 * Looks the ids of deliveries up, of all of them at once: accounts by their id, their IBAN or their holder at the bank,
 * instructions by their id or by one of their payments. Reads identifiers of every employer, so it is the worker role's.
 * @returns the deliveries, each with what it names
 */
export async function targetsOf<D extends Delivery>(
  worker: Transaction,
  personal: PersonalData,
  deliveries: readonly D[],
): Promise<(D & { targets: Targets })[]> {
  const references = [...new Set(deliveries.flatMap((one) => [...withOwnId(one)]))];
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
  const named = (ids: ReadonlySet<string>) => ({
    accounts: namedBy(ids, accounts),
    instructions: namedBy(ids, instructions),
  });
  return deliveries.map((one) => ({ ...one, targets: targetsIn(one, named) }));
}

/**
 * What a delivery names. Its own id may be the event's, and by chance that of anything: it is taken only where its data names
 * nothing that the event is about, and then for nobody but whom the data names, if it names anybody. Of an account alone
 * no event about payments says which of them it is about.
 */
export function targetsIn(delivery: Delivery, named: (ids: ReadonlySet<string>) => Targets): Targets {
  const inData = named(new Set(delivery.references));
  const isNamed = isOfAccount(delivery.event)
    ? concernsOf(delivery.event, inData).size > 0
    : inData.instructions.length > 0;
  if (isNamed) return inData;
  const employers = new Set([...inData.accounts, ...inData.instructions].map(({ employerId }) => employerId));
  const fits = ({ employerId }: Target) => employers.size === 0 || employers.has(employerId);
  const { accounts, instructions } = named(withOwnId(delivery));
  return { accounts: accounts.filter(fits), instructions: instructions.filter(fits) };
}

function withOwnId({ ownId, references }: Delivery): ReadonlySet<string> {
  return new Set(ownId === undefined ? references : [...references, ownId]);
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

/** Whether an event may be about the accounts that it names, and not about what was paid alone. */
export function isOfAccount(event: string): boolean {
  return !OF_PAYMENTS.has(familyOf(event));
}

function familyOf(event: string): string {
  const [family = ''] = event.split('.', 1);
  return family;
}

function targetsOfFamily(
  event: string,
  accounts: readonly Target[],
  instructions: readonly Target[],
): readonly Target[] {
  switch (familyOf(event)) {
    case 'account':
    case 'identity':
      return accounts;
    case 'payment_transaction':
      return instructions;
    default:
      return [...accounts, ...instructions];
  }
}
