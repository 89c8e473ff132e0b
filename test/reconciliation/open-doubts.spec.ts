import { newId } from '../../src/database/new-id';
import { ATTENTION_WORDS, AttentionKind } from '../../src/pay-run/attention-words';
import { raise } from '../../src/pay-run/attention.store';
import { openDoubts } from '../../src/reconciliation/open-doubts';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';

const ours = idsOf(1);
let office: NothingAsked;
beforeAll(async () => {
  office = await nothingAsked();
});
afterAll(() => office.close());

it('what says that the bank did something else than any sum shows is a doubt while it is open', async () => {
  const kinds = Object.keys(ATTENTION_WORDS) as AttentionKind[];
  const doubts = await office.database.inEmployer(ours.employer, async (tx) => {
    for (const kind of kinds)
      await raise(tx, { kind, subjectId: newId(), payRunId: ours.run, happened: 'something' });
    return openDoubts(tx, [ours.run, ours.spareRun]);
  });
  expect([...doubts(ours.run)].sort()).toEqual([
    'CONTRADICTION',
    'ENDED_BY_BANK',
    'ENTRY_OF_THE_BANK',
    'FOREIGN_RECORD',
    'INVARIANT_BREACH',
    'POSSIBLE_RETURN',
    'REPLACED_PAYMENT_MOVED',
    'SUBMIT_REFUSED',
    'SUBMIT_UNKNOWN',
    'TOTALS_UNSEEN',
    'TOTAL_MISMATCH_AFTER_SUBMIT',
    'UNRECORDED_SUBMIT',
  ]);
  expect(doubts(ours.spareRun)).toEqual([]);
});
