import { isLosslessNumber } from 'lossless-json';
import { parseScaled } from '../domain/money';

const PLAIN = /^\d+$/;

/**
 * An id as the text it is known by: of a number the digits of the integer, as JSON does not tell `10` from `10.0` or `1e1`.
 * What is no number, or none that is an integer, stays as it came.
 */
export function writtenId(value: unknown): unknown {
  if (!isLosslessNumber(value)) return value;
  if (PLAIN.test(value.value)) return value.value;
  return parseScaled(value.value, 0)?.toString() ?? value.value;
}
