import { readDriverError } from './driver-error';

/** Enough to find a fault by; a message is no place for more. */
const MAX_MESSAGE_CHARACTERS = 300;
const MAX_STACK_LINES = 20;
const MAX_CAUSES = 3;
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b/g;

/** What of an error goes to the log. */
export interface DescribedError {
  readonly type: string;
  readonly message?: string;
  readonly code?: string;
  readonly constraint?: string;
  readonly table?: string;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

/**
 * An error for the log, without personal data: messages of the database and of JSON parsers are left out because
 * they quote what was written, IBANs in other messages become country and last four, and only the frames of the
 * stack are kept.
 */
export function describeError(error: unknown, causes = MAX_CAUSES): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error };
  const driver = readDriverError(error);
  return {
    type: error.constructor.name,
    ...(driver === undefined && !(error instanceof SyntaxError) && { message: maskMessage(error.message) }),
    ...(driver !== undefined && {
      code: driver.sqlState,
      constraint: driver.constraint,
      table: driver.table,
    }),
    stack: framesOf(error),
    ...(error.cause !== undefined && causes > 0 && { cause: describeError(error.cause, causes - 1) }),
  };
}

function maskMessage(message: string): string {
  return message
    .replace(IBAN, (iban) => `${iban.slice(0, 2)}…${iban.replaceAll(' ', '').slice(-4)}`)
    .slice(0, MAX_MESSAGE_CHARACTERS);
}

function framesOf(error: Error): string {
  const lines = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return lines.slice(0, MAX_STACK_LINES).join('\n');
}
