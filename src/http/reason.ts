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
