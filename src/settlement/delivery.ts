import type { Delivery } from './webhook-inbox';

/** Ids have been seen at two levels of `data`; deeper than this nothing is looked for. */
const MAX_DEPTH = 4;

/** More ids than this in one delivery are not looked up. */
const MAX_REFERENCES = 50;

/**
 * Reads a verified delivery (Events, Delivery). Only the event's name and ids are taken; a body in any other shape
 * is an event without a name. Numbers are read as the text they were, since an id may exceed a float.
 */
export function readDelivery(body: Buffer): Delivery {
  const parsed = parse(body);
  const references = new Set<string>();
  if (isRecord(parsed)) {
    collect(parsed.id, references, MAX_DEPTH);
    collect(parsed.data, references, 0);
  }
  const event = isRecord(parsed) && typeof parsed.event === 'string' ? parsed.event.slice(0, 100) : 'unnamed';
  return { event, references: [...references].slice(0, MAX_REFERENCES) };
}

function parse(body: Buffer): unknown {
  // Long digit runs outside strings become strings, so that no id is rounded on its way through a float.
  const text = body.toString('utf8').replace(/([:[,]\s*)(\d{1,40})(?=\s*[,}\]])/g, '$1"$2"');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function collect(value: unknown, into: Set<string>, depth: number): void {
  if (typeof value === 'string' && value.length > 0 && value.length <= 64) into.add(value);
  else if (typeof value === 'number') into.add(String(value));
  else if (depth < MAX_DEPTH && typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) collect(part, into, depth + 1);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
