import { MovedClock } from '../support/payroll';
import { faultsOf } from '../support/reads-of';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

/** After which of the faults at these minutes a read is taken to fail for good, at a service that is patient for ten. */
function lastingAfter(minutes: readonly number[], end?: number): number[] {
  const clock = new MovedClock();
  const now = jest.spyOn(clock, 'now');
  const faults = faultsOf(clock, 10 * MINUTE_MS);
  return minutes.filter((minute, n) => {
    // To the millisecond: a clock that is moved goes on by itself.
    now.mockReturnValue(new Date(1_800_000_000_000 + minute * MINUTE_MS));
    if (n === end) faults.end('a list');
    faults.add('a list');
    return faults.isLasting('a list');
  });
}
const every = (minutes: number, times: number) => Array.from({ length: times }, (_, n) => n * minutes);

describe('a read that fails again and again', () => {
  it('fails for good once it was seen to over the time that the service is patient', () => {
    expect(lastingAfter(every(0.5, 22))[0]).toBe(10);
    expect(lastingAfter(every(5, 6))).toEqual([20, 25]);
    expect(lastingAfter(every(1_440, 6))).toEqual([5_760, 7_200]);
  });

  it('does not by the faults of a moment, however many, or of a few moments', () => {
    expect(lastingAfter(every(0.001, 1_000))).toEqual([]);
    expect(lastingAfter([0, 0.1, 0.2, 0.3, 30])).toEqual([]);
    expect(lastingAfter(every(10, 4))).toEqual([]);
  });

  it('does not by faults of another week', () => {
    expect(lastingAfter([...every(5, 4), 7 * 1_440])).toEqual([]);
  });

  it('begins anew once it is answered', () => {
    expect(lastingAfter(every(5, 9), 4)).toEqual([40]);
  });

  it('is forgotten after two days, also where it is not read again', () => {
    const clock = new MovedClock();
    const faults = faultsOf(clock);
    for (let day = 0; day < 9; day += 1) {
      faults.add(`payment ${day}`);
      faults.add('a list');
      clock.offsetMs += DAY_MS;
    }
    expect(['payment 5', 'payment 8', 'a list'].map((read) => faults.of(read))).toEqual([0, 1, 9]);
  });

  it('that fails alike with others in a row is waited for as long as that row, and once more at least', () => {
    const clock = new MovedClock();
    const now = jest.spyOn(clock, 'now');
    const faults = faultsOf(clock, 10 * MINUTE_MS);
    const addAt = (minute: number, ...reads: string[]) => {
      now.mockReturnValue(new Date(minute * MINUTE_MS));
      return reads.map((read) => faults.add(read));
    };
    const leftAt = (minute: number, ofPayment = true) => {
      const [row, payment] = addAt(minute, 'a row', ...(ofPayment ? ['a payment'] : []));
      if (!row || !payment) return undefined;
      const { momentsLeft, nextMs } = faults.withRow(payment, row);
      return [momentsLeft, nextMs / MINUTE_MS];
    };
    expect(leftAt(0, false)).toBeUndefined();
    expect(leftAt(2)).toEqual([4, 4.5]);
    expect(leftAt(2.5, false)).toBeUndefined();
    expect(leftAt(3)).toEqual([3, 5]);
    expect([leftAt(5), leftAt(7.5), leftAt(10)]).toEqual([
      [2, 7.5],
      [1, 10],
      [0, 12.5],
    ]);
    addAt(10, 'another');
    const [row, another] = addAt(11, 'a row', 'another');
    expect(faults.withRow(another!, row!)).toMatchObject({
      times: 2,
      momentsLeft: 1,
      nextMs: 12.5 * MINUTE_MS,
    });
  });

  it('is told by how often it failed, whenever that was', () => {
    const faults = faultsOf(new MovedClock(), DAY_MS);
    for (let n = 0; n < 3; n += 1) faults.add('a list');
    expect([faults.of('a list'), faults.of('another')]).toEqual([3, 0]);
  });
});
