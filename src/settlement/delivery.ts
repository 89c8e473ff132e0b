import { isLosslessNumber, parse } from 'lossless-json';
import type { Delivery } from './webhook-inbox';

/** Ids have been seen at two levels of `data`; deeper than this nothing is looked for. */
const MAX_DEPTH = 4;

/** More ids than this in one delivery are not looked up. */
const MAX_REFERENCES = 50;

/**
 * Reads a verified delivery (Events, Delivery). Only the event's name and ids are taken; a body in any other shape
 * is an event without a name. Numbers stay the text they were, since an id may exceed a float.
 */
export function readDelivery(body: Buffer): Delivery {
  const delivery = parsed(body);
  const references = new Set<string>();
  if (isRecord(delivery)) {
    collect(delivery.id, references, MAX_DEPTH);
    collect(delivery.data, references, 0);
  }
  const named = isRecord(delivery) && typeof delivery.event === 'string';
  const event = named ? String(delivery.event).slice(0, 100) : 'unnamed';
  return { event, references: [...references].slice(0, MAX_REFERENCES) };
}

function parsed(body: Buffer): unknown {
  try {
    return parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function collect(value: unknown, into: Set<string>, depth: number): void {
  if (typeof value === 'string' && value.length > 0 && value.length <= 64) into.add(value);
  else if (isLosslessNumber(value)) into.add(value.value);
  else if (depth < MAX_DEPTH && typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) collect(part, into, depth + 1);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
