import type { BankErrorBody } from './errors';
import { maskBody, maskMessage } from './mask';

/** A stable code is a word; longer text may quote what was sent. */
const CODE = /^[A-Za-z][\w.:-]{0,63}$|^\d{1,6}$/;
const LONGEST_MESSAGE = 300;

/**
 * Reads `{code, message, hint?}`, the same under `error`, or anything else (Errors 4: shape not shown). Nothing
 * depends on it; what is kept is masked.
 */
export function errorBodyOf(text: string): BankErrorBody {
  const raw = maskBody(text);
  const outer = recordOf(parsed(text));
  const body = recordOf(outer?.['error']) ?? outer;
  if (!body) return { raw };
  const code = codeOf(body['code']) ?? codeOf(outer?.['error']);
  const said = [body['message'], body['hint']].map(textOf).filter((text) => text !== '');
  return { code, words: said.length > 0 ? said.join(' ') : undefined, raw };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function recordOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

function codeOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && CODE.test(text) ? text : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? maskMessage(value.slice(0, LONGEST_MESSAGE)).trim() : '';
}
