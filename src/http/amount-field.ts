import { z } from 'zod';
import { AmountBounds, parseDecimalAmount } from '../domain/money';

/** A field that holds an amount as plain digits, read into minor units; refused outside the bounds. */
export function amountField(bounds: AmountBounds): z.ZodType<bigint, string> {
  return z.string().transform((text, context) => {
    const parsed = parseDecimalAmount(text, bounds);
    if (parsed.ok) return parsed.amountMinor;
    context.addIssue({ code: 'custom', message: 'must be an amount such as 1234.50' });
    return z.NEVER;
  });
}
