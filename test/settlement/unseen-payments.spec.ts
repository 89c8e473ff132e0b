import type { BankInstruction } from '../../src/bank/records';
import type { BankRead } from '../../src/employer/employer.entity';
import type { Instruction } from '../../src/pay-run/instruction.entity';
import type { Followed } from '../../src/settlement/followed';
import { isUnseen, type Sight } from '../../src/settlement/totals-check';

describe('whether a payment too many would be seen by nobody', () => {
  const OF_BANK = { bankPaymentId: 'p-1', ids: ['p-1'], status: 'SETTLED', wasSettled: true } as const;
  const named = { ...OF_BANK, bankInstructionId: 'bank-1-1' };
  const bare: BankInstruction = { bankInstructionId: 'bank-1-1', status: 'SUB_REQUIRED' };
  const counted = { ...bare, calculatedCount: 1, calculatedTotalMinor: 100n };

  it.each<[string, boolean, Partial<Sight> & { checked?: Date; reads?: BankRead[]; again?: boolean }]>([
    ['a list that names whose each is, once it was submitted', false, { seen: [named], reads: [] }],
    ['a list that names nobody', true, { reads: [] }],
    [
      'a list that names ours alone, by message id',
      true,
      { seen: [{ ...OF_BANK, messageId: 'ours' }], reads: [] },
    ],
    ['a list that names only some', true, { seen: [named, OF_BANK], reads: [] }],
    ['its own list', false, { by: 'own-list', reads: [] }],
    ['its own list, while it is hidden', true, { by: 'own-list', hidden: true }],
    ['a list that shows none of ours', true, { seen: [], reads: [] }],
    ['its own list, of which it shows none', true, { seen: [], by: 'own-list', reads: [] }],
    ['one that is gone, with all its payments', false, { seen: [], hidden: true, gone: true }],
    ['one that is gone, and not its payments', true, { hidden: true, gone: true }],
    ['each by itself', true, { seen: [named], by: 'itself', reads: [] }],
    ['an instruction that never showed its totals', true, { shown: counted }],
    ['one that is to show them at its second look', false, { checked: new Date(), shown: bare }],
    ['one that is not read', true, { checked: new Date(), reads: [] }],
    ['one that is hidden', true, { checked: new Date(), hidden: true }],
    ['one that shows none at its second look', true, { checked: new Date(), shown: bare, again: true }],
    ['one that counts what was added', false, { checked: new Date(), shown: counted, again: true }],
    [
      'one that counts less, at its second look',
      true,
      { checked: new Date(), shown: { ...counted, calculatedCount: 0 }, again: true },
    ],
    [
      'one that sums up less, at its second look',
      true,
      { checked: new Date(), shown: { ...counted, calculatedTotalMinor: 1n }, again: true },
    ],
    ['one that cannot be read just now', false, { checked: new Date(), again: true }],
  ])('%s: %s', (_, unseen, { checked = null, reads = ['INSTRUCTION'], again = false, ...sight }) => {
    const planned = { rowCount: 1, totalMinor: 100n };
    const followed = { account: { reads }, planned } as unknown as Followed;
    const none = { by: undefined, shown: undefined, hidden: false, gone: false };
    const whole: Sight = { seen: [OF_BANK], ...none, ...sight };
    expect(isUnseen(followed, { totalsCheckedAt: checked } as Instruction, whole, again)).toBe(unseen);
  });
});
