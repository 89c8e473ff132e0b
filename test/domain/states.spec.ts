import { DomainError, IllegalTransition } from '../../src/domain/errors';
import * as instruction from '../../src/domain/instruction';
import * as payRun from '../../src/domain/pay-run';
import * as payment from '../../src/domain/payment';

interface Machine {
  statuses: readonly string[];
  initial: string;
  table: Readonly<Record<string, readonly string[]>>;
  meaning: Readonly<Record<string, string>>;
  finals: readonly string[];
  move: (from: string, to: string) => void;
}

const MACHINES: [string, Machine][] = [
  [
    'pay run',
    {
      statuses: payRun.PAY_RUN_STATUSES,
      initial: payRun.PAY_RUN_INITIAL,
      table: payRun.PAY_RUN_TRANSITIONS,
      meaning: payRun.PAY_RUN_MEANING,
      finals: ['SETTLED', 'PARTLY_SETTLED', 'FAILED', 'CANCELLED'],
      move: payRun.assertPayRunMove as Machine['move'],
    },
  ],
  [
    'instruction',
    {
      statuses: instruction.INSTRUCTION_STATUSES,
      initial: instruction.INSTRUCTION_INITIAL,
      table: instruction.INSTRUCTION_TRANSITIONS,
      meaning: instruction.INSTRUCTION_MEANING,
      finals: ['CLOSED', 'ABANDONED', 'CANCELLED', 'VOID', 'RELEASED'],
      move: instruction.assertInstructionMove as Machine['move'],
    },
  ],
  [
    'payment',
    {
      statuses: payment.PAYMENT_STATUSES,
      initial: 'READY',
      table: payment.PAYMENT_TRANSITIONS,
      meaning: payment.PAYMENT_MEANING,
      finals: ['SETTLED', 'FAILED', 'REJECTED', 'CANCELLED', 'VOID', 'EXCLUDED'],
      move: payment.assertPaymentMove as Machine['move'],
    },
  ],
];

function reachable(machine: Machine, from: string, without: readonly string[] = []): Set<string> {
  const seen = new Set([from]);
  for (const state of seen) {
    for (const next of machine.table[state] ?? []) if (!without.includes(next)) seen.add(next);
  }
  return seen;
}

describe.each(MACHINES)('the states of a %s', (entity, machine) => {
  it('are all reachable from the initial one', () => {
    expect([...reachable(machine, machine.initial)].sort()).toEqual([...machine.statuses].sort());
  });

  it('are final exactly where the protocol says so', () => {
    expect(machine.statuses.filter((status) => machine.table[status]!.length === 0)).toEqual(machine.finals);
  });

  it('all lead to a final one', () => {
    for (const status of machine.statuses) {
      expect([...reachable(machine, status)].some((each) => machine.finals.includes(each))).toBe(true);
    }
  });

  it('move only along the table', () => {
    for (const from of machine.statuses) {
      for (const to of machine.statuses) {
        const allowed = machine.table[from]!.includes(to);
        if (allowed) expect(() => machine.move(from, to)).not.toThrow();
        else expect(() => machine.move(from, to)).toThrow(IllegalTransition);
      }
    }
  });

  it('are each told in one line, and never move to themselves', () => {
    for (const status of machine.statuses) {
      expect(machine.meaning[status]).toMatch(/^[A-Z][^\n]+\.$/);
      expect(machine.table[status]).not.toContain(status);
      expect(new Set(machine.table[status]).size).toBe(machine.table[status]!.length);
    }
  });

  it('refuse an illegal move with a stable code and without personal data', () => {
    const [final] = machine.finals;
    try {
      machine.move(final!, machine.initial);
      throw new Error('moved');
    } catch (error) {
      expect(error).toBeInstanceOf(DomainError);
      expect(error).toMatchObject({
        name: 'IllegalTransition',
        code: 'ILLEGAL_TRANSITION',
        detail: { entity, from: final, to: machine.initial },
      });
    }
  });
});

describe('the protocol', () => {
  const [runs, instructions, payments] = MACHINES.map(([, machine]) => machine) as [
    Machine,
    Machine,
    Machine,
  ];

  it('submits a run only through approval, building and verification', () => {
    for (const gate of ['APPROVED', 'BUILDING', 'VERIFIED']) {
      expect(reachable(runs, 'DRAFT', [gate])).not.toContain('SUBMITTING');
    }
  });

  it('cancels no run once submitting has begun', () => {
    expect(reachable(runs, 'SUBMITTING')).not.toContain('CANCELLED');
    for (const status of ['DRAFT', 'READY', 'APPROVED', 'BUILDING', 'VERIFIED']) {
      expect(runs.table[status]).toContain('CANCELLING');
    }
  });

  it('never submits an abandoned instruction, and submits none without a written intent', () => {
    expect(reachable(instructions, 'ABANDONED')).toEqual(new Set(['ABANDONED']));
    expect(reachable(instructions, 'PLANNED', ['SUBMIT_INTENT'])).not.toContain('SUBMITTED');
  });

  it('never arms again a submit that was refused or is unknown', () => {
    for (const parked of instruction.INSTRUCTION_PARKED) {
      expect(reachable(instructions, parked)).not.toContain('SUBMIT_INTENT');
    }
  });

  it('takes a payment back only while it was not submitted', () => {
    expect(reachable(payments, 'SUBMITTED')).not.toContain('APPROVED');
    expect(reachable(payments, 'SUBMITTED')).not.toContain('AT_BANK');
    expect(payments.table['AT_BANK']).toContain('APPROVED');
  });

  it('pays no held or excluded payment', () => {
    expect(payments.table['HELD']).not.toContain('AT_BANK');
    expect(payments.table['EXCLUDED']).toEqual([]);
  });

  it('counts as live what was paid or may still be paid, and what is held from its release on', () => {
    for (const status of payment.PAYMENT_STATUSES) {
      const mayPay = status !== 'HELD' && reachable(payments, status).has('SETTLED');
      expect([status, payment.LIVE_PAYMENT_STATUSES.includes(status)]).toEqual([status, mayPay]);
    }
  });

  it('knows finals by name', () => {
    expect(payRun.PAY_RUN_STATUSES.filter(payRun.isPayRunFinal)).toEqual(runs.finals);
    expect(instruction.INSTRUCTION_STATUSES.filter(instruction.isInstructionFinal)).toEqual(
      instructions.finals,
    );
    expect(payment.PAYMENT_STATUSES.filter(payment.isPaymentFinal)).toEqual(payments.finals);
  });
});
