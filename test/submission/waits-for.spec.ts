import { BankError, BankUnreachable, RateLimited, TokenUnavailable } from '../../src/bank/errors';
import type { Outcome } from '../../src/bank/outcome';
import { UNREMEMBERED, waitingAfter, waitsForOf } from '../../src/submission/waits-for';

const PATH = '/api/service-domain/v1/customer-instructions/credit-transfers';
const LIMITED = '(BANK_REQUESTS_PER_MINUTE is to be set to as many requests as the bank takes)';

describe('what a run waits for, in words', () => {
  it.each<[string, Outcome<unknown>, string]>([
    [
      'no connection',
      { kind: 'no', reason: 'not-sent', why: 'ECONNREFUSED' },
      `POST ${PATH}: nothing was sent (ECONNREFUSED)`,
    ],
    [
      'no token',
      { kind: 'no', reason: 'not-sent', why: 'No access token (status 500)' },
      `POST ${PATH}: nothing was sent (No access token (status 500))`,
    ],
    [
      'no turn',
      { kind: 'no', reason: 'not-sent', why: 'rate-budget' },
      `POST ${PATH}: nothing was sent (the rate limit allowed none) ${LIMITED}`,
    ],
    [
      'the rate limit',
      { kind: 'no', reason: 'rate-limited', status: 429, error: new BankError(429, { raw: '' }) },
      `POST ${PATH}: The bank answered 429 ${LIMITED}`,
    ],
    ['no answer', { kind: 'in-doubt', why: 'total-timeout' }, `POST ${PATH}: no whole answer in time`],
    [
      'a witness that cannot be written',
      { kind: 'no', reason: 'not-sent', why: UNREMEMBERED },
      'this service: RESTORE_WITNESS_FILE could not be written',
    ],
  ])('names the call and its failure: %s', (_, outcome, waitsFor) => {
    expect(waitingAfter(PATH, outcome, 2_000)).toEqual({ inMs: 2_000, waitsFor });
  });

  it('names a read where it is known, and nothing of an error of our own', () => {
    const unreachable = new BankUnreachable('ENOTFOUND', false);
    unreachable.call = 'GET /api/distributor/v1/accounts/1';
    expect(waitsForOf(unreachable)).toBe(
      'GET /api/distributor/v1/accounts/1: The bank could not be reached (ENOTFOUND)',
    );
    expect(waitsForOf(new BankUnreachable('UND_ERR_RES_CONTENT_LENGTH_MISMATCH', true))).toBe(
      'The bank could not be reached (an answer that was cut off)',
    );
    expect(waitsForOf(new TokenUnavailable('total-timeout', false))).toBe(
      'No access token (no whole answer in time)',
    );
    expect(waitsForOf(new TokenUnavailable('ECONNREFUSED', false))).toBe('No access token (ECONNREFUSED)');
    const refused = new RateLimited(60_000);
    expect(waitsForOf(refused)).toBe(`The bank's rate limit is reached; wait 60000 ms ${LIMITED}`);
    refused.call = unreachable.call;
    expect(waitsForOf(refused)).toMatch(/^GET \S+: The bank's rate limit .* \(BANK_REQUESTS_PER_MINUTE /);
    expect(waitsForOf(new Error('Jane Doe earns 2500'))).toBe('this service: an error that its log tells');
  });
});
