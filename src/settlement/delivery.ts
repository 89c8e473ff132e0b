import { parse } from 'lossless-json';
import { writtenId } from '../bank/written-id';
import { withoutUnstorable } from '../domain/storable-text';

/** What is read of a delivery: ids only; nothing of it is believed. */
export interface Delivery {
  event: string;
  /** Its own id: the event's, or that of what it is about. */
  ownId?: string;
  /** Every id in its data that could name something of ours. */
  references: readonly string[];
}

/** Ids have been seen at two levels of `data`; deeper than this nothing is looked for. */
const MAX_DEPTH = 4;

/** More ids than this in one delivery are not looked up. */
const MAX_REFERENCES = 50;

/** Ids and IBANs are shorter; longer text is none. */
const MAX_REFERENCE_CHARACTERS = 64;
const MAX_NAME_CHARACTERS = 100;

/** What stands under such a name is money: an integer of it could be the id of anything. */
const MONEY = /amount|balance/i;

/** What an event without a name is called. */
const UNNAMED = 'unnamed';

/**
 * Reads a verified delivery (Events, Delivery). Only the event's name and ids are taken, and no amounts; a body in any
 * other shape is an event without a name. Numbers never pass through a float, which an id may exceed. What no text of the
 * database can hold is replaced by U+FFFD.
 */
export function readDelivery(body: Buffer): Delivery {
  const delivery = parsed(body);
  const references = new Set<string>();
  if (isRecord(delivery)) collect(delivery.data, references, 0);
  const event = isRecord(delivery) && typeof delivery.event === 'string' ? delivery.event : '';
  return {
    event: withoutUnstorable(event.slice(0, MAX_NAME_CHARACTERS)) || UNNAMED,
    ownId: isRecord(delivery) ? idOf(delivery.id) : undefined,
    references: [...references].slice(0, MAX_REFERENCES),
  };
}

function parsed(body: Buffer): unknown {
  try {
    return parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function collect(value: unknown, into: Set<string>, depth: number): void {
  if (typeof writtenId(value) === 'string') {
    const id = idOf(value);
    if (id !== undefined) into.add(id);
  } else if (depth < MAX_DEPTH && typeof value === 'object' && value !== null) {
    for (const [name, part] of Object.entries(value))
      if (!isMoney(name, value)) collect(part, into, depth + 1);
  }
}

function idOf(value: unknown): string | undefined {
  const id = writtenId(value);
  const fits = typeof id === 'string' && id.length > 0 && id.length <= MAX_REFERENCE_CHARACTERS;
  return fits ? withoutUnstorable(id) : undefined;
}

function isMoney(name: string, of: object): boolean {
  return MONEY.test(name) || (name === 'value' && Object.hasOwn(of, 'currency'));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
