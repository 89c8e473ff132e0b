import { RawNumber } from '../json';
import type { Route } from './exchange';

/** Of every kind a reader could stumble over. */
const UNKNOWN = { sandboxExtension: { version: 2, notes: ['not in the document'], since: null, on: true } };

/** What a client sent to have it echoed: nobody adds to that. */
const ECHOED: ReadonlySet<string> = new Set(['externalData']);

/** The route with fields no document names in each object it answers with. */
export function withUnknownFields(route: Route): Route {
  return {
    ...route,
    handle: async (request) => {
      const answer = await route.handle(request);
      return { ...answer, body: extended(answer.body) };
    },
  };
}

function extended(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(extended);
  if (value === null || typeof value !== 'object' || value instanceof RawNumber) return value;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => [
    key,
    ECHOED.has(key) ? item : extended(item),
  ]);
  return { ...Object.fromEntries(entries), ...UNKNOWN };
}
