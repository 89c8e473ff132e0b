import { ErrorRequestHandler, json, raw, RequestHandler } from 'express';
import { isStorable } from '../domain/storable-text';
import { Problem } from './problem';

/** The largest JSON body, an amendment that names ten thousand payments, has 400 kB. */
const MAX_JSON_BYTES = 1_048_576;
/** A delivery of the bank has a few hundred bytes; this leaves room for what the interface does not show. */
const MAX_WEBHOOK_BYTES = 262_144;

const REFUSALS: Readonly<Record<string, Problem>> = {
  'entity.parse.failed': new Problem(
    400,
    'JSON_INVALID',
    'The body is not valid JSON, or a text in it holds NUL or half a character.',
  ),
  'entity.too.large': new Problem(413, 'BODY_TOO_LARGE', 'The body is larger than this address takes.'),
  'encoding.unsupported': new Problem(415, 'ENCODING_UNSUPPORTED', 'This content encoding is not supported.'),
  'charset.unsupported': new Problem(415, 'CHARSET_UNSUPPORTED', 'This character set is not supported.'),
};

/** Webhooks keep their bytes, because the signature covers them. To be mounted at `/webhooks`. */
export function webhookBody(): RequestHandler {
  return raw({ type: () => true, limit: MAX_WEBHOOK_BYTES });
}

/** Parses JSON and nothing else: uploads reach their route as a stream that nobody has read. */
export function jsonBody(): RequestHandler {
  return json({ type: 'application/json', limit: MAX_JSON_BYTES, reviver: storable });
}

function storable(name: string, value: unknown): unknown {
  if (!isStorable(name) || (typeof value === 'string' && !isStorable(value)))
    throw new SyntaxError('a text cannot be stored');
  return value;
}

/** Names what a parser refused; its own message quotes the body. */
export const refusedBody: ErrorRequestHandler = (error: unknown, _request, _response, next) => {
  const type = error instanceof Error && 'type' in error ? String(error.type) : '';
  const refusal = Object.hasOwn(REFUSALS, type) ? REFUSALS[type] : undefined;
  next(refusal ?? new Problem(400, 'BODY_UNREADABLE', 'The body could not be read.'));
};
