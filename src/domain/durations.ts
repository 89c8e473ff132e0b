/** Lengths of time in milliseconds; a day is one of 24 hours, whatever clocks do in it. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
