import { type BankClientError, BankError, NotAllowed, RateLimited } from '../../src/bank/errors';
import { readToDecide } from '../../src/employer/bank-problem';
import { MovedClock } from '../support/payroll';
import { faultsOf } from '../support/reads-of';

/** What is told of a read that fails at these seconds after 10:00, at a service that is patient for ten minutes. */
async function toldAt(seconds: readonly number[], error: BankClientError): Promise<string[]> {
  const clock = new MovedClock();
  const now = jest.spyOn(clock, 'now');
  const faults = faultsOf(clock, 600_000);
  const told: string[] = [];
  for (const second of seconds) {
    // To the millisecond: a clock that is moved goes on by itself.
    now.mockReturnValue(new Date(Date.UTC(2026, 10, 27, 10) + second * 1_000));
    const read = () => faults.counting('payments of 4711', () => Promise.reject(error));
    await readToDecide(read).catch(({ detail }: { detail: string }) => told.push(detail));
  }
  return told;
}

describe('a person whose decision waits for a read of the bank', () => {
  const raw = { raw: '' };

  it('is told which read fails, how often and since when, and when to come back for it to count as lasting', async () => {
    const [first, second, third] = await toldAt([0, 30, 150], new BankError(409, raw));
    expect(first).toBe(
      'The bank could not be read: The bank answered 409. This read (payments of 4711) has failed once, since 2026-11-27T10:00:00Z. Try again from 2026-11-27T10:02:30Z on: it is waited for until it has failed at 4 more moments, each at least 150 seconds after the one before, until about 2026-11-27T10:10:00Z; then what the bank says in writing (evidence) goes before it. Others that fail are waited for alike.',
    );
    expect(second).toContain('has failed 2 times in a row, since 2026-11-27T10:00:00Z. Try again from');
    expect(second).toContain('until it has failed at 4 more moments');
    expect(third).toContain('Try again from 2026-11-27T10:05:00Z on');
    expect(third).toContain('until it has failed at 3 more moments');
    expect(third).toContain('until about 2026-11-27T10:10:00Z;');
  });

  it('is told that only the bank’s word in writing goes before what fails for good, or is hidden', async () => {
    const lasting = (await toldAt([0, 150, 300, 450, 600], new BankError(409, raw))).at(-1);
    const last = ' What the bank says in writing (evidence) is needed: nothing else goes before this read.';
    expect(lasting).toBe(
      `The bank could not be read: The bank answered 409. This read (payments of 4711) has failed 5 times in a row, since 2026-11-27T10:00:00Z.${last}`,
    );
    const [hidden] = await toldAt([0], new NotAllowed(403, raw));
    expect(hidden).toBe(`The bank could not be read: The bank answered 403.${last}`);
  });

  it('is told to try again where nothing says that it lasts', async () => {
    const [told] = await toldAt([0], new RateLimited(1_000));
    expect(told).toMatch(/^The bank could not be read: .+ 1000 ms. Try again\.$/);
  });
});
