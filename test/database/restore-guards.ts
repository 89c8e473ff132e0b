import { Guard } from './guard';
import {
  EARLIER_RESTORE,
  firstRows,
  hashOf,
  idsOf,
  insertion,
  NOW,
  Row,
  secondRows,
  uuid,
} from './two-employers';

const a = idsOf(1);
const [FRESH] = a.fresh;
const {
  submit_attempt: attempt,
  forgotten_instruction: forgotten,
  restore_check: check,
  moved_instruction: moved,
  instruction,
} = secondRows(1);
const submit = insertion('submit_attempt', attempt);
const afterwards = insertion('submit_attempt', { ...attempt, outcome: 'EXECUTED' });
const shown = { ...forgotten, bank_instruction_id: attempt.bank_instruction_id, adopted_at: null };

const BY_RESTORE = {
  kind: 'trigger',
  on: 'submit_attempt',
  object: 'refuse_submit_after_a_restore',
} as const;
const BY_EVIDENCE = {
  kind: 'trigger',
  on: 'submit_attempt',
  object: 'refuse_adoption_without_evidence',
} as const;
const BY_READING = {
  kind: 'trigger',
  on: 'service_stop',
  object: 'refuse_resume_before_the_bank_was_read',
} as const;
const BY_RESUMING = {
  kind: 'trigger',
  on: 'service_stop',
  object: 'refuse_resume_without_two_people',
  says: 'resume_needs_two_people',
} as const;

const BY_RELEASE: Omit<Guard, 'name' | 'lawful' | 'forbidden'> = {
  kind: 'trigger',
  on: 'instruction',
  object: 'refuse_release_after_a_restore',
  says: 'forgotten_run_is_not_released',
  given: [insertion('instruction', { ...instruction, status: 'VERIFIED' })],
};
const giveUp = `UPDATE instruction SET status = 'ABANDONED' WHERE id = '${instruction.id}'`;
const release = `UPDATE instruction SET status = 'RELEASED' WHERE id = '${instruction.id}'`;

/** Of another run, whose employee has a live payment in the first. */
const ofCancelled = { id: FRESH, pay_run_id: a.spareRun, status: 'CANCELLED', live: false };

const stop = (id: string, subject: string) =>
  `INSERT INTO service_stop (id, employer_id, kind, subject_id) VALUES ('${id}', '${a.employer}', 'RESTORED', '${subject}')`;
const lift = `UPDATE service_stop SET lifted_at = now()`;

const [, NEXT] = a.fresh;
const { attention, attention_action: action, payment, pay_run } = secondRows(1);
/** Two people resume after `EARLIER_RESTORE` on what the bank wrote, or it is otherwise. */
const resumed = ({ asked: of, decided: by }: Change = {}) =>
  [
    insertion('attention', { ...attention, kind: 'RESTORED', subject_id: EARLIER_RESTORE, ...of }),
    insertion('attention_action', {
      ...action,
      attention_id: attention.id,
      action: 'RESUME',
      evidence: 'a letter',
      payment_ids: null,
      ...by,
    }),
  ].join('; ');
const asked = { ...attention, kind: 'UNRECORDED_SUBMIT' };
const decided = {
  ...action,
  id: NEXT,
  attention_id: attention.id,
  action: 'EXECUTED',
  evidence: null,
  payment_ids: null,
};
/** Submitted by somebody else, and so decided. */
const byOthers = {
  ...forgotten,
  restore_id: null,
  instruction_id: attention.instruction_id,
  action_id: NEXT,
};
/** What a restore had forgotten, and people say was executed. */
const inWriting = { ...forgotten, adopted_at: null, action_id: NEXT };
const BY_TWO: Pick<Guard, 'kind' | 'on' | 'object' | 'says'> = {
  kind: 'trigger',
  on: 'forgotten_instruction',
  object: 'refuse_decision_by_one_person',
  says: 'unrecorded_submit_needs_two_people',
};
const ONCE: Pick<Guard, 'kind' | 'on' | 'object' | 'says'> = {
  kind: 'trigger',
  on: 'forgotten_instruction',
  object: 'refuse_second_decision',
  says: 'unrecorded_submit_is_decided_once',
};
interface Change {
  asked?: Row;
  decided?: Row;
}
/** Of all that is forgotten of a run, on the bank's written word. */
const BY_LETTER: Change = { asked: { instruction_id: null }, decided: { evidence: 'a letter' } };
const decision = (row: Row, change: Change = {}) =>
  [
    insertion('attention', { ...asked, ...change.asked }),
    insertion('attention_action', { ...decided, ...change.decided }),
    insertion('forgotten_instruction', row),
  ].join('; ');

const BY_ANOTHER: Pick<Guard, 'kind' | 'on' | 'object' | 'says'> = {
  kind: 'trigger',
  on: 'payment',
  object: 'refuse_successor_of_a_forgotten_run',
  says: 'replaced_was_not_paid_by_another',
};
/** A payment of the same employee in the spare run, or in another that is cancelled. */
const ofSpare = {
  ...payment,
  id: NEXT,
  row_no: 1,
  pay_run_id: a.spareRun,
  replaces_payment_id: null,
  status: 'CANCELLED',
  live: false,
};
const cancelledRun = { ...pay_run, status: 'CANCELLED' };
const LATER = uuid(7);
const laterRestore = insertion('database_restore', {
  id: LATER,
  what: 'a dump',
  noticed_at: '2020-01-01T08:00:00Z',
  told_at: NOW,
});
const wholeCheck = { ...check, restore_id: LATER, needs_evidence: false };
const ofSpareRun = { ...forgotten, pay_run_id: a.spareRun, adopted_at: null };
const ofNoRun = { ...forgotten, pay_run_id: null, adopted_at: null };

const armed = `UPDATE instruction SET status = 'VERIFIED' WHERE id = '${a.instruction[0]}'`;

const submittedAs = (status: string) => `UPDATE forgotten_instruction SET submitted_as = '${status}'`;

/** Of submits that are not in the record. */
const UNRECORDED_GUARDS: Guard[] = [
  {
    name: 'what is not in the record was forgotten by a restore, or is decided by people',
    kind: 'constraint',
    on: 'forgotten_instruction',
    object: 'forgotten_instruction_has_cause',
    lawful: insertion('forgotten_instruction', forgotten),
    forbidden: insertion('forgotten_instruction', { ...forgotten, restore_id: null }),
  },
  ...(<{ who: string; change: Change }[]>[
    { who: 'one person', change: { decided: { confirmed_by: null, confirmed_at: null } } },
    { who: 'two people who decided otherwise', change: { decided: { action: 'ACKNOWLEDGE' } } },
    { who: 'two people who were asked something else', change: { asked: { kind: 'CONTRADICTION' } } },
    {
      who: 'two people who were asked about another instruction',
      change: { asked: { instruction_id: null } },
    },
    { who: 'two people who were asked about another run', change: { asked: { pay_run_id: a.spareRun } } },
  ]).map(({ who, change }): Guard => ({
    name: `no submit of somebody else is taken over by ${who}`,
    ...BY_TWO,
    lawful: decision(byOthers),
    forbidden: decision(byOthers, change),
  })),
  {
    name: 'what could not be taken back is said to be executed only with what the bank wrote',
    ...BY_TWO,
    lawful: decision(inWriting, BY_LETTER),
    forbidden: decision(inWriting, { asked: { instruction_id: null } }),
  },
  {
    name: 'nothing replaces, unless it is held, what a forgotten submit of another run may have paid',
    ...BY_ANOTHER,
    given: [insertion('payment', ofSpare)],
    lawful: `${insertion('forgotten_instruction', ofSpareRun)}; ${insertion('payment', { ...payment, status: 'HELD', live: false })}`,
    forbidden: `${insertion('forgotten_instruction', ofSpareRun)}; ${insertion('payment', payment)}`,
  },
  {
    name: 'nothing replaces what a run may have paid that was in a restored database and is cancelled',
    ...BY_ANOTHER,
    given: [insertion('pay_run', cancelledRun), insertion('payment', { ...ofSpare, pay_run_id: FRESH })],
    lawful: insertion('payment', payment),
    forbidden: `${laterRestore}; ${insertion('restore_check', wholeCheck)}; ${insertion('payment', payment)}`,
  },
  {
    name: 'nothing of before a restore is replaced while the bank was not read, or does not show everything',
    ...BY_ANOTHER,
    given: [laterRestore],
    lawful: `${insertion('restore_check', wholeCheck)}; ${insertion('payment', payment)}`,
    forbidden: `${insertion('restore_check', { ...wholeCheck, needs_evidence: true })}; ${insertion('payment', payment)}`,
  },
  {
    name: 'nothing of before a restore is replaced while the bank shows a submit of a run that was forgotten too',
    ...BY_ANOTHER,
    lawful: `${insertion('forgotten_instruction', { ...ofNoRun, found_at: '2020-01-01' })}; ${insertion('payment', payment)}`,
    forbidden: `${insertion('forgotten_instruction', ofNoRun)}; ${insertion('payment', payment)}`,
  },
  {
    name: 'it is not by a clock that it is told whether the bank showed that after what would be replaced',
    ...BY_ANOTHER,
    given: [laterRestore, insertion('restore_check', wholeCheck)],
    lawful: insertion('payment', payment),
    forbidden: `${insertion('forgotten_instruction', { ...ofNoRun, restore_id: LATER, found_at: '2020-01-01' })};
      ${insertion('payment', payment)}`,
  },
  {
    name: 'nothing of before a restore is replaced while the bank shows a forgotten submit of the account, be it of another then',
    ...BY_ANOTHER,
    given: [laterRestore, insertion('restore_check', wholeCheck)],
    lawful: `${insertion('forgotten_debit', { restore_id: LATER, bank_instruction_id: 'CI-7', debtor_hash: hashOf(77) })};
      ${insertion('payment', payment)}`,
    forbidden: `INSERT INTO forgotten_debit (restore_id, bank_instruction_id, debtor_hash)
        SELECT '${LATER}', 'CI-7', iban_hash FROM employer_account WHERE employer_id = '${a.employer}';
      ${insertion('payment', payment)}`,
  },
  {
    name: 'nothing replaces what a submit that is not in the record may have paid',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_successor_of_a_forgotten_run',
    says: 'replaced_was_not_forgotten',
    lawful: `${insertion('forgotten_instruction', forgotten)}; ${insertion('payment', payment)}`,
    forbidden: `${insertion('forgotten_instruction', { ...forgotten, adopted_at: null })}; ${insertion('payment', payment)}`,
  },
];

const BY_SUBMIT: Pick<Guard, 'kind' | 'on' | 'object' | 'says'> = {
  kind: 'trigger',
  on: 'forgotten_instruction',
  object: 'refuse_taking_back_without_a_submit',
  says: 'taken_back_with_its_submit',
};
const takenBack = (time: string) =>
  `UPDATE forgotten_instruction SET adopted_at = ${time} WHERE bank_instruction_id = '${attempt.bank_instruction_id}'`;
const decides = `UPDATE forgotten_instruction SET action_id = '${NEXT}' WHERE bank_instruction_id = '${inWriting.bank_instruction_id}'`;

const counted = (payments: number) =>
  `UPDATE forgotten_instruction SET executed_payments = ${payments}, executed_minor = 100 WHERE bank_instruction_id = '${inWriting.bank_instruction_id}'`;

const debit = (bankInstructionId: string) =>
  `INSERT INTO forgotten_debit (restore_id, bank_instruction_id) VALUES ('${FRESH}', '${bankInstructionId}')`;
const KEPT_KEY = `INSERT INTO hash_key (id, fingerprint, given_up_at) VALUES ('${FRESH}', '\\x01', NULL)`;

/** Of what a restored database may have forgotten. */
export const RESTORE_GUARDS: Guard[] = [
  ...UNRECORDED_GUARDS,
  {
    name: 'no submit from before a restore is sent again, though it is proven unsent',
    kind: 'trigger',
    on: 'instruction',
    object: 'refuse_arming_after_a_restore',
    says: 'submit_before_a_restore_is_not_sent_again',
    given: [
      `UPDATE submit_attempt SET outcome = 'PROVEN_UNSENT' WHERE instruction_id = '${a.instruction[0]}'`,
    ],
    lawful: armed,
    forbidden: `${laterRestore}; ${armed}`,
  },
  {
    name: 'there is one database the service last ran on',
    kind: 'constraint',
    on: 'database_identity',
    object: 'database_identity_id_check',
    lawful: `INSERT INTO database_identity (database_oid, written_by) VALUES (1, '7')`,
    forbidden: `INSERT INTO database_identity (id, database_oid, written_by) VALUES (2, 1, '7')`,
  },
  {
    name: 'names and IBANs are hashed by one key at a time',
    kind: 'index',
    on: 'hash_key',
    object: 'one_hash_key',
    lawful: `${KEPT_KEY}, ('${NEXT}', '\\x02', clock_timestamp())`,
    forbidden: `${KEPT_KEY}, ('${NEXT}', '\\x02', NULL)`,
  },
  {
    name: 'what a restored database has forgotten is kept once for each restore',
    kind: 'constraint',
    on: 'forgotten_debit',
    object: 'forgotten_debit_pkey',
    given: [insertion('database_restore', { id: FRESH, what: 'a dump', told_at: NOW }), debit('CI-1')],
    lawful: debit('CI-2'),
    forbidden: debit('CI-1'),
  },
  {
    name: 'nothing is submitted on rows that were loaded from a dump',
    ...BY_RESTORE,
    says: 'submit_needs_known_database',
    lawful: submit,
    forbidden: `INSERT INTO database_identity (system_identifier, timeline, database_oid, written_by)
      SELECT system_identifier, timeline, database_oid, '7' FROM read_database(); ${submit}`,
  },
  {
    name: 'nothing is submitted before everybody was told of a restore',
    ...BY_RESTORE,
    says: 'submit_needs_known_database',
    lawful: `${insertion('database_restore', { id: FRESH, what: 'a dump', told_at: NOW })}; ${submit}`,
    forbidden: `${insertion('database_restore', { id: FRESH, what: 'a dump' })}; ${submit}`,
  },
  {
    name: 'nothing is submitted of a run of which a submit was forgotten',
    ...BY_RESTORE,
    says: 'forgotten_run_is_not_paid_again',
    lawful: `${insertion('forgotten_instruction', forgotten)}; ${submit}`,
    forbidden: `${insertion('forgotten_instruction', { ...forgotten, adopted_at: null })}; ${submit}`,
  },
  {
    name: 'nothing is submitted for employees whom a forgotten submit of another run may have paid',
    ...BY_RESTORE,
    says: 'forgotten_pay_is_not_paid_again',
    given: [insertion('payment', { ...firstRows(1).payment, ...ofCancelled })],
    lawful: `${insertion('forgotten_instruction', { ...forgotten, pay_run_id: a.spareRun })}; ${submit}`,
    forbidden: `${insertion('forgotten_instruction', { ...forgotten, pay_run_id: a.spareRun, adopted_at: null })}; ${submit}`,
  },
  {
    name: 'nobody is held back by a forgotten submit of another run for whom the run has submitted already',
    ...BY_RESTORE,
    says: 'forgotten_pay_is_not_paid_again',
    given: [
      insertion('payment', { ...firstRows(1).payment, ...ofCancelled }),
      insertion('forgotten_instruction', ofSpareRun),
    ],
    lawful: `UPDATE payment SET status = 'SUBMITTED' WHERE id = '${a.payment}'; ${submit}`,
    forbidden: submit,
  },
  {
    name: 'nothing is submitted for employees whom an instruction that was given up and moved may have paid',
    ...BY_RESTORE,
    says: 'forgotten_pay_is_not_paid_again',
    lawful: submit,
    forbidden: `${insertion('moved_instruction', moved)}; ${submit}`,
  },
  ...[
    { what: 'has no submit in the record', of: [] },
    {
      what: 'has one in the record that is in doubt',
      of: [submit, `UPDATE submit_attempt SET outcome = 'IN_DOUBT' WHERE id = '${attempt.id}'`],
    },
  ].map(({ what, of }): Guard => ({
    name: `what was forgotten is not taken back while it ${what}`,
    ...BY_SUBMIT,
    lawful: `${insertion('forgotten_instruction', shown)}; ${afterwards}; ${takenBack('now()')}`,
    forbidden: [...of, insertion('forgotten_instruction', shown), takenBack('now()')].join('; '),
  })),
  ...['now()', 'NULL'].map((time): Guard => ({
    name: `what was taken back stays as it was, and is not taken back at ${time}`,
    ...BY_SUBMIT,
    given: [insertion('forgotten_instruction', { ...shown, adopted_at: NOW })],
    lawful: takenBack('adopted_at'),
    forbidden: takenBack(time),
  })),
  {
    name: 'what becomes of a submit that is not in the record is decided once',
    ...ONCE,
    given: [decision({ ...inWriting, action_id: null }, BY_LETTER)],
    lawful: decides,
    forbidden: `${decides}; UPDATE forgotten_instruction SET action_id = NULL WHERE action_id = '${NEXT}'`,
  },
  {
    name: 'what is counted of a submit that is not in the record, also after it was decided, stays as it is',
    ...ONCE,
    given: [decision(inWriting, BY_LETTER)],
    lawful: counted(1),
    forbidden: `${counted(1)}; ${counted(2)}`,
  },
  {
    name: 'that what a restore left open was submitted is written down once',
    kind: 'trigger',
    on: 'forgotten_instruction',
    object: 'refuse_other_submitted_status',
    says: 'shown_as_submitted_once',
    given: [insertion('forgotten_instruction', forgotten)],
    lawful: submittedAs('SUBMITTED'),
    forbidden: `${submittedAs('SUBMITTED')}; ${submittedAs('SETTLED')}`,
  },
  {
    name: 'what is counted of a submit that is not in the record is decided by two people',
    kind: 'constraint',
    on: 'forgotten_instruction',
    object: 'forgotten_instruction_counts_what_is_decided',
    given: [insertion('forgotten_instruction', forgotten)],
    lawful: `UPDATE forgotten_instruction SET executed_payments = NULL`,
    forbidden: counted(1),
  },
  ...[
    { what: 'the bank does not show', change: { bank_instruction_id: 'another' } },
    { what: 'was recorded before', change: { adopted_at: NOW } },
  ].map(({ what, change }): Guard => ({
    name: `no submit is recorded afterwards that ${what}`,
    ...BY_EVIDENCE,
    says: 'adoption_needs_evidence',
    lawful: `${insertion('forgotten_instruction', shown)}; ${afterwards}`,
    forbidden: `${insertion('forgotten_instruction', { ...shown, ...change })}; ${afterwards}`,
  })),
  ...[
    { what: 'a run that is not being submitted', change: `UPDATE pay_run SET status = 'VERIFIED'` },
    { what: 'a version of its run that does not stand', change: 'UPDATE pay_run SET run_version = 2' },
    {
      what: 'an instruction that is not in SUBMIT_INTENT',
      change: `UPDATE instruction SET status = 'VERIFIED' WHERE id = '${attempt.instruction_id}'`,
    },
  ].map(({ what, change }): Guard => ({
    name: `no submit is recorded afterwards of ${what}`,
    ...BY_EVIDENCE,
    says: 'adoption_needs_evidence',
    given: ['DROP TRIGGER refuse_illegal_move ON pay_run', insertion('forgotten_instruction', shown)],
    lawful: afterwards,
    forbidden: `${change}; ${afterwards}`,
  })),
  {
    name: 'no submit is recorded afterwards of other rows than were approved',
    ...BY_EVIDENCE,
    says: 'adoption_needs_evidence',
    given: [insertion('forgotten_instruction', shown)],
    lawful: afterwards,
    forbidden: insertion('submit_attempt', { ...attempt, outcome: 'EXECUTED', row_hash: hashOf(7) }),
  },
  {
    name: 'nothing is released of a run of which a submit was forgotten',
    ...BY_RELEASE,
    lawful: `${insertion('forgotten_instruction', forgotten)}; ${release}`,
    forbidden: `${insertion('forgotten_instruction', { ...forgotten, adopted_at: null })}; ${release}`,
  },
  {
    name: 'nothing is released of a run of which a submit was forgotten before people decided it',
    ...BY_RELEASE,
    lawful: `${decision(inWriting, BY_LETTER)}; ${release}`,
    forbidden: `${insertion('forgotten_instruction', { ...inWriting, action_id: null })}; ${release}`,
  },
  {
    name: 'nothing is released after a restore before people resumed',
    ...BY_RELEASE,
    lawful: release,
    forbidden: `${stop(FRESH, EARLIER_RESTORE)}; ${release}`,
  },
  {
    name: 'nothing is given up before everybody is told of a restore',
    kind: 'trigger',
    on: 'instruction',
    object: 'refuse_giving_up_after_a_restore',
    says: 'giving_up_needs_known_database',
    given: [insertion('instruction', { ...instruction, status: 'VERIFIED' })],
    lawful: `${laterRestore}; ${giveUp}`,
    forbidden: `${insertion('database_restore', { id: LATER, what: 'a dump' })}; ${giveUp}`,
  },
  {
    name: 'nothing is released on rows that were loaded from a dump',
    ...BY_RELEASE,
    lawful: release,
    forbidden: `INSERT INTO database_identity (system_identifier, timeline, database_oid, written_by)
      SELECT system_identifier, timeline, database_oid, '7' FROM read_database(); ${release}`,
  },
  {
    name: 'a bank that was read after a restore is not waited for any more',
    kind: 'constraint',
    on: 'restore_check',
    object: 'restore_check_waits_until_it_passed',
    lawful: insertion('restore_check', {
      ...wholeCheck,
      restore_id: EARLIER_RESTORE,
      passed_at: null,
      waits_for: 'GET',
    }),
    forbidden: insertion('restore_check', { ...wholeCheck, restore_id: EARLIER_RESTORE, waits_for: 'GET' }),
  },
  {
    name: 'what the check after a restore found never changes',
    kind: 'trigger',
    on: 'restore_check',
    object: 'refuse_change_of_a_passed_check',
    says: 'passed_restore_check_stays',
    lawful: `${insertion('restore_check', { ...check, passed_at: null })};
      UPDATE restore_check SET passed_at = now(), needs_evidence = false WHERE restore_id = '${EARLIER_RESTORE}'`,
    forbidden: `${insertion('restore_check', check)};
      UPDATE restore_check SET needs_evidence = false WHERE restore_id = '${EARLIER_RESTORE}'`,
  },
  {
    name: 'submits stay off after a restore until the bank was read',
    ...BY_READING,
    says: 'restore_is_reconciled',
    given: [stop(FRESH, EARLIER_RESTORE), resumed()],
    lawful: `${insertion('restore_check', check)}; ${lift}`,
    forbidden: `${insertion('restore_check', { ...check, passed_at: null })}; ${lift}`,
  },
  ...(<{ by: string; change: Change }[]>[
    { by: 'one person', change: { decided: { confirmed_by: null, confirmed_at: null } } },
    { by: 'two people who decided something else', change: { decided: { action: 'ACKNOWLEDGE' } } },
    { by: 'two people who were asked about another restore', change: { asked: { subject_id: FRESH } } },
    { by: 'two people who were asked something else', change: { asked: { kind: 'INVARIANT_BREACH' } } },
    {
      by: 'two people without that of the bank, which did not show everything',
      change: { decided: { evidence: null } },
    },
    { by: 'two people to whom the bank wrote nothing', change: { decided: { evidence: '  ' } } },
  ]).map(({ by, change }): Guard => ({
    name: `submits do not go on after a restore by the word of ${by}`,
    ...BY_RESUMING,
    given: [stop(FRESH, EARLIER_RESTORE), insertion('restore_check', check)],
    lawful: `${resumed()}; ${lift}`,
    forbidden: `${resumed(change)}; ${lift}`,
  })),
  {
    name: 'submits do not go on after a restore because the bank was read',
    ...BY_RESUMING,
    given: [
      stop(FRESH, EARLIER_RESTORE),
      insertion('restore_check', { ...wholeCheck, restore_id: EARLIER_RESTORE }),
    ],
    lawful: `${resumed({ decided: { evidence: null } })}; ${lift}`,
    forbidden: lift,
  },
];
