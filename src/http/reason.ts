import { z } from 'zod';

/**
 * What a person writes for others to read: three characters at least, counted as the database counts them, and told as
 * one fault.
 */
export function words(mostCharacters: number): z.ZodString {
  return z
    .string()
    .trim()
    .min(3, { abort: true })
    .max(mostCharacters)
    .refine((text) => [...text].length >= 3, 'Too small: expected string to have >=3 characters');
}

/** Why something is done. */
export const reason = words(500);

/** Which stop a resume takes back, by when it was thrown, as it was read: none that was thrown since. */
export const stoppedAt = z.iso
  .datetime({ offset: true, error: 'must be when the stop was thrown that is taken back, as it was read' })
  .transform((text) => new Date(text))
  .describe(
    'Which stop this takes back, as it was read: `stopped.at` of a run, `stopped.since` of an employer, `changedAt` of the service. 409 OTHER_STOPS_STAND where another one stands.',
  );
