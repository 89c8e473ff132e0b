import { createHash } from 'node:crypto';
import { type Answer, allShown, answerOf, ReadInPart } from '../bank/errors';
import { Clock } from '../config/clock';
import { MINUTE_MS } from '../domain/durations';

/** A request begins no further read after so long: it is answered before a proxy gives up, within a minute as a rule. */
const REQUEST_READS_MS = 20_000;

/** So long after a request ended, what it read is of use to the next: a submit that rests on it reads all of it again. */
const KEPT_MS = 10 * MINUTE_MS;

/**
 * The reads that a person's decision rests on, where these may take longer than one request: the next request for the same
 * goes on where the one before it ended, until each was read once.
 */
export class ReadsInParts<T extends object, R> {
  /** What reads came to that no request has brought to an end yet, by all that is known of what was read. */
  private readonly kept = new Map<string, { answer: Answer<R>; atMs: number }>();

  constructor(private readonly clock: Clock) {}

  /**
   * As `readEach`, but for what was read already: one at least is read each time.
   * @throws ReadInPart where some are left to the next request, BankClientError
   */
  async each(all: readonly T[], read: (one: T) => Promise<R>): Promise<R[]> {
    const mayGoOn = this.clock.within(REQUEST_READS_MS);
    const byKey = new Map(all.map((one) => [keyOf(one), one]));
    const answers = this.takeUp([...byKey.keys()]);
    const left = [...byKey].filter(([key]) => !answers.has(key));
    for (const [n, [key, one]] of left.entries()) {
      if (n > 0 && !mayGoOn()) throw new ReadInPart({ read: answers.size, of: byKey.size }, KEPT_MS);
      const answer = await answerOf(read(one));
      answers.set(key, answer);
      this.keep(key, answer);
    }
    for (const key of byKey.keys()) this.kept.delete(key);
    return allShown([...byKey.keys()].flatMap((key) => answers.get(key) ?? []));
  }

  /** What was read of these before, which is kept on for those who ask for it. */
  private takeUp(keys: readonly string[]): Map<string, Answer<R>> {
    const nowMs = this.clock.now().getTime();
    for (const [key, { atMs }] of this.kept) if (nowMs - atMs > KEPT_MS) this.kept.delete(key);
    const answers = new Map<string, Answer<R>>();
    for (const key of keys) {
      const answer = this.kept.get(key)?.answer;
      if (answer) this.keep(key, answer);
      if (answer) answers.set(key, answer);
    }
    return answers;
  }

  private keep(key: string, answer: Answer<R>): void {
    this.kept.set(key, { answer, atMs: this.clock.now().getTime() });
  }
}

/** What has changed in the record meanwhile is read anew. */
function keyOf(one: object): string {
  return createHash('sha256').update(JSON.stringify(one)).digest('base64');
}
