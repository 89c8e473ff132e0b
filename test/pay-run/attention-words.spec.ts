import {
  actionsFor,
  ATTENTION_WORDS,
  AttentionKind,
  BEFORE_SUBMIT,
  needsWord,
  SUBMITTED_OR_NOT,
  UNSENT_OR_NOT,
} from '../../src/pay-run/attention-words';

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

it('asks the bank about everything its available balance may be lower by, as the gate counts it', () => {
  const { certain, askBank } = ATTENTION_WORDS.LOW_BALANCE;
  expect(askBank).toContain('submitted payments that are not executed yet');
  expect(askBank).toContain('added and not submitted yet');
  expect(certain).toContain('they count twice');
});

it('asks, before people declare a submit not executed, that nothing of it is now or later, and that what is parked is cancelled', () => {
  const buries = kinds.filter((kind) =>
    (ATTENTION_WORDS[kind].actions as readonly string[]).includes('NOT_EXECUTED'),
  );
  expect(buries).toEqual(['SUBMIT_UNKNOWN', 'SUBMIT_REFUSED', 'ENDED_BY_BANK']);
  for (const kind of buries) expect(ATTENTION_WORDS[kind].askBank).toMatch(/now or later/);
  for (const kind of ['SUBMIT_UNKNOWN', 'SUBMIT_REFUSED'] as const)
    expect(ATTENTION_WORDS[kind].askBank).toMatch(/cancel it for good/);
});

it.each<[AttentionKind, RegExp]>([
  ['SUBMIT_UNKNOWN', /executed yet or not\? If you did, leave it as it is\./],
  ['ENDED_BY_BANK', /it was or will be executed, leave this open/],
  ['REPLACED_UNSEEN', /take these out by an amendment, or cancel the run/],
])('says what to do on the other answer of the bank: %s', (kind, other) => {
  const { certain, askBank } = ATTENTION_WORDS[kind];
  expect(`${certain} ${askBank}`).toMatch(other);
});

it('leads who names another account to an upload, since a successor pays the one that it came back from', () => {
  const { certain } = ATTENTION_WORDS.PAYMENT_RETURNED;
  expect(certain).toMatch(/successor .* pays the IBAN that it came back from\. .*another .* uploaded/);
});

it('asks after a restore from when on, and about what rests open and could still be submitted', () => {
  expect(ATTENTION_WORDS.RESTORED.askBank).toMatch(/date and time.*could still be submitted\? Please cancel/);
});
