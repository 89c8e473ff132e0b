import fc from 'fast-check';
import {
  BANK_STATUSES,
  isBeforeTaken,
  isEndedUnpaid,
  isUnclear,
  isUnfinished,
  NOT_PROCESSABLE,
  TERMINAL_RANK,
} from '../../src/domain/bank-status';
import {
  advanced,
  FollowedPayment,
  isBehindEnd,
  progressOf,
  shownOf,
} from '../../src/settlement/follow-plan';
import { followed } from './followed-payment';

const ENDED_UNPAID = ['FAILED', 'REJECTED', 'CANCELLED'];

/** Whether what is recorded says the same of a payment as the bank, or what people said of it stands. */
function agrees(payment: FollowedPayment, shown: string): boolean {
  const { status, bankStatus, shownStatus, rank, returned } = payment;
  if (isUnclear(shown)) return [bankStatus, shownStatus].includes(shown);
  if (shown === 'RETURNED') return returned || ENDED_UNPAID.includes(status);
  if (!isUnfinished(shown))
    return isEndedUnpaid(shown)
      ? [...ENDED_UNPAID, 'VOID'].includes(status)
      : status === 'SETTLED' && !returned;
  const byWord = ['SETTLED', 'VOID'].includes(status) && rank < TERMINAL_RANK;
  const isLeft = bankStatus === NOT_PROCESSABLE || (status === 'VOID' && isBeforeTaken(shown));
  return status === 'SUBMITTED' || byWord || isLeft;
}

/** As two reads take it, the second so much later that the bank cannot show what is older than the first. */
function readTwice(payment: FollowedPayment, seen: { status: string; wasSettled: boolean }) {
  let now = payment;
  let told = false;
  for (const behindForMs of [null, 60_000]) {
    const isBehind = isBehindEnd(now, seen.status);
    now = { ...now, behindForMs: isBehind ? (behindForMs ?? now.behindForMs) : now.behindForMs };
    const step = progressOf(now, { ...seen, maxAgeMs: 30_000 });
    if (step) now = advanced([now], [step])[0] ?? now;
    told ||= step?.alarm === 'CONTRADICTION';
  }
  return { now: { ...now, behindForMs: null }, told };
}

const reads = fc.array(
  fc.record({
    status: fc.constantFrom(...BANK_STATUSES, 'PRO_ODD', 'REVERSED'),
    groupStatus: fc.constantFrom(undefined, 'NOTPROCESSABLE'),
    wasSettled: fc.boolean(),
    isDone: fc.boolean(),
    word: fc.constantFrom(undefined, undefined, 'SETTLED' as const, 'VOID' as const),
  }),
  { minLength: 1, maxLength: 5 },
);

it('nothing that the bank goes on to show of a payment is another than is recorded without being told', () => {
  fc.assert(
    fc.property(reads, (all) => {
      let payment = followed();
      for (const { isDone, word, ...seen } of all) {
        const status = shownOf(payment, seen, isDone);
        const { now, told } = readTwice(payment, { ...seen, status });
        // A contradiction is remembered for good.
        if (told) return;
        expect([status, agrees(now, status), now]).toEqual([status, true, now]);
        payment = now.status === 'SUBMITTED' && word !== undefined ? { ...now, status: word } : now;
      }
    }),
    { numRuns: 5_000 },
  );
});
