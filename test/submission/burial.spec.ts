import type { BankInstruction } from '../../src/bank/records';
import type { BankRead } from '../../src/employer/employer.entity';
import type { Standing } from '../../src/employer/standing';
import { stateIn } from '../../src/submission/burial';

const READS: BankRead[] = ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'];
const state = (standing: Partial<Standing>, reads = READS) =>
  stateIn({ isGone: false, isUnclear: false, statuses: [], ...standing }, { reads });
const shown = (status: string, payments: string[] = []) => ({
  shown: { status } as BankInstruction,
  statuses: [status, ...payments],
});

describe('whether what is to be declared dead can still be submitted', () => {
  it.each([
    [shown('SUB_STARTED'), 'moved'],
    [shown('CANCELLED', ['SETTLED']), 'moved'],
    [{ isGone: true, statuses: ['EXCHANGED'] }, 'moved'],
    [shown('PRO_ODD'), 'unclear'],
    [shown('CANCELLED', ['PRO_ODD']), 'unclear'],
    [{ isGone: true, statuses: ['PRO_ODD'] }, 'unclear'],
    [{ ...shown('CANCELLED'), isUnclear: true }, 'unclear'],
    [shown('INITIATED'), 'open'],
    [shown('CANCELLED'), 'cancelled'],
    [shown('ABANDONED'), 'cancelled'],
    // Of these nobody knows whether they come before a submit.
    [shown('FAILED'), 'open'],
    [shown('REJECTED'), 'open'],
    [{ isGone: true }, 'not found'],
    [{ isGone: true, statuses: ['INITIATED'] }, 'not shown'],
    [{}, 'not shown'],
    [{ isUnclear: true }, 'not shown'],
  ] as const)('%j: %s', (standing, found) => {
    expect(state(standing as Partial<Standing>)).toBe(found);
  });

  it('is open where no instruction may be read, whatever is not found', () => {
    expect(state({ isGone: true }, ['PAYMENT_LIST'])).toBe('open');
    expect(state({}, ['PAYMENT_LIST'])).toBe('open');
  });
});
