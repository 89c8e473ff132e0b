import {
  actionsFor,
  BEFORE_SUBMIT,
  needsWord,
  SUBMITTED_OR_NOT,
  UNSENT_OR_NOT,
} from '../../src/pay-run/attention-actions';
import { ATTENTION_WORDS, AttentionKind } from '../../src/pay-run/attention-words';

const kinds = Object.keys(ATTENTION_WORDS) as AttentionKind[];
const asked = (kind: AttentionKind, happened: string, payments = 2) => ({
  kind,
  happened,
  payments,
  subjectId: 'an instruction',
  instructionId: 'an instruction',
});

describe('what is on offer', () => {
  it.each(kinds)('is something, and nothing that the words of the kind do not have (%s)', (kind) => {
    for (const payments of [0, 1, 2]) {
      const actions = actionsFor(asked(kind, 'this', payments));
      expect(actions).not.toEqual([]);
      expect(ATTENTION_WORDS[kind].actions).toEqual(expect.arrayContaining([...actions]));
    }
  });

  it.each<[string, AttentionKind, string, number, string[]]>([
    ['of what is not shown after its submit', 'ROW_UNSEEN', '3 payments are not final', 3, ['ACKNOWLEDGE']],
    ['of what is not shown before it', 'ROW_UNSEEN', `${BEFORE_SUBMIT}…`, 3, ['TRY_AGAIN', 'ACKNOWLEDGE']],
    ['of what others may have submitted before it', 'ROW_UNSEEN', `${UNSENT_OR_NOT}: …`, 3, ['TRY_AGAIN']],
    ['of what others may have submitted and is to end', 'ROW_UNSEEN', SUBMITTED_OR_NOT, 3, ['ACKNOWLEDGE']],
    ['of a refused payment of a run', 'ROW_REFUSED_BY_BANK', '…', 2, ['EXCLUDE_PAYMENT', 'TRY_AGAIN']],
    ['of the only payment of a run', 'ROW_REFUSED_BY_BANK', '…', 1, ['TRY_AGAIN']],
  ])('is what can be carried out: %s', (_, kind, happened, payments, actions) => {
    expect(actionsFor(asked(kind, happened, payments))).toEqual(actions);
  });

  it('rests on the bank’s word where nobody can tell whether others submitted it', () => {
    expect(needsWord(asked('ROW_UNSEEN', `${UNSENT_OR_NOT}: …`), 'TRY_AGAIN')).toBe(true);
    expect(needsWord(asked('ROW_UNSEEN', SUBMITTED_OR_NOT), 'ACKNOWLEDGE')).toBe(true);
    expect(needsWord(asked('ROW_UNSEEN', `${BEFORE_SUBMIT}…`), 'TRY_AGAIN')).toBe(false);
    expect(needsWord(asked('REBUILD_LIMIT', '…'), 'TRY_AGAIN')).toBe(false);
  });
});
