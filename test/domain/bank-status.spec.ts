import fc from 'fast-check';
import {
  BANK_LADDER,
  BANK_STATUSES,
  BankPosition,
  climb,
  isEnd,
  isEndedBeforeSubmit,
  isNeverDebited,
  isPastSubmit,
  isStepFurther,
  isUntaken,
  mayBeSubmitted,
  mostSubmitted,
  NEVER_DEBITED,
  NOT_PROCESSABLE,
  readBankStatus,
  NEVER_SHOWN,
  standingOf,
  statusesAskedOf,
  statusesShown,
  TERMINAL_RANK,
  unclearStatusOf,
} from '../../src/domain/bank-status';

const anyStatus = fc.oneof(
  fc.constantFrom<string>(...BANK_STATUSES),
  fc.constantFrom('NEW_STATUS', 'settled', '', 'constructor', '__proto__'),
);

/** Before the bank has said anything. */
const BANK_POSITION_START: BankPosition = { rank: 0 };

function walk(values: readonly string[], from: BankPosition = BANK_POSITION_START): BankPosition {
  return values.reduce((position, value) => climb(position, value).next, from);
}

describe('reading a status of the bank', () => {
  it('ranks the ladder in the order of the protocol', () => {
    const order = [
      'INI_STARTED',
      'INI_IS_VALID',
      'INI_INT_CTRL_PASSED',
      'INITIATED',
      'SUB_STARTED',
      'SUB_IS_VALID',
      'SUB_INT_CTRL_PASSED',
      'SUB_REQUIRED',
      'SUBMITTED',
      'PRO_INT_CTRL_PASSED',
      'PRO_DEBIT_HOLD',
      'READY_FOR_EXCHANGE',
      'EXCHANGED',
    ] as const;
    const ranks = order.map((status) => BANK_LADDER[status]);
    expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
    expect(new Set(ranks).size).toBe(order.length);
    expect(BANK_LADDER.READY_FOR_PROCESSING).toBe(BANK_LADDER.READY_FOR_EXCHANGE);
    expect(TERMINAL_RANK).toBeGreaterThan(BANK_LADDER.EXCHANGED);
  });

  it('knows every documented status, each once', () => {
    expect(new Set(BANK_STATUSES).size).toBe(BANK_STATUSES.length);
    for (const status of BANK_STATUSES) expect(readBankStatus(status).kind).not.toBe('unknown');
  });

  it.each([
    ['SETTLED', 'SETTLED'],
    ['FAILED', 'FAILED'],
    ['PRO_DEBIT_HOLD_FAILED', 'FAILED'],
    ['INI_NOT_IS_VALID', 'FAILED'],
    ['P_INSTRUCTION_SUB_NOT_PASSED', 'FAILED'],
    ['REJECTED', 'REJECTED'],
    ['EXT_REFUSED', 'REJECTED'],
    ['CANCELLED', 'CANCELLED'],
    ['ABANDONED', 'CANCELLED'],
  ])('%s ends as %s', (value, outcome) => {
    expect(readBankStatus(value)).toMatchObject({ kind: 'terminal', outcome });
  });

  it('asks for an action at the bank only where the bank waits for a person', () => {
    expect(readBankStatus('SUB_STRONG_AUTH_REQUIRED')).toEqual({ kind: 'waiting', needsBankAction: true });
    expect(readBankStatus('C_INST_WAITING_FOR_APPROVAL')).toEqual({ kind: 'waiting', needsBankAction: true });
    expect(readBankStatus('WAREHOUSED')).toEqual({ kind: 'waiting', needsBankAction: false });
    expect(readBankStatus('PRO_WAIT_SETTLEMENT_DATE')).toEqual({ kind: 'waiting', needsBankAction: false });
  });

  it.each(['', 'settled', ' SETTLED', 'SETTLED_LATER', 'toString', '__proto__'])('%j is unknown', (value) => {
    expect(readBankStatus(value)).toEqual({ kind: 'unknown' });
  });
});

describe('proof of a submit', () => {
  it.each([
    'SUB_STARTED',
    'SUB_REQUIRED',
    'EXCHANGED',
    'SETTLED',
    'RETURNED',
    'EXCHANGE_ERROR',
    'EXT_REFUSED',
  ])('is %s', (value) => expect(isPastSubmit(value)).toBe(true));

  it.each(['WAREHOUSED', 'SUB_STRONG_AUTH_REQUIRED', 'PRO_SETTLEMENT_FAILED', 'SUB_NOT_IS_VALID'])(
    'is %s',
    (value) => expect(isPastSubmit(value)).toBe(true),
  );

  it.each([
    'INI_STARTED',
    'INITIATED',
    'INI_INT_CTRL_FAILED',
    'CANCELLED',
    'ABANDONED',
    'REJECTED',
    'FAILED',
    'X',
  ])('is not %s', (value) => expect(isPastSubmit(value)).toBe(false));
});

describe('a submit that is possible', () => {
  it.each(['SUB_STARTED', 'SETTLED', 'EXCHANGE_ERROR', 'WAREHOUSED', 'PRO_AML_CHECK', ''])('at %j', (value) =>
    expect(mayBeSubmitted(value)).toBe(true),
  );

  it.each(['INI_STARTED', 'INITIATED', 'INI_INT_CTRL_FAILED', 'CANCELLED', 'REJECTED', 'FAILED'])(
    'not at %s',
    (value) => expect(mayBeSubmitted(value)).toBe(false),
  );

  it('is said by the status that proves most', () => {
    expect(mostSubmitted(['INITIATED', 'PRO_AML_CHECK', 'SUB_REQUIRED'])).toBe('SUB_REQUIRED');
    expect(mostSubmitted(['INITIATED', 'PRO_AML_CHECK'])).toBe('PRO_AML_CHECK');
    expect(mostSubmitted(['INITIATED', 'FAILED'])).toBeUndefined();
  });
});

describe('climbing the ladder', () => {
  it('never falls, whatever the bank says in whatever order', () => {
    fc.assert(
      fc.property(fc.array(anyStatus, { maxLength: 30 }), (values) => {
        let position = BANK_POSITION_START;
        for (const value of values) {
          const { next, change } = climb(position, value);
          expect(next.rank).toBeGreaterThanOrEqual(position.rank);
          const moved = ['climbed', 'terminal', 'returned'].includes(change);
          if (!moved) expect(next).toEqual(position);
          else expect(next).not.toEqual(position);
          position = next;
        }
      }),
    );
  });

  it('keeps the first terminal and tells paid against unpaid as a contradiction, in either order', () => {
    fc.assert(
      fc.property(fc.array(anyStatus, { maxLength: 30 }), (values) => {
        let position = BANK_POSITION_START;
        for (const value of values) {
          const reading = readBankStatus(value);
          // Money that came back contradicts no end: it is with the employer under either.
          const outcome = reading.kind === 'terminal' ? reading.outcome : null;
          const { next, change } = climb(position, value);
          if (position.terminal !== undefined) expect(next.terminal).toBe(position.terminal);
          const contradicts =
            outcome !== null &&
            position.terminal !== undefined &&
            (outcome === 'SETTLED') !== (position.terminal === 'SETTLED');
          expect(change === 'contradiction').toBe(contradicts);
          position = next;
        }
      }),
    );
  });

  it.each([
    ['PRO_DEBIT_HOLD_FAILED', 'CANCELLED', 'FAILED'],
    ['PRO_DEBIT_HOLD_FAILED', 'REJECTED', 'FAILED'],
    ['EXT_REFUSED', 'FAILED', 'REJECTED'],
    ['CANCELLED', 'EXT_REFUSED', 'CANCELLED'],
  ])(
    'keeps the first of two ends without payment, and says nothing: %s, then %s',
    (first, second, terminal) => {
      const next = { rank: TERMINAL_RANK, terminal };
      expect(climb(walk([first]), second)).toEqual({ next, change: 'none' });
    },
  );

  it('ends where it ended when everything is told again', () => {
    fc.assert(
      fc.property(fc.array(anyStatus, { maxLength: 20 }), (values) => {
        const once = walk(values);
        expect(walk(values, once)).toEqual(once);
      }),
    );
  });

  it('climbs over skipped steps, repeats and waits', () => {
    expect(climb(BANK_POSITION_START, 'INITIATED')).toEqual({ next: { rank: 4 }, change: 'climbed' });
    expect(climb({ rank: 6 }, 'SUB_IS_VALID')).toEqual({ next: { rank: 6 }, change: 'none' });
    expect(climb({ rank: 4 }, 'READY_FOR_PROCESSING')).toEqual({ next: { rank: 12 }, change: 'climbed' });
    expect(climb({ rank: 9 }, 'WAREHOUSED')).toEqual({ next: { rank: 9 }, change: 'none' });
    expect(climb({ rank: 9 }, 'SUB_STARTED')).toEqual({ next: { rank: 9 }, change: 'fell' });
  });

  it('settles what comes back unsettled, and notes what comes back settled', () => {
    const returned = { rank: TERMINAL_RANK, terminal: 'SETTLED', returned: true };
    expect(climb({ rank: 13 }, 'RETURNED')).toEqual({ next: returned, change: 'returned' });
    expect(climb({ rank: TERMINAL_RANK, terminal: 'SETTLED' }, 'RETURNED')).toEqual({
      next: returned,
      change: 'returned',
    });
    expect(walk(['SETTLED', 'RETURNED', 'SETTLED'])).toEqual(returned);
    expect(climb(walk(['RETURNED']), 'RETURNED').change).toBe('none');
    expect(climb(walk(['FAILED']), 'RETURNED')).toEqual({ next: walk(['FAILED']), change: 'none' });
  });

  it('goes on without a contradiction to what people have declared paid on its way', () => {
    const declared = { rank: BANK_LADDER.SUB_STARTED, terminal: 'SETTLED' } as const;
    for (const value of ['SUBMITTED', 'EXCHANGED'])
      expect(climb(declared, value)).toEqual({ next: declared, change: 'fell' });
  });

  it('changes nothing for an exchange error or a value nobody documents', () => {
    for (const value of ['EXCHANGE_ERROR', 'BRAND_NEW']) {
      expect(climb({ rank: 12 }, value)).toEqual({ next: { rank: 12 }, change: 'unknown' });
    }
  });
});

describe('what says what became of a payment', () => {
  it.each(['SETTLED', 'RETURNED', 'PRO_ROUTING_FAILED', 'EXT_REFUSED', 'CANCELLED', NOT_PROCESSABLE])(
    'is %s',
    (value) => expect(isEnd(value)).toBe(true),
  );

  it.each(['EXCHANGED', 'WAREHOUSED', 'EXCHANGE_ERROR', 'PRO_ODD'])('is not %s', (value) =>
    expect(isEnd(value)).toBe(false),
  );
});

describe('an end that needs no submit', () => {
  it.each(['FAILED', 'REJECTED', 'CANCELLED', 'ABANDONED', 'INI_NOT_IS_VALID'])('is %s', (value) =>
    expect(isEndedBeforeSubmit(value)).toBe(true),
  );

  it.each(['SUB_NOT_IS_VALID', 'PRO_ROUTING_FAILED', 'EXT_REFUSED', 'SETTLED', 'INITIATED', 'RETURNED'])(
    'is not %s',
    (value) => expect(isEndedBeforeSubmit(value)).toBe(false),
  );
});

describe('an open payment that the bank has not taken up', () => {
  it.each([null, 'INITIATED', 'SUB_REQUIRED', 'SUB_STRONG_AUTH_REQUIRED', 'REJECTED', 'CANCELLED'])(
    'was last shown as %s',
    (value) => expect(isUntaken(value)).toBe(true),
  );

  it.each(['SUBMITTED', 'WAREHOUSED', 'EXCHANGED', 'SUB_NOT_IS_VALID', 'EXCHANGE_ERROR', 'PRO_ODD'])(
    'was not last shown as %s',
    (value) => expect(isUntaken(value)).toBe(false),
  );
});

describe('a step that the bank took after an instruction had ended', () => {
  it.each([
    ['SUB_IS_VALID', BANK_LADDER.SUB_STARTED, true],
    ['SUB_STARTED', BANK_LADDER.SUB_STARTED, false],
    ['SUB_STARTED', BANK_LADDER.SUB_IS_VALID, false],
    ['SUB_STARTED', BANK_LADDER.INI_STARTED, true],
    ['INITIATED', BANK_LADDER.INI_STARTED, false],
    ['EXCHANGED', 0, false],
    ['CANCELLED', BANK_LADDER.SUB_STARTED, false],
  ])('is %s of a payment at rank %i: %s', (value, rank, isFurther) => {
    expect(isStepFurther(value, rank)).toBe(isFurther);
  });
});

describe('what a payment is shown with whose history says that it was settled', () => {
  it('is both, unless it came back', () => {
    expect(statusesShown('FAILED', true)).toEqual(['SETTLED', 'FAILED']);
    expect(statusesShown('FAILED', false)).toEqual(['FAILED']);
    expect(statusesShown('RETURNED', true)).toEqual(['RETURNED']);
  });
});

describe('a payment that failed its own checks', () => {
  it.each(['INITIATED', 'SUB_STARTED', 'SUB_INT_CTRL_PASSED'])(
    'is not processable where it was left at %s',
    (status) => {
      expect(standingOf({ status, groupStatus: 'NOTPROCESSABLE' })).toBe(NOT_PROCESSABLE);
      for (const groupStatus of [undefined, 'IN_PROGRESS', 'PROCESSABLE'])
        expect(standingOf({ status, groupStatus })).toBe(status);
    },
  );

  it.each(['SUBMITTED', 'EXCHANGED', 'SETTLED', 'SUB_STRONG_AUTH_REQUIRED', 'SUB_NOT_IS_VALID', 'PRO_ODD'])(
    'is what its own status says at %s',
    (status) => expect(standingOf({ status, groupStatus: 'NOTPROCESSABLE' })).toBe(status),
  );

  it('keeps its rank, so that a step above is told', () => {
    const left = { rank: 5, terminal: 'FAILED' } as const;
    expect(readBankStatus('NOTPROCESSABLE')).toEqual({ kind: 'unknown' });
    expect(climb({ rank: 5 }, NOT_PROCESSABLE)).toEqual({ next: left, change: 'terminal' });
    expect(climb(left, NOT_PROCESSABLE)).toEqual({ next: left, change: 'none' });
    expect(climb(left, 'SUB_STARTED').change).toBe('fell');
    for (const status of ['SUBMITTED', 'EXCHANGED', 'SETTLED', 'RETURNED'])
      expect(climb(left, status)).toEqual({ next: left, change: 'contradiction' });
    expect(climb(left, 'SUB_NOT_IS_VALID').next).toEqual({ rank: TERMINAL_RANK, terminal: 'FAILED' });
  });

  it('may have been initiated when it was left: money moves in no step before that', () => {
    const left = climb({ rank: 1 }, NOT_PROCESSABLE).next;
    expect(climb(left, 'INITIATED').change).toBe('fell');
    expect(climb(left, 'SUB_STARTED').change).toBe('contradiction');
  });
});

describe('a payment that never took money', () => {
  it('ended before its debit, or is left before the bank took it up', () => {
    expect(NEVER_DEBITED).toEqual([
      'INI_STARTED',
      'INI_IS_VALID',
      'INI_INT_CTRL_PASSED',
      'INITIATED',
      'SUB_STARTED',
      'SUB_IS_VALID',
      'SUB_INT_CTRL_PASSED',
      'SUB_REQUIRED',
      'INI_NOT_IS_VALID',
      'INI_INT_CTRL_FAILED',
      'SUB_NOT_IS_VALID',
      'SUB_INT_CTRL_FAILED',
      'C_INSTRUCTION_SUB_NOT_PASSED',
      'P_INSTRUCTION_SUB_NOT_PASSED',
      'PRO_INT_CTRL_FAILED',
      'PRO_DEBIT_HOLD_FAILED',
      'C_INST_WAITING_FOR_APPROVAL',
      'SUB_STRONG_AUTH_REQUIRED',
      NOT_PROCESSABLE,
    ]);
  });

  it.each([
    'FAILED',
    'REJECTED',
    'CANCELLED',
    'EXT_REFUSED',
    'EXCHANGE_ERROR',
    'ABANDONED',
    'NEVER_HEARD_OF',
  ])('is not proven by %s', (status) => {
    expect(isNeverDebited(status)).toBe(false);
  });
});

describe('the status whose meaning a payment waits for', () => {
  it.each([
    ['PRO_ODD', 'SUBMITTED', 'PRO_ODD'],
    ['EXCHANGE_ERROR', 'C_ODD', 'EXCHANGE_ERROR'],
    ['INITIATED', 'C_ODD', 'C_ODD'],
    [null, 'C_ODD', 'C_ODD'],
    ['SUB_STARTED', 'C_ODD', undefined],
    ['SETTLED', 'C_ODD', undefined],
    ['WAREHOUSED', 'C_ODD', undefined],
    ['INITIATED', 'SUB_REQUIRED', undefined],
    [null, null, undefined],
  ])('is of %s in an instruction that is %s: %s', (own, ofInstruction, status) => {
    expect(unclearStatusOf(own, ofInstruction)).toBe(status);
  });

  it.each([
    [
      ['INITIATED', 'C_ODD', null],
      ['C_ODD', 'C_ODD', 'C_ODD'],
    ],
    [
      ['INITIATED', 'C_ODD', 'SUBMITTED'],
      ['INITIATED', 'C_ODD', 'SUBMITTED'],
    ],
    [
      ['INITIATED', 'EXCHANGE_ERROR'],
      ['INITIATED', 'EXCHANGE_ERROR'],
    ],
    [
      [null, 'SUB_STARTED'],
      [NEVER_SHOWN, 'SUB_STARTED'],
    ],
  ])(
    'is that of an instruction (C_ODD) while the bank is past its submit with none: of %j %j',
    (own, asked) => {
      expect(statusesAskedOf('C_ODD', own)).toEqual(asked);
    },
  );
});
