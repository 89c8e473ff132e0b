import { BankClientError, BankError, BankUnreachable, ReadInPart } from '../../src/bank/errors';
import { ReadsInParts } from '../../src/employer/reads-in-parts';
import { MovedClock } from '../support/payroll';
import { faultsOf } from '../support/reads-of';

const MINUTE_MS = 60_000;
const PATIENCE_MS = 10 * MINUTE_MS;
const refused = new BankError(409, { raw: '' });
const unanswered = new BankUnreachable('total-timeout', true);
const range = (n: number) => Array.from({ length: n }, (_, id) => ({ id }));

/** Requests of one process for the same instructions, each read of which takes so long, or fails until it does for good. */
function requestsFor(all: readonly { id: number }[], takesMs: number, failing = new Map<number, Error>()) {
  const clock = new MovedClock();
  const faults = faultsOf(clock, PATIENCE_MS);
  const inParts = new ReadsInParts<{ id: number }, string>(clock);
  const reads: number[] = [];
  const read = async ({ id }: { id: number }): Promise<string> => {
    reads.push(id);
    clock.offsetMs += takesMs;
    const failure = failing.get(id);
    if (!failure) return `shown ${id}`;
    // Each failure is an error of its own, as of a call.
    const error: BankClientError = Object.assign(Object.create(failure) as BankClientError, {});
    return faults
      .counting(`instruction ${id}`, () => Promise.reject(error))
      .catch(() => {
        if (error.isForGood) return `hidden ${id}`;
        throw error;
      });
  };
  const request = (some = all) => inParts.each(some, read);
  return { clock, reads, request };
}

/** Asks until it is answered, each time when it is told to. @returns the answer, and how often it was asked for */
async function askedUntilAnswered({ clock, request }: ReturnType<typeof requestsFor>) {
  for (let asked = 1; asked < 1_000; asked += 1) {
    const answer = await request().catch((error: unknown) => error);
    if (Array.isArray(answer)) return { answer: answer as string[], asked };
    if (!(answer instanceof BankClientError)) throw answer;
    if (answer.inARow) clock.set(new Date(Math.max(answer.inARow.nextMs, clock.now().getTime())));
  }
  throw new Error('it does not end');
}

describe('the reads that a person’s decision rests on', () => {
  it('are all made by one request where they take no longer', async () => {
    const { request, reads } = requestsFor(range(3), 5_000);
    expect(await request()).toEqual(['shown 0', 'shown 1', 'shown 2']);
    expect(await request()).toHaveLength(3);
    expect(reads).toEqual([0, 1, 2, 0, 1, 2]);
  });

  it('are made once each by as many requests as they take, in the order they have', async () => {
    const requests = requestsFor(range(9), 15_000);
    const { answer, asked } = await askedUntilAnswered(requests);
    expect(answer).toEqual(range(9).map(({ id }) => `shown ${id}`));
    expect(asked).toBe(5);
    expect(requests.reads).toEqual(range(9).map(({ id }) => id));
  });

  it('go on with one each time, where each takes longer than a request may', async () => {
    const { asked } = await askedUntilAnswered(requestsFor(range(39), 45_000));
    expect(asked).toBe(39);
  });

  it('say how many were made', async () => {
    const { request } = requestsFor(range(9), 15_000);
    for (const made of [2, 4])
      await expect(request()).rejects.toMatchObject({
        constructor: ReadInPart,
        message: `of 9 reads ${made} were made in the time that one request may take`,
      });
  });

  it('say how many were made and how many failed, and with what', async () => {
    const { request } = requestsFor(range(9), 15_000, new Map([[0, refused]]));
    for (const made of [1, 3])
      await expect(request()).rejects.toMatchObject({
        constructor: ReadInPart,
        message: `of 9 reads ${made} were made in the time that one request may take, and 1 failed (The bank answered 409)`,
      });
  });

  it('are made once each of what is shown, however often another fails', async () => {
    const all = range(60);
    const requests = requestsFor(all, 4_500, new Map([[3, refused]]));
    const { asked } = await askedUntilAnswered(requests);
    expect(all.map(({ id }) => requests.reads.filter((read) => read === id).length)).toEqual(
      all.map(({ id }) => (id === 3 ? 5 : 1)),
    );
    expect(asked).toBeLessThanOrEqual(12 + 5);
  });

  it('never tell to come back at a moment that is past', async () => {
    const requests = requestsFor(range(20), 15_000, new Map([[0, refused]]));
    const told: boolean[] = [];
    await askedUntilAnswered({
      ...requests,
      request: () =>
        requests.request().catch((error: BankClientError) => {
          if (error.inARow) told.push(error.inARow.nextMs > requests.clock.now().getTime());
          throw error;
        }),
    });
    expect(told.length).toBeGreaterThan(0);
    expect(told).not.toContain(false);
  });

  it('tell a failure that nobody counts, once each was tried', async () => {
    const clock = new MovedClock();
    const inParts = new ReadsInParts<{ id: number }, string>(clock);
    const request = () =>
      inParts.each(range(2), () => {
        clock.offsetMs += 25_000;
        return Promise.reject(new BankError(500, { raw: '' }));
      });
    await expect(request()).rejects.toBeInstanceOf(ReadInPart);
    await expect(request()).rejects.toBeInstanceOf(BankError);
    await expect(request()).rejects.toBeInstanceOf(BankError);
  });

  it('tell a failure that lasts for good, however long each takes', async () => {
    const clock = new MovedClock();
    const faults = faultsOf(clock, PATIENCE_MS);
    const inParts = new ReadsInParts<{ id: number }, string>(clock);
    const read = ({ id }: { id: number }) => {
      clock.offsetMs += MINUTE_MS;
      return faults.counting(`instruction ${id}`, () => Promise.reject(new BankError(500, { raw: '' })));
    };
    let told: unknown;
    for (let asked = 0; asked < 40 && !(told instanceof BankError); asked += 1)
      told = await inParts.each(range(4), read).catch((error: unknown) => error);
    expect(told).toMatchObject({ status: 500, isForGood: true });
  });

  it('are shared by requests at one time, and nothing of them is left to the next decision', async () => {
    const { request, reads } = requestsFor(range(3), 1_000);
    const shown = ['shown 0', 'shown 1', 'shown 2'];
    expect(await Promise.all([request(), request(), request()])).toEqual([shown, shown, shown]);
    expect(reads.splice(0)).toEqual([0, 1, 2]);
    expect(await request()).toEqual(shown);
    expect(reads).toEqual([0, 1, 2]);
  });

  it('are made again where one that requests shared was not answered', async () => {
    const failing = new Map([[1, unanswered]]);
    const { request, reads } = requestsFor(range(3), 1_000, failing);
    const answers = await Promise.allSettled([request(), request()]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    failing.clear();
    expect(await request()).toHaveLength(3);
    expect(reads).toEqual([0, 1, 1, 2]);
  });

  it.each([
    ['at one time where it refuses them', refused, 3_000, 5, 12],
    ['at one time where it refuses them slowly', refused, 25_000, 30, 15],
    // Over an hour, in which the earliest of them are read once more.
    ['each after the other where it does not answer', unanswered, 25_000, 30 + 6, 75],
  ])('end where the bank fails for good in each: %s', async (_, failure, takesMs, most, minutes) => {
    const all = range(6);
    const failing = new Map(all.map(({ id }) => [id, failure]));
    const requests = requestsFor(all, takesMs, failing);
    const { answer, asked } = await askedUntilAnswered(requests);
    expect(answer).toEqual(all.map(({ id }) => `hidden ${id}`));
    expect(asked).toBeLessThanOrEqual(most);
    expect(requests.clock.offsetMs).toBeLessThanOrEqual(minutes * MINUTE_MS);
  });

  it('end where some are shown slowly, others refused, and others not answered', async () => {
    const all = range(12);
    const failing = new Map<number, Error>([2, 5, 8].map((id) => [id, refused]));
    for (const id of [3, 11]) failing.set(id, unanswered);
    const { answer, asked } = await askedUntilAnswered(requestsFor(all, 25_000, failing));
    expect(answer.map((one) => one.startsWith('hidden'))).toEqual(all.map(({ id }) => failing.has(id)));
    // All of them five times, and four times more what is waited for by itself.
    expect(asked).toBeLessThanOrEqual(5 * all.length + 4 * 2);
  });

  it('begin anew of what has changed in the record', async () => {
    const { reads, request } = requestsFor(range(3), 15_000);
    await request().catch(() => undefined);
    await request([{ id: 0, status: 'moved' } as { id: number }, ...range(3).slice(1)]);
    expect(reads).toEqual([0, 1, 0, 2]);
  });

  it('begin anew of what was read half an hour ago, also where it was asked for meanwhile', async () => {
    const { clock, reads, request } = requestsFor(range(9), 15_000);
    await request().catch(() => undefined);
    clock.offsetMs += 20 * MINUTE_MS;
    await request().catch(() => undefined);
    clock.offsetMs += 11 * MINUTE_MS;
    await request().catch(() => undefined);
    expect(reads).toEqual([0, 1, 2, 3, 0, 1]);
  });
});
