import { parse } from 'lossless-json';
import { writtenId } from '../bank/written-id';
import { withoutUnstorable } from '../domain/storable-text';
import type { Delivery } from './webhook-inbox';

/** Ids have been seen at two levels of `data`; deeper than this nothing is looked for. */
const MAX_DEPTH = 4;

/** More ids than this in one delivery are not looked up. */
const MAX_REFERENCES = 50;

/** Ids and IBANs are shorter; longer text is none. */
const MAX_REFERENCE_CHARACTERS = 64;
const MAX_NAME_CHARACTERS = 100;

/** What an event without a name is called. */
const UNNAMED = 'unnamed';

/**
 * Reads a verified delivery (Events, Delivery). Only the event's name and ids are taken; a body in any other shape
 * is an event without a name. Numbers never pass through a float, which an id may exceed. What no text of the
 * database can hold is replaced by U+FFFD.
 */
export function readDelivery(body: Buffer): Delivery {
  const delivery = parsed(body);
  const references = new Set<string>();
  if (isRecord(delivery)) {
    collect(delivery.id, references, MAX_DEPTH);
    collect(delivery.data, references, 0);
  }
  const event = isRecord(delivery) && typeof delivery.event === 'string' ? delivery.event : '';
  return {
    event: withoutUnstorable(event.slice(0, MAX_NAME_CHARACTERS)) || UNNAMED,
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
  const id = writtenId(value);
  if (typeof id === 'string') {
    if (id.length > 0 && id.length <= MAX_REFERENCE_CHARACTERS) into.add(withoutUnstorable(id));
  } else if (depth < MAX_DEPTH && typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) collect(part, into, depth + 1);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
