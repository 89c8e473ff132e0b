import fc from 'fast-check';
import { BANK_LADDER, BANK_STATUSES, NOT_PROCESSABLE, TERMINAL_RANK } from '../../src/domain/bank-status';
import {
  advanced,
  type FollowedPayment,
  isDoneButLeft,
  newCharges,
  newSettledOn,
  progressOf,
  progressOfAll,
  shownOf,
} from '../../src/settlement/follow-plan';
import { followed } from './followed-payment';

describe('a newly read status', () => {
  it('never lowers the rank and ends a payment at most once, whatever comes in whatever order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...BANK_STATUSES, 'NEVER_HEARD_OF'), { maxLength: 30 }),
        (statuses) => {
          let payment = followed();
          let ends = 0;
          for (const status of statuses) {
            const progress = progressOf(payment, { status });
            if (!progress) continue;
            expect(progress.rank).toBeGreaterThanOrEqual(payment.rank);
            if (progress.move) ends += 1;
            payment = {
              ...payment,
              rank: progress.rank,
              bankStatus: progress.bankStatus,
              status: progress.move?.to ?? payment.status,
              returned: payment.returned || progress.returned,
            };
          }
          expect(ends).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it('settles with the date and the charges the bank shows', () => {
    const seen = { status: 'SETTLED', settlementDate: '2026-11-20', chargesMinor: 12n };
    expect(progressOf(followed(), seen)?.move).toEqual({
      to: 'SETTLED',
      settledOn: '2026-11-20',
      chargesMinor: 12n,
    });
  });

  it.each(['FAILED', 'EXT_REFUSED', 'CANCELLED'])(
    'ends unpaid without the date a bank shows (%s)',
    (status) => {
      expect(
        progressOf(followed(), { status, settlementDate: '2026-11-20' })?.move?.settledOn,
      ).toBeUndefined();
    },
  );

  it('keeps the first end and raises a contradiction on another', () => {
    const progress = progressOf(followed({ status: 'SETTLED', rank: 14, bankStatus: 'SETTLED' }), {
      status: 'FAILED',
    });
    expect(progress).toMatchObject({
      alarm: 'CONTRADICTION',
      rank: 14,
      bankStatus: 'SETTLED',
      shown: 'FAILED',
    });
    expect(progress?.move).toBeUndefined();
  });

  it.each(['CANCELLED', 'EXT_REFUSED'])(
    'keeps the first of two ends without payment: FAILED, then %s',
    (status) => {
      const failed = followed({ status: 'FAILED', rank: 14, bankStatus: 'PRO_DEBIT_HOLD_FAILED' });
      const progress = progressOf(failed, { status });
      expect(progress).toMatchObject({ bankStatus: status, rank: 14 });
      expect([progress?.alarm, progress?.move]).toEqual([undefined, undefined]);
      expect(progressOf({ ...failed, bankStatus: status }, { status })).toBeUndefined();
      expect(progressOf({ ...failed, bankStatus: status }, { status: 'SETTLED' })).toMatchObject({
        alarm: 'CONTRADICTION',
        bankStatus: status,
      });
    },
  );

  it.each(['FAILED', 'EXT_REFUSED', 'CANCELLED'])(
    'finds in the history that it was settled before it is shown as %s, where no read fell between',
    (status) => {
      const seen = { status, wasSettled: true, settlementDate: '2026-11-20' };
      const step = progressOf(followed({ rank: 13, bankStatus: 'EXCHANGED' }), seen);
      expect(step).toMatchObject({ alarm: 'CONTRADICTION', bankStatus: 'SETTLED', shown: status, rank: 14 });
      expect(step?.move).toMatchObject({ to: 'SETTLED', settledOn: '2026-11-20' });
      const settled = followed({ status: 'SETTLED', rank: 14, bankStatus: 'SETTLED' });
      expect(progressOf(settled, seen)).toMatchObject({ alarm: 'CONTRADICTION', shown: status });
    },
  );

  it('settles by its history what is shown in a status that says nothing, which is asked about', () => {
    const step = progressOf(followed({ rank: 13 }), { status: 'ARCHIVED', wasSettled: true });
    expect(step).toMatchObject({ alarm: 'UNKNOWN_STATUS', bankStatus: 'SETTLED', shownStatus: 'ARCHIVED' });
    expect(step?.move?.to).toBe('SETTLED');
  });

  it('finds in the history what contradicts an end without payment, and what two people declared', () => {
    const seen = { status: 'FAILED', wasSettled: true };
    const failed = followed({ status: 'FAILED', rank: 14, bankStatus: 'FAILED' });
    const declared = followed({ status: 'VOID', rank: 13, bankStatus: 'EXCHANGED' });
    for (const payment of [failed, declared])
      expect(progressOf(payment, seen)).toMatchObject({ alarm: 'CONTRADICTION', shown: 'SETTLED' });
  });

  it('takes the history of what came back, or is shown as settled, for what it is', () => {
    const open = followed({ rank: 13 });
    for (const status of ['SETTLED', 'RETURNED'])
      expect(progressOf(open, { status, wasSettled: true })).toEqual(progressOf(open, { status }));
    const back = followed({ status: 'SETTLED', rank: 14, bankStatus: 'RETURNED', returned: true });
    expect(progressOf(back, { status: 'RETURNED', wasSettled: true })).toBeUndefined();
  });

  it('notes a return beside SETTLED, once', () => {
    const settled = followed({ status: 'SETTLED', rank: 14, bankStatus: 'SETTLED' });
    expect(progressOf(settled, { status: 'RETURNED' })).toMatchObject({ returned: true });
    const returned = { ...settled, returned: true, bankStatus: 'RETURNED' };
    expect(progressOf(returned, { status: 'RETURNED' })).toBeUndefined();
  });

  it('raises attention for the unknown and for what waits at the bank, and moves nothing', () => {
    expect(progressOf(followed(), { status: 'PRO_MANUAL_REVIEW' })).toMatchObject({
      alarm: 'UNKNOWN_STATUS',
      rank: 0,
    });
    expect(progressOf(followed(), { status: 'SUB_STRONG_AUTH_REQUIRED' })).toMatchObject({
      alarm: 'BANK_ACTION_REQUIRED',
    });
  });

  it('overwrites nothing by a stale read', () => {
    const settled = followed({ status: 'SETTLED', rank: 14, bankStatus: 'SETTLED' });
    expect(progressOf(settled, { status: 'EXCHANGED' })).toBeUndefined();
    expect(progressOf(settled, { status: 'NEVER_HEARD_OF' })).toMatchObject({
      bankStatus: 'SETTLED',
      alarm: 'UNKNOWN_STATUS',
    });
  });

  it.each<[Partial<FollowedPayment>, string]>([
    [{ status: 'SETTLED', bankStatus: 'SETTLED' }, 'EXCHANGED'],
    [{ status: 'SETTLED', bankStatus: 'SETTLED' }, 'WAREHOUSED'],
    [{ status: 'SETTLED', bankStatus: 'RETURNED', returned: true }, 'SETTLED'],
    [{ status: 'SETTLED', bankStatus: 'RETURNED', returned: true }, 'EXCHANGED'],
    [{ status: 'REJECTED', bankStatus: 'EXT_REFUSED' }, 'SUB_STRONG_AUTH_REQUIRED'],
    [{ status: 'FAILED', bankStatus: 'FAILED' }, 'INITIATED'],
  ])(
    'raises a contradiction where %j is shown as before later than a read can be old (%s)',
    (end, status) => {
      const ended = followed({ rank: 14, ...end });
      const seen = { status, maxAgeMs: 30_000 };
      for (const behindForMs of [null, 29_999])
        expect(progressOf({ ...ended, behindForMs }, seen)).toBeUndefined();
      expect(progressOf({ ...ended, behindForMs: 30_000 }, { status })).toBeUndefined();
      const progress = progressOf({ ...ended, behindForMs: 30_000 }, seen);
      expect(progress).toMatchObject({
        alarm: 'CONTRADICTION',
        bankStatus: end.bankStatus,
        shown: status,
        rank: 14,
      });
      expect(progress?.move).toBeUndefined();
    },
  );

  it('takes what was ended by people, or is left out of its group, for no contradiction however long it lasts', () => {
    const [behindForMs, maxAgeMs] = [9e9, 0];
    const paid = followed({ status: 'SETTLED', rank: 13, bankStatus: 'EXCHANGE_ERROR', behindForMs });
    expect(progressOf(paid, { status: 'EXCHANGED', maxAgeMs })).toBeUndefined();
    const left = followed({ status: 'FAILED', rank: 7, bankStatus: NOT_PROCESSABLE, behindForMs });
    expect(progressOf(left, { status: 'SUB_INT_CTRL_PASSED', maxAgeMs })).toBeUndefined();
    const open = followed({ rank: 13, bankStatus: 'EXCHANGED', behindForMs });
    expect(progressOf(open, { status: 'PRO_DEBIT_HOLD', maxAgeMs })).toBeUndefined();
  });

  it.each(['PRO_WAIT_SETTLEMENT_DATE', 'WAREHOUSED', 'SUB_STRONG_AUTH_REQUIRED'])(
    'keeps its end where a read that lags shows what it waited for (%s)',
    (status) => {
      const settled = followed({ status: 'SETTLED', rank: 14, bankStatus: 'SETTLED' });
      expect(progressOf(settled, { status })).toBeUndefined();
      const refused = followed({ status: 'REJECTED', rank: 14, bankStatus: 'EXT_REFUSED' });
      expect(progressOf(refused, { status })).toBeUndefined();
    },
  );

  it('takes no return back, and tells ends of the same outcome apart', () => {
    const settled = followed({ status: 'SETTLED', rank: 14, bankStatus: 'RETURNED', returned: true });
    expect(progressOf(settled, { status: 'SETTLED' })).toBeUndefined();
    const failed = followed({ status: 'FAILED', rank: 14, bankStatus: 'FAILED' });
    expect(progressOf(failed, { status: 'PRO_ROUTING_FAILED' })?.bankStatus).toBe('PRO_ROUTING_FAILED');
  });

  it('lets what two people declared not executed end unpaid, and raises a contradiction when it goes on', () => {
    const declared = followed({ status: 'VOID', rank: 4, bankStatus: 'INITIATED' });
    expect(progressOf(declared, { status: 'INITIATED' })).toBeUndefined();
    expect(progressOf(declared, { status: 'P_INSTRUCTION_SUB_NOT_PASSED' })).toEqual(
      expect.not.objectContaining({ alarm: expect.anything() as unknown }),
    );
    for (const status of ['SETTLED', 'EXCHANGED', 'WAREHOUSED', 'RETURNED', 'NEVER_HEARD_OF'])
      expect(progressOf(declared, { status })).toMatchObject({
        alarm: 'CONTRADICTION',
        bankStatus: 'INITIATED',
      });
  });

  it('lets the bank settle what two people declared paid, and raises a contradiction when it shows otherwise', () => {
    const paid = followed({ status: 'SETTLED', rank: 11, bankStatus: 'PRO_MANUAL_REVIEW' });
    for (const status of ['PRO_MANUAL_REVIEW', 'INITIATED', 'PRO_DEBIT_HOLD', 'WAREHOUSED'])
      expect([status, progressOf(paid, { status })]).toEqual([status, undefined]);
    expect(progressOf(paid, { status: 'SETTLED' })).toMatchObject({ bankStatus: 'SETTLED', rank: 14 });
    expect(progressOf(paid, { status: 'SETTLED' })).not.toHaveProperty('alarm');
    expect(progressOf(paid, { status: 'RETURNED' })).toMatchObject({ returned: true, rank: 14 });
    for (const status of ['FAILED', 'EXT_REFUSED', 'CANCELLED'])
      expect(progressOf(paid, { status })).toMatchObject({
        alarm: 'CONTRADICTION',
        bankStatus: 'PRO_MANUAL_REVIEW',
        rank: 11,
      });
    expect(progressOf(paid, { status: 'EXCHANGE_ERROR' })).toMatchObject({ alarm: 'UNKNOWN_STATUS' });
  });

  it('takes the steps of what two people declared paid for the way to its end', () => {
    const paid = followed({ status: 'SETTLED', rank: 4, bankStatus: 'INITIATED' });
    for (const status of ['SUBMITTED', 'PRO_DEBIT_HOLD', 'READY_FOR_EXCHANGE', 'EXCHANGED'])
      expect([status, progressOf(paid, { status })]).toEqual([status, undefined]);
    expect(newCharges(paid, { status: 'EXCHANGED', chargesMinor: 12n })).toBeUndefined();
    expect(progressOf(paid, { status: 'SETTLED' })).toMatchObject({ bankStatus: 'SETTLED', rank: 14 });
  });

  it('takes a stale read of what two people declared not executed after its submit for no contradiction', () => {
    const declared = followed({ status: 'VOID', rank: 6, bankStatus: 'SUB_IS_VALID' });
    for (const status of ['SUB_IS_VALID', 'SUB_STARTED', 'INITIATED'])
      expect(progressOf(declared, { status })).toBeUndefined();
    for (const status of ['SUB_INT_CTRL_PASSED', 'SUBMITTED', 'SUB_STRONG_AUTH_REQUIRED', 'SETTLED'])
      expect(progressOf(declared, { status })).toMatchObject({ alarm: 'CONTRADICTION' });
  });

  it('takes a stale read of what the bank ended after two people had declared it not paid for no contradiction, and one that lasts for one', () => {
    const ended = { status: 'VOID', rank: 14, bankStatus: 'FAILED' } as const;
    const waits = ['PRO_MANUAL_REVIEW', 'EXCHANGE_ERROR', 'SUB_STRONG_AUTH_REQUIRED', 'WAREHOUSED'];
    // A transfer within the bank may rest at SUBMITTED for good, and be paid.
    const steps = ['SUBMITTED', 'PRO_DEBIT_HOLD', 'READY_FOR_PROCESSING', 'EXCHANGED'];
    for (const status of [...waits, ...steps]) {
      const read = (behindForMs: number | null) =>
        progressOf(followed({ ...ended, behindForMs }), { status, maxAgeMs: 30_000 });
      expect([status, read(null), read(29_999)]).toEqual([status, undefined, undefined]);
      expect(read(30_000)).toMatchObject({ alarm: 'CONTRADICTION', bankStatus: 'FAILED', rank: 14 });
    }
    const lasts = followed({ ...ended, behindForMs: 9e9 });
    for (const status of ['INITIATED', 'SUB_REQUIRED'])
      expect(progressOf(lasts, { status, maxAgeMs: 30_000 })).toBeUndefined();
    expect(progressOf(followed({ ...ended, behindForMs: null }), { status: 'SETTLED' })?.alarm).toBe(
      'CONTRADICTION',
    );
  });

  it('takes the step that a payment was left at for no news of what was shown as not processable', () => {
    const left = { rank: 7, bankStatus: NOT_PROCESSABLE };
    const step = { status: 'SUB_INT_CTRL_PASSED' };
    expect(progressOf(followed({ status: 'VOID', ...left }), step)).toBeUndefined();
    expect(progressOf(followed({ status: 'FAILED', ...left }), step)).toBeUndefined();
    for (const status of ['SUBMITTED', 'PRO_DEBIT_HOLD'])
      expect(progressOf(followed({ status: 'VOID', ...left }), { status })?.alarm).toBe('CONTRADICTION');
  });

  it('is not processable only where it stands still once the bank is done with its instruction', () => {
    const seen = { status: 'SUB_INT_CTRL_PASSED', groupStatus: 'NOTPROCESSABLE' };
    const left = followed({ rank: 7, bankStatus: 'SUB_INT_CTRL_PASSED' });
    expect(shownOf(left, seen, true)).toBe(NOT_PROCESSABLE);
    expect(shownOf(left, seen, false)).toBe('SUB_INT_CTRL_PASSED');
    expect(shownOf(followed({ rank: 6, bankStatus: 'SUB_IS_VALID' }), seen, true)).toBe(
      'SUB_INT_CTRL_PASSED',
    );
    expect(shownOf(followed({ status: 'FAILED', rank: 14, bankStatus: 'FAILED' }), seen, true)).toBe(
      'SUB_INT_CTRL_PASSED',
    );
  });

  it('is of an instruction that the bank is done with only once another payment of it was settled', () => {
    const read = [
      { bankPaymentId: '1', status: 'SUB_INT_CTRL_PASSED', groupStatus: 'NOTPROCESSABLE' },
      { bankPaymentId: '2', status: 'SETTLED' },
    ];
    const left = followed({ bankIds: ['1'] });
    const done = (...others: FollowedPayment['status'][]) =>
      isDoneButLeft([left, ...others.map((status) => followed({ bankIds: ['2'], status }))], read);
    expect([done(), done('FAILED'), done('SETTLED'), done('SETTLED', 'SUBMITTED')]).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });

  it('raises a contradiction where what was not processable waits for its date after all', () => {
    const left = followed({ status: 'FAILED', rank: 7, bankStatus: NOT_PROCESSABLE });
    for (const status of ['WAREHOUSED', 'PRO_WAIT_SETTLEMENT_DATE'])
      expect(progressOf(left, { status })).toMatchObject({
        alarm: 'CONTRADICTION',
        bankStatus: NOT_PROCESSABLE,
      });
  });

  it('raises a contradiction where what two people declared paid is shown as not processable', () => {
    const declared = followed({ status: 'SETTLED', rank: 7, bankStatus: 'SUB_INT_CTRL_PASSED' });
    const seen = { status: 'SUB_INT_CTRL_PASSED', groupStatus: 'NOTPROCESSABLE' };
    const status = shownOf(declared, seen, false);
    expect(status).toBe(NOT_PROCESSABLE);
    expect(progressOf(declared, { status })?.alarm).toBe('CONTRADICTION');
  });

  it('raises a contradiction at every read of what was declared before the bank showed anything of it', () => {
    const declared = followed({ status: 'VOID', rank: 0, bankStatus: null });
    for (const status of ['EXCHANGED', 'SETTLED', 'RETURNED']) {
      const step = progressOf(declared, { status })!;
      expect(step).toMatchObject({ alarm: 'CONTRADICTION', bankStatus: null, rank: 0 });
      expect(progressOf(advanced([declared], [step])[0]!, { status })?.alarm).toBe('CONTRADICTION');
    }
    expect(progressOf(declared, { status: 'FAILED' })).toMatchObject({ bankStatus: 'FAILED', rank: 14 });
  });

  it('says nothing of what two people declared not paid by the status that it comes to show', () => {
    const declared = followed({ status: 'VOID', rank: 4, bankStatus: 'INITIATED' });
    const decided = { ...declared, decidedStatuses: ['EXCHANGE_ERROR'] };
    expect(progressOf(decided, { status: 'EXCHANGE_ERROR' })).toBeUndefined();
    expect(progressOf(decided, { status: 'EXCHANGED' })?.alarm).toBe('CONTRADICTION');
    expect(progressOf(decided, { status: 'PRO_MANUAL_REVIEW' })?.alarm).toBe('CONTRADICTION');
    expect(progressOf(declared, { status: 'EXCHANGE_ERROR' })?.alarm).toBe('CONTRADICTION');
  });

  it('raises a contradiction where earlier versions kept beside what was declared that it was paid', () => {
    const declared = followed({ status: 'VOID', rank: 14, bankStatus: 'SETTLED' });
    expect(progressOf(declared, { status: 'SETTLED' })?.alarm).toBe('CONTRADICTION');
  });

  it('writes nothing down when nothing changed', () => {
    expect(
      progressOf(followed({ bankStatus: 'SUBMITTED', rank: 9 }), { status: 'SUBMITTED' }),
    ).toBeUndefined();
  });
});

describe('what one read shows more than once of a payment', () => {
  const shown = (...statuses: string[]) => statuses.map((status) => ({ status }));
  const outcome = (payment: FollowedPayment, ...statuses: string[]) => {
    const progress = progressOfAll(payment, shown(...statuses));
    return progress && [progress.move?.to, progress.bankStatus, progress.alarm];
  };
  const failed = followed({ status: 'FAILED', bankStatus: 'FAILED', rank: TERMINAL_RANK });

  it('is the later of two steps, or the end, in whatever order they are shown', () => {
    expect(outcome(followed(), 'EXCHANGED', 'SUBMITTED')).toEqual([undefined, 'EXCHANGED', undefined]);
    expect(outcome(followed(), 'SUBMITTED', 'EXCHANGED')).toEqual([undefined, 'EXCHANGED', undefined]);
    for (const statuses of [
      ['EXCHANGED', 'SETTLED'],
      ['SETTLED', 'EXCHANGED'],
    ])
      expect(outcome(followed(), ...statuses)).toEqual(['SETTLED', 'SETTLED', undefined]);
    expect(outcome({ ...failed, behindForMs: 1e9 }, 'EXCHANGED', 'FAILED')).toBeUndefined();
  });

  it('is settled, and came back, where both are shown', () => {
    const progress = progressOfAll(followed(), shown('RETURNED', 'SETTLED'));
    expect(progress).toMatchObject({ move: { to: 'SETTLED' }, returned: true, bankStatus: 'RETURNED' });
    expect(progress?.alarm).toBeUndefined();
  });

  it('contradicts itself where of two ends one says that it was paid, which is kept', () => {
    for (const statuses of [
      ['FAILED', 'SETTLED'],
      ['SETTLED', 'FAILED'],
      ['CANCELLED', 'FAILED', 'SETTLED'],
    ])
      expect(outcome(followed(), ...statuses)).toEqual(['SETTLED', 'SETTLED', 'CONTRADICTION']);
    expect(outcome(failed, 'FAILED', 'SETTLED')).toEqual([undefined, 'FAILED', 'CONTRADICTION']);
    expect(outcome(followed(), 'FAILED', 'CANCELLED')?.[2]).toBeUndefined();
  });

  it('contradicts itself where it is not processable and goes on', () => {
    const left = followed({ bankStatus: 'SUB_IS_VALID', rank: BANK_LADDER.SUB_IS_VALID });
    for (const statuses of [
      [NOT_PROCESSABLE, 'EXCHANGED'],
      ['EXCHANGED', NOT_PROCESSABLE],
    ])
      expect(outcome(left, ...statuses)).toEqual(['FAILED', NOT_PROCESSABLE, 'CONTRADICTION']);
    expect(outcome(left, 'SUB_IS_VALID', NOT_PROCESSABLE)?.[2]).toBeUndefined();
  });
});

describe('the date a payment was settled on', () => {
  const seen = { status: 'SETTLED', settlementDate: '2026-11-20' };
  const settled = followed({ status: 'SETTLED', rank: 14, bankStatus: 'SETTLED' });

  it('is taken from a later read where the first had none', () => {
    expect(newSettledOn(settled, seen)).toBe('2026-11-20');
    expect(newSettledOn(settled, { status: 'SETTLED' })).toBeUndefined();
  });

  it('is taken anew where the bank shows another one: it is the one on its statement', () => {
    expect(newSettledOn({ ...settled, settledOn: '2026-11-19' }, seen)).toBe('2026-11-20');
    expect(newSettledOn({ ...settled, settledOn: '2026-11-20' }, seen)).toBeUndefined();
  });

  it('is not taken from what shows another status, or for what was not paid', () => {
    const returned = { ...settled, returned: true, bankStatus: 'RETURNED', settledOn: '2026-11-19' };
    expect(newSettledOn(returned, seen)).toBeUndefined();
    expect(newSettledOn(settled, { ...seen, status: 'EXCHANGED' })).toBeUndefined();
    expect(newSettledOn(followed({ status: 'FAILED', rank: 14 }), seen)).toBeUndefined();
  });
});

describe('what was not paid, and whose money comes back', () => {
  const failed = followed({ status: 'FAILED', rank: 14, bankStatus: 'EXT_REFUSED' });

  it('stays as it ended, and shows an undocumented status no more', () => {
    expect(progressOf(failed, { status: 'RETURNED' })).toBeUndefined();
    const unclear = progressOf(failed, { status: 'REFUND_PENDING' });
    expect(unclear).toMatchObject({ bankStatus: 'EXT_REFUSED', shownStatus: 'REFUND_PENDING' });
    const [shown] = advanced([failed], [unclear!]);
    const back = progressOf(shown!, { status: 'RETURNED' });
    expect(back).toMatchObject({ bankStatus: 'EXT_REFUSED', shownStatus: null, returned: false });
    expect(back).not.toHaveProperty('alarm');
    expect(back).not.toHaveProperty('move');
  });
});

describe('charges of a payment', () => {
  const settled = { status: 'SETTLED', rank: 14, bankStatus: 'SETTLED', chargesMinor: 0n } as const;

  it('are written down also where they come after its end, or for what was not paid', () => {
    expect(newCharges(followed(settled), { status: 'SETTLED', chargesMinor: 12n })).toBe(12n);
    expect(
      newCharges(followed({ ...settled, returned: true }), { status: 'RETURNED', chargesMinor: 0n }),
    ).toBe(undefined);
    const declared = followed({ status: 'VOID', rank: 14, bankStatus: 'EXCHANGE_ERROR' });
    expect(newCharges(declared, { status: 'FAILED', chargesMinor: 500n })).toBe(500n);
    expect(newCharges(declared, { status: 'EXCHANGE_ERROR', chargesMinor: 500n })).toBeUndefined();
    const failed = followed({ status: 'FAILED', rank: 14, bankStatus: 'PRO_ROUTING_FAILED' });
    expect(newCharges(failed, { status: 'PRO_ROUTING_FAILED', chargesMinor: 7n })).toBe(7n);
    expect(newCharges(failed, { status: 'RETURNED', chargesMinor: 8n })).toBe(8n);
  });

  it('are taken back where the bank does', () => {
    const charged = followed({ ...settled, chargesMinor: 12n });
    expect(newCharges(charged, { status: 'SETTLED', chargesMinor: 0n })).toBe(0n);
  });

  it('are expected before its end, and not known of a read that shows none, is stale, or contradicts the end', () => {
    const charged = followed({ ...settled, chargesMinor: 12n });
    expect(newCharges(followed(), { status: 'EXCHANGED', chargesMinor: 12n })).toBeUndefined();
    for (const status of ['SETTLED', 'EXCHANGED', 'FAILED'])
      expect(
        newCharges(charged, { status, ...(status === 'SETTLED' ? {} : { chargesMinor: 0n }) }),
      ).toBeUndefined();
  });

  it('are not taken from a read that shows what it was before its end, as settled where it came back', () => {
    const returned = followed({ ...settled, bankStatus: 'RETURNED', returned: true, chargesMinor: 300n });
    expect(newCharges(returned, { status: 'SETTLED', chargesMinor: 50n })).toBeUndefined();
    expect(newCharges(returned, { status: 'RETURNED', chargesMinor: 350n })).toBe(350n);
    const charged = followed({ ...settled, chargesMinor: 12n });
    expect(newCharges(charged, { status: 'WAREHOUSED', chargesMinor: 0n })).toBeUndefined();
  });
});
