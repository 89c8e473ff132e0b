import {
  type BankClientError,
  BankError,
  BankUnreachable,
  NotAllowed,
  RateLimited,
} from '../../src/bank/errors';
import { askBank, readToDecide } from '../../src/employer/bank-problem';
import type { EmployerAccount } from '../../src/employer/employer.entity';
import { DECIDED } from '../../src/employer/instruction-at-bank';
import type { FaultsInARow } from '../../src/employer/faults-in-a-row';
import type { Problem } from '../../src/http/problem';
import { MovedClock } from '../support/payroll';
import { faultsOf, readsOf } from '../support/reads-of';

type Read = () => Promise<unknown>;

/** What is told of a read at these seconds after 10:00, at a service that is patient for ten minutes; undefined once it is read. */
async function toldOf(
  seconds: readonly number[],
  readBy: (faults: FaultsInARow) => Read,
): Promise<(string | undefined)[]> {
  const clock = new MovedClock();
  const now = jest.spyOn(clock, 'now');
  const read = readBy(faultsOf(clock, 600_000));
  const told: (string | undefined)[] = [];
  for (const second of seconds) {
    // To the millisecond: a clock that is moved goes on by itself.
    now.mockReturnValue(new Date(Date.UTC(2026, 10, 27, 10) + second * 1_000));
    const detail = await readToDecide(read).catch((problem: Problem) => problem.detail);
    told.push(typeof detail === 'string' ? detail : undefined);
  }
  return told;
}

/** The same, of one that fails so. */
const toldAt = (seconds: readonly number[], error: BankClientError) =>
  toldOf(seconds, (faults) => () => faults.counting('payments of 4711', () => Promise.reject(error)));

it('tells an interim answer that this client does not take from a bank that cannot be reached', async () => {
  const told = (why: string) => askBank(() => Promise.reject(new BankUnreachable(why, true)));
  await expect(told('interim-answer')).rejects.toMatchObject({
    code: 'BANK_ANSWER_UNUSABLE',
    detail: 'The bank gave an interim answer (100) that this client does not take.',
  });
  await expect(told('ECONNRESET')).rejects.toMatchObject({ code: 'BANK_UNAVAILABLE' });
});

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

  it('is told of one more moment where many payments fail alike, those behind the first few for the first time', async () => {
    const bankIds = Array.from({ length: 40 }, (_, n) => [String(901 + n)] as const);
    const at = { bankInstructionId: '4711', createdAt: new Date(), bankIds, isNamedBy: () => false };
    const account = { reads: ['PAYMENT'] } as unknown as EmployerAccount;
    const readAll = (faults: FaultsInARow) => {
      const getPayment = () => Promise.reject(new BankError(409, raw));
      const reads = readsOf({ getPayment }, faults);
      return () => reads.read(account, { ...at, ...DECIDED });
    };
    const told = await toldOf([0, 150, 300, 450, 600, 700, 750], readAll);
    expect(told[3]).toContain('This read (payment 901) has failed 4 times in a row');
    expect(told[3]).toContain(
      'Try again from 2026-11-27T10:10:00Z on: it is waited for until it has failed at one more moment',
    );
    for (const [nth, times] of [
      [4, 'once'],
      [5, '2 times in a row'],
    ] as const) {
      expect(told[nth]).toContain(`This read (payment 906) has failed ${times}, since 2026-11-27T10:10:00Z.`);
      expect(told[nth]).toContain(
        'Try again from 2026-11-27T10:12:30Z on: it is waited for until it has failed at one more moment, each at least 150 seconds after the one before, until about 2026-11-27T10:12:30Z; then',
      );
    }
    expect(told[6]).toBeUndefined();
  });

  it('is told to try again where nothing says that it lasts', async () => {
    const [told] = await toldAt([0], new RateLimited(1_000));
    expect(told).toMatch(/^The bank could not be read: .+ 1000 ms. Try again\.$/);
  });
});
