import type { CorruptibleField } from '../faults';
import { electronicIban } from '../iban';
import { RawNumber } from '../json';

/** Where the document's records have a field, and where in what stands there it is when that is an object. */
const PLACES: Readonly<Record<CorruptibleField, { keys: readonly string[]; inner: readonly string[] }>> = {
  amount: { keys: ['instructedAmount', 'calculatedAmount', 'balance', 'availableBalance'], inner: ['value'] },
  currency: {
    keys: ['instructedAmount', 'calculatedAmount', 'balance', 'availableBalance', 'currency'],
    inner: ['currency'],
  },
  iban: { keys: ['creditor', 'debtor', 'iban'], inner: ['accountId', 'value'] },
  name: { keys: ['creditor', 'debtor', 'name'], inner: ['name'] },
  messageId: { keys: ['messageId'], inner: [] },
  id: { keys: ['id'], inner: ['value'] },
  status: { keys: ['status'], inner: ['value'] },
  charges: { keys: ['chargesAmount'], inner: ['currency'] },
  chargeBearer: { keys: ['chargeBearer'], inner: [] },
};

/** Examples of the IBAN registry: well-formed, so that only comparing finds them. */
const OTHER_IBAN = 'BE68539007547034';
const ANOTHER_IBAN = 'NL91ABNA0417164300';

/** A copy of parsed JSON in which one field, wherever it occurs but in a history, says something else. */
export function corrupted(value: unknown, field: CorruptibleField): unknown {
  if (Array.isArray(value)) return value.map((item) => corrupted(item, field));
  if (!isObject(value)) return value;
  const { keys, inner } = PLACES[field];
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key === 'history') return [key, item];
      return [key, keys.includes(key) ? otherwise(item, field, inner) : corrupted(item, field)];
    }),
  );
}

function otherwise(value: unknown, field: CorruptibleField, inner: readonly string[]): unknown {
  if (!isObject(value)) return otherLeaf(value, field);
  const [key, ...rest] = inner;
  if (key === undefined || !(key in value)) return value;
  return { ...value, [key]: otherwise(value[key], field, rest) };
}

function otherLeaf(value: unknown, field: CorruptibleField): unknown {
  if (typeof value === 'number') return value + 1;
  if (value instanceof RawNumber) return new RawNumber(`1${value.text}`);
  if (typeof value !== 'string') return value;
  if (field === 'iban') return electronicIban(value) === OTHER_IBAN ? ANOTHER_IBAN : OTHER_IBAN;
  if (field === 'chargeBearer') return 'DEBT';
  if (field === 'status') return value === 'SETTLED' ? 'FAILED' : 'SETTLED';
  // Another zero behind a decimal point would change nothing.
  return field === 'amount' ? `1${value}` : `${value}0`;
}

/** Whether parsed JSON is an object with keys. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof RawNumber)
  );
}
