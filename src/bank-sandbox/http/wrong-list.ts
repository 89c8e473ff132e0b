import type { FaultScript } from '../faults';
import { ownIban } from '../iban';
import { corrupted, isObject } from './corruption';
import type { Answer } from './exchange';

/** Added to an id: beyond every id this process can give. */
const FOREIGN_IDS = 900_000_000;
const FOREIGN_ACCOUNT = 9_999_999_999;

/**
 * A list answer with one thing wrong at the middle record of its page. The envelope is left as it was: `count`
 * still tells the truth, and a page may be one longer than its `limit`. Every other answer, and a page without
 * records, comes back unchanged.
 */
export function wrongList(answer: Answer, { what = 'missing', field }: FaultScript): Answer {
  const { body } = answer;
  if (!isObject(body) || !Array.isArray(body.items) || body.items.length === 0) return answer;
  const records: unknown[] = body.items;
  const middle = records.length >> 1;
  const record = records[middle];
  const instead = {
    missing: () => [],
    twice: () => [record, field ? corrupted(record, field) : record],
    foreign: () => [record, foreign(record)],
    fee: () => [record, fee(record)],
    changed: () => [corrupted(record, field ?? 'amount')],
  }[what]();
  return { ...answer, body: { ...body, items: records.toSpliced(middle, 1, ...instead) } };
}

/** A record that looks like this one and is nobody's: other ids and messageId, nothing the client gave it. */
function foreign(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(foreign);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key]) => key !== 'externalData');
  return Object.fromEntries(entries.map(([key, item]) => [key, foreignField(key, item)]));
}

/** A fee that the bank books for a payment: a record of its own that names no payee. */
function fee(value: unknown): unknown {
  const record = foreign(value);
  if (!isObject(record) || !isObject(record.paymentTransactionInformation)) return record;
  const { paymentTransactionParties: _parties, paymentTransactionInformation, ...rest } = record;
  const { paymentTransactionIdentification, ...information } = paymentTransactionInformation;
  if (!isObject(paymentTransactionIdentification)) return record;
  const { messageId: _messageId, endToEndId: _endToEndId, ...named } = paymentTransactionIdentification;
  return {
    ...rest,
    paymentTransactionInformation: {
      ...information,
      paymentTransactionIdentification: named,
      transactionType: 'FEE',
    },
  };
}

function foreignField(key: string, value: unknown): unknown {
  if (key === 'links') return [];
  if (key === 'iban') return ownIban(FOREIGN_ACCOUNT);
  if (key === 'messageId') return 'of-nobody';
  if (key !== 'id' && key !== 'paymentInstructionId') return foreign(value);
  if (typeof value === 'number') return value + FOREIGN_IDS;
  return typeof value === 'string' ? `9${value}` : foreign(value);
}
