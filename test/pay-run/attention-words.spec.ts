import { ATTENTION_WORDS, AttentionKind } from '../../src/pay-run/attention-words';

const kinds = Object.keys(ATTENTION_WORDS) as AttentionKind[];

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
