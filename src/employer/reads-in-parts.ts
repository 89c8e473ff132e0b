import { createHash } from 'node:crypto';
import { type Answer, allShown, answerOf, failuresOf, ReadInPart } from '../bank/errors';
import { Clock } from '../config/clock';
import { MINUTE_MS } from '../domain/durations';

/** A request begins no further read after so long: it is answered before a proxy gives up, within a minute as a rule. */
const REQUEST_READS_MS = 20_000;

/**
 * So long after a read began, what it showed is of use to the next request: a submit that rests on it reads all of it
 * again. Longer than a read that fails is waited for, as delivered.
 */
const KEPT_MS = 30 * MINUTE_MS;

interface Reading<R> {
  beganMs: number;
  answer: Promise<Answer<R>>;
  /** The answer, once it is there. */
  came?: Answer<R>;
}

type Keyed<T> = readonly (readonly [key: string, one: T])[];

/**
 * The reads that a person's decision rests on, where these may take longer than one request: the next request for the same
 * goes on where the one before it ended, until each was shown. It comes to an end where all reads together, by a person who
 * asks again at once, take less than half an hour: 90 requests of 20 s. Each process goes on with what it read itself only:
 * of several behind a balancer each reads all, and as many times the requests may be needed.
 */
export class ReadsInParts<T extends object, R> {
  /** Reads for requests that no answer brought to an end yet, by all that is known of what is read. */
  private readonly kept = new Map<string, Reading<R>>();

  constructor(private readonly clock: Clock) {}

  /**
   * As `readEach`, but for what was shown already: one at least is read each time, first what was not read before. What
   * another request reads just now is waited for.
   * @throws ReadInPart where some are left to the next request, BankClientError
   */
  async each(all: readonly T[], read: (one: T) => Promise<R>): Promise<R[]> {
    const mayGoOn = this.clock.within(REQUEST_READS_MS);
    const byKey = new Map(all.map((one) => [keyOf(one), one]));
    const answers = this.takeUp(byKey.keys());
    const left = this.inOrder([...byKey].filter(([key]) => !isShown(answers.get(key))));
    for (const [n, [key, one]] of left.entries()) {
      if (n > 0 && !mayGoOn()) throw this.told(answers, left.slice(n), byKey.size);
      answers.set(key, await this.once(key, () => read(one)));
    }
    const shown = allShown(among(answers, [...byKey]));
    for (const key of byKey.keys()) this.kept.delete(key);
    return shown;
  }

  /** What earlier reads of these came to. */
  private takeUp(keys: Iterable<string>): Map<string, Answer<R>> {
    const nowMs = this.clock.now().getTime();
    for (const [key, { beganMs }] of this.kept) if (nowMs - beganMs > KEPT_MS) this.kept.delete(key);
    const answers = new Map<string, Answer<R>>();
    for (const key of keys) {
      const came = this.kept.get(key)?.came;
      if (came) answers.set(key, came);
    }
    return answers;
  }

  /** What failed comes last, that of the earliest first: it keeps no other from being read. */
  private inOrder(keyed: Keyed<T>): Keyed<T> {
    const failedMs = (key: string) => {
      const reading = this.kept.get(key);
      return reading?.came ? reading.beganMs : 0;
    };
    return keyed.toSorted(([a], [b]) => failedMs(a) - failedMs(b));
  }

  /** The answer of the read under way, or of one that showed it, or else of a new one. */
  private async once(key: string, read: () => Promise<R>): Promise<Answer<R>> {
    const before = this.kept.get(key);
    if (before && (!before.came || isShown(before.came))) return before.answer;
    const reading: Reading<R> = { beganMs: this.clock.now().getTime(), answer: answerOf(read()) };
    this.kept.set(key, reading);
    try {
      reading.came = await reading.answer;
      return reading.came;
    } catch (error) {
      this.kept.delete(key);
      throw error;
    }
  }

  /** The earliest failure, once all that is left failed, for good or so that it is waited for; else that it is to be asked again. */
  private told(answers: ReadonlyMap<string, Answer<R>>, left: Keyed<T>, of: number): Error {
    const nowMs = this.clock.now().getTime();
    const failures = failuresOf(among(answers, left));
    const waitedFor = failures.filter(
      ({ inARow, isForGood }) => !inARow || isForGood || inARow.nextMs > nowMs,
    );
    if (waitedFor[0] && waitedFor.length === left.length) return waitedFor[0];
    const failed = failuresOf([...answers.values()]);
    return new ReadInPart({ read: answers.size - failed.length, failed, of }, KEPT_MS);
  }
}

function isShown(answer: Answer<unknown> | undefined): boolean {
  return answer !== undefined && 'shown' in answer;
}

function among<R>(answers: ReadonlyMap<string, Answer<R>>, keyed: Keyed<unknown>): Answer<R>[] {
  return keyed.flatMap(([key]) => answers.get(key) ?? []);
}

/** What has changed in the record meanwhile is read anew. */
function keyOf(one: object): string {
  const written = JSON.stringify(one, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return createHash('sha256').update(written).digest('base64');
}
