import {
  BankClientError,
  BankUnreachable,
  NotAllowed,
  RateLimited,
  TokenUnavailable,
  Unauthorised,
} from '../bank/errors';
import { Problem } from '../http/problem';

/** Reads the bank for a person who waits: what the bank fails in is told as a problem. @throws Problem 502, 503 */
export async function askBank<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof BankClientError ? bankProblem(error) : error;
  }
}

function bankProblem(error: BankClientError): Problem {
  const tell = (status: number, code: string, detail: string) =>
    new Problem(status, code, detail, {}, { cause: error });
  if (error instanceof Unauthorised || (error instanceof TokenUnavailable && error.refused)) {
    return tell(502, 'BANK_REFUSES_CREDENTIALS', 'The bank does not accept the credentials of this service.');
  }
  if (error instanceof NotAllowed) {
    return tell(502, 'BANK_DOES_NOT_ALLOW', 'The bank does not allow this service to read that.');
  }
  if (error instanceof BankUnreachable || error instanceof RateLimited || error instanceof TokenUnavailable) {
    return tell(503, 'BANK_UNAVAILABLE', 'The bank cannot be reached; try again in a moment.');
  }
  return tell(502, 'BANK_ANSWER_UNUSABLE', 'The bank answered something that cannot be used.');
}
