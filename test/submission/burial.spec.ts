import { NotAllowed } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { Outcome } from '../../src/bank/outcome';
import type { BankInstruction } from '../../src/bank/records';
import { Clock } from '../../src/config/clock';
import type { Config } from '../../src/config/env';
import type { Database } from '../../src/database/database';
import type { BankRead } from '../../src/employer/employer.entity';
import type { Standing } from '../../src/employer/standing';
import type { Attention } from '../../src/pay-run/attention.entity';
import { Burial, stateIn } from '../../src/submission/burial';
import type { InstructionReader } from '../../src/submission/read-back';

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

describe('that a submit was not executed', () => {
  const YES = { kind: 'yes', value: undefined, status: 204 } as const;
  const doubt = (status?: number) => ({ kind: 'in-doubt', status, why: 'no answer' }) as const;
  const open = shown('INITIATED');
  const gone = { isGone: true };
  const EVIDENCE = 'letter of the bank, 4711';

  /** What comes of it at a bank that shows it so, one read after the other, and answers deletes so. */
  async function proving(
    shows: readonly (Partial<Standing> | Error)[],
    answers: readonly Outcome<undefined>[],
    evidence: string | null = null,
  ) {
    const [standings, deletes] = [[...shows], [...answers]];
    const instruction = { id: '1', employerId: '7', bankInstructionId: '4711' };
    const work = { instruction, account: { reads: READS } };
    const deleteInstruction = jest.fn(() => Promise.resolve(deletes.shift()));
    const standing = () => {
      const next = standings.shift();
      if (next instanceof Error) return Promise.reject(next);
      return Promise.resolve({ isGone: false, isUnclear: false, statuses: [], ...next });
    };
    const burial = new Burial(
      // What an intent or an outcome is written down in, too.
      { inEmployer: () => Promise.resolve(work) } as unknown as Database,
      { deleteInstruction } as unknown as BankGateway,
      { standing } as unknown as InstructionReader,
      new Clock(),
      { BANK_LAG_BOUND_MS: 0 } as Config,
    );
    const proof = burial.prove('7', { kind: 'SUBMIT_UNKNOWN' } as Attention, evidence).then(
      () => 'proven',
      ({ code }: { code: string }) => code,
    );
    return [await proof, deleteInstruction.mock.calls.length];
  }

  it('is proven by its end without a submit, or by a delete of what was shown that is refused once more', async () => {
    expect(await proving([shown('CANCELLED')], [])).toEqual(['proven', 0]);
    expect(await proving([open, shown('CANCELLED')], [YES])).toEqual(['proven', 1]);
    for (const status of [400, 404, 409, 410, 422])
      expect(await proving([open, gone, gone], [YES, doubt(status)])).toEqual(['proven', 2]);
  });

  it.each<[string, Partial<Standing>[], Outcome<undefined>[], number]>([
    ['is not confirmed to be deleted', [open, gone], [doubt(500)], 1],
    ['is confirmed to be deleted once more', [open, gone, gone], [YES, YES], 2],
    ['may be refused only for now', [open, gone, gone], [YES, doubt(500)], 2],
    ['has no answer to the second delete', [open, gone, gone], [YES, doubt()], 2],
    ['may be refused for want of access', [open, gone, gone], [YES, doubt(403)], 2],
    ['was not found before it was deleted', [gone, gone, gone], [YES, doubt(404)], 1],
    ['was in a status that no document names', [shown('PRO_ODD'), gone, gone], [YES, doubt(404)], 1],
    ['is shown still', [open, open, open], [YES, doubt(404)], 1],
    ['has payments that are shown', [open, gone, { ...gone, statuses: ['INITIATED'] }], [YES, doubt(404)], 1],
  ])('is not proven where it %s', async (_what, shows, answers, deletes) => {
    expect(await proving(shows, answers)).toEqual(['NOT_PROVEN_DEAD', deletes]);
  });

  it('is refuted by what is shown before its delete, and a lag bound after it, also against a word of the bank', async () => {
    const moved = shown('SUB_STARTED');
    for (const evidence of [null, EVIDENCE]) {
      expect(await proving([moved], [], evidence)).toEqual(['WAS_EXECUTED', 0]);
      expect(await proving([open, moved], [YES], evidence)).toEqual(['WAS_EXECUTED', 1]);
      expect(await proving([open, gone, moved], [YES], evidence)).toEqual(['WAS_EXECUTED', 1]);
    }
  });

  it('stands by the word of the bank where it is not shown, and by nothing less', async () => {
    const hidden = new NotAllowed(403, { raw: '' });
    expect(await proving([hidden, hidden], [doubt(404)], EVIDENCE)).toEqual(['proven', 1]);
    expect(await proving([hidden], [])).toEqual(['BANK_UNREADABLE', 0]);
    expect(await proving([hidden], [], ' ')).toEqual(['BANK_UNREADABLE', 0]);
  });
});
