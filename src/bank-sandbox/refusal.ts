/** The bank says no: an HTTP status, a stable code and a sentence without personal data. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export const notFound = (what: string): Refusal => new Refusal(404, 'NOT_FOUND', `${what} not found`);
export const unprocessable = (code: string, message: string): Refusal => new Refusal(422, code, message);
export const conflict = (code: string, message: string): Refusal => new Refusal(409, code, message);
export const badRequest = (message: string): Refusal => new Refusal(400, 'BAD_REQUEST', message);
export const untimely = (): Refusal =>
  unprocessable('INSTRUCTION_BUSY', 'the customer instruction takes no payment now');
