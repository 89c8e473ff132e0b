import { z } from 'zod';
import { formatMinor, MAX_AMOUNT_MINOR, MAX_TOTAL_MINOR } from '../domain/money';
import { amountField } from '../http/amount-field';
import { Employer } from './employer.entity';

/**
 * What the employer lets be paid without a second look, and how far ahead at all, as the columns of an employer hold it;
 * null: anything.
 */
export type PayLimits = Pick<
  Employer,
  'paymentLimitMinor' | 'runLimitMinor' | 'increaseLimitBp' | 'daysAheadLimit'
>;

export const NO_LIMITS: PayLimits = {
  paymentLimitMinor: null,
  runLimitMinor: null,
  increaseLimitBp: null,
  daysAheadLimit: null,
};

/** A hundredfold; what rises further is not a raise. */
const MAX_INCREASE_BP = 1_000_000;

/** A payroll is prepared weeks ahead, not years; the bank's closing days further on are not known either. */
export const MAX_DAYS_AHEAD = 366;
/** Over Easter the next banking day is five days ahead. */
const MIN_DAYS_AHEAD = 7;

/** A change of limits: what is null is no longer limited, what is absent stays. */
export const payLimitsField = z.strictObject({
  payment: amountField({ minMinor: 1n, maxMinor: MAX_AMOUNT_MINOR }).nullable().optional(),
  run: amountField({ minMinor: 1n, maxMinor: MAX_TOTAL_MINOR }).nullable().optional(),
  increaseBasisPoints: z.int().min(0).max(MAX_INCREASE_BP).nullable().optional(),
  daysAhead: z.int().min(MIN_DAYS_AHEAD).max(MAX_DAYS_AHEAD).nullable().optional(),
});

const shown = z.string().nullable();

/** The limits as the outside sees them. */
export const payLimitsBody = z
  .object({
    payment: shown,
    run: shown,
    increaseBasisPoints: z.int().nullable(),
    daysAhead: z.int().nullable(),
  })
  .describe(
    'What is above is held: a payment, a run, or a payment this far above the median of the last ones of its employee. A run that is to be executed more days ahead is refused.',
  );

/** The limits after a change. */
export function changedLimits(
  limits: PayLimits,
  { payment, run, increaseBasisPoints, daysAhead }: z.infer<typeof payLimitsField>,
): PayLimits {
  return {
    paymentLimitMinor: payment === undefined ? limits.paymentLimitMinor : payment,
    runLimitMinor: run === undefined ? limits.runLimitMinor : run,
    increaseLimitBp: increaseBasisPoints === undefined ? limits.increaseLimitBp : increaseBasisPoints,
    daysAheadLimit: daysAhead === undefined ? limits.daysAheadLimit : daysAhead,
  };
}

/** Whether a limit was raised or taken away. */
export function isLooser(before: PayLimits, after: PayLimits): boolean {
  const looser = <T extends bigint | number>(old: T | null, now: T | null): boolean =>
    old !== null && (now === null || now > old);
  return (
    looser(before.paymentLimitMinor, after.paymentLimitMinor) ||
    looser(before.runLimitMinor, after.runLimitMinor) ||
    looser(before.increaseLimitBp, after.increaseLimitBp) ||
    looser(before.daysAheadLimit, after.daysAheadLimit)
  );
}

/** Shows the limits of an employer. */
export function showLimits(limits: PayLimits): z.infer<typeof payLimitsBody> {
  const amount = (minor: bigint | null): string | null => (minor === null ? null : formatMinor(minor));
  return {
    payment: amount(limits.paymentLimitMinor),
    run: amount(limits.runLimitMinor),
    increaseBasisPoints: limits.increaseLimitBp,
    daysAhead: limits.daysAheadLimit,
  };
}
