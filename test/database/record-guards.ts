import { Guard } from './guard';
import {
  APPROVER,
  firstRows,
  idsOf,
  insertion,
  NOBODY,
  NOW,
  OTHER,
  PREPARER,
  Row,
  secondRows,
} from './two-employers';

const a = idsOf(1);
const [FRESH, NEXT] = a.fresh;
const { employer_account: account, attention, attention_action: action, ...second } = secondRows(1);
const open = { ...action, confirmed_by: null, confirmed_at: null };
const confirmedByOther = `UPDATE attention_action SET confirmed_by = '${OTHER}', confirmed_at = now() WHERE id = '${FRESH}'`;

const stop = (id: string) =>
  `INSERT INTO service_stop (id, employer_id, kind, subject_id)
   VALUES ('${id}', '${a.employer}', 'FOREIGN_RECORD', '${a.run}')`;
const lifted = `UPDATE service_stop SET lifted_at = now()`;
/** Two people resume after the breach that `stop` is for, or it is otherwise. */
const resumed = (asked: Row = {}, by: Row = {}) =>
  [
    insertion('attention', { ...attention, kind: 'FOREIGN_RECORD', subject_id: a.run, ...asked }),
    insertion('attention_action', {
      ...action,
      attention_id: attention.id,
      action: 'RESUME',
      payment_ids: null,
      ...by,
    }),
  ].join('; ');
const goesOn = `UPDATE service_switch SET submits_off = false, reason = NULL`;

const history = ['audit_entry', 'state_change'] as const;
const ownOf = { audit_entry: `chain_id = '${a.employer}'`, state_change: `employer_id = '${a.employer}'` };

/** Each partition has a guard of its own against being emptied. */
const UNGUARDED_PARTITIONS = `DO $$ DECLARE part regclass; BEGIN
  FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'state_change'::regclass LOOP
    EXECUTE format('DROP TRIGGER never_emptied ON %s', part);
  END LOOP; END $$`;

const kept: Row = { ...second.faulty_row, payment_id: null };
/** The first row, which was corrected, corrected otherwise. */
const corrected = (change: string) =>
  `UPDATE faulty_row SET ${change} WHERE faulty_file_id = '${a.faultyFile}' AND line = 5`;
const refused: Row = { ...second.faulty_file, pay_run_id: null, expires_at: NOW };

const detach = (id: string) => `UPDATE employer_account SET detached_at = now() WHERE id = '${id}'`;
const detached = [insertion('employer_account', account), detach(String(account.id))];

const { payment_decision: decision } = second;
const decided = (by: Row, of: Row = {}, asked: Row = {}) =>
  [
    insertion('attention', { ...attention, ...asked }),
    insertion('attention_action', { ...action, attention_id: attention.id, ...by }),
    insertion('payment_decision', { ...decision, action_id: FRESH, ...of }),
  ].join('; ');
const ASKED = { kind: 'UNKNOWN_STATUS', subject_id: a.payment };
const BY_TWO: Omit<Guard, 'name' | 'lawful' | 'forbidden'> = {
  kind: 'trigger',
  on: 'payment_decision',
  object: 'refuse_meaning_without_two_people',
  says: 'meaning_needs_two_people',
};
const BY_MEANING = 'DROP TRIGGER refuse_meaning_without_two_people ON payment_decision';
/** The first payment, of which a status was decided, is so. */
const stands = (status: string) => `SET LOCAL session_replication_role = replica;
  UPDATE payment SET status = '${status}', live = '${status}' IN ('SUBMITTED', 'SETTLED') WHERE id = '${a.payment}'; SET LOCAL session_replication_role = origin`;
const declaredUnpaid = insertion('attention_action', { ...action, action: 'NOT_PAID' });
/** What a further status of it means is decided. */
const further = insertion('payment_decision', {
  ...decision,
  row_no: 1,
  payment_id: a.payment,
  bank_status: 'PRO_ODDER',
  action_id: FRESH,
});
const BY_ITS_END: Omit<Guard, 'name' | 'lawful' | 'forbidden'> = {
  kind: 'trigger',
  on: 'payment_decision',
  object: 'refuse_second_meaning',
  says: 'one_decision_ends_a_payment',
};

const { unseen_decision: word, moved_payment: sighted } = second;
const worded = (by: Row, of: Row = {}) =>
  [
    insertion('attention_action', { ...action, attention_id: a.wordAttention, action: 'NOT_PAID', ...by }),
    insertion('unseen_decision', { ...word, action_id: FRESH, ...of }),
  ].join('; ');

const BY_WORD: Omit<Guard, 'name' | 'lawful' | 'forbidden'> = {
  kind: 'trigger',
  on: 'unseen_decision',
  object: 'refuse_word_without_two_people',
  says: 'word_needs_two_people',
};
/** A look showed it to have moved, in the instruction and row of the word unless said otherwise. */
const seen = (of: Row) =>
  insertion('moved_payment', { ...sighted, instruction_id: a.unmoved, row_no: 2, ...of });
const LATER = '2100-01-01T08:00:00Z';
const OF_FIRST: Row = { instruction_id: a.instruction[0], row_no: 1, payment_id: a.payment };
const CAME_BACK = `SET LOCAL session_replication_role = replica;
  UPDATE payment SET status = 'SETTLED', returned_at = now() WHERE id = '${a.payment}'; SET LOCAL session_replication_role = origin`;

/** Of what two people have the bank's word that it is unpaid. */
const WORD_GUARDS: Guard[] = [
  ...(<{ by: string; change: Row; of?: Row }[]>[
    { by: 'one person', change: { confirmed_by: null, confirmed_at: null } },
    {
      by: 'two people who decided something else',
      change: { action: 'ACKNOWLEDGE', evidence: null, payment_ids: null },
    },
    { by: 'two people who say that it was paid', change: { action: 'PAID' } },
    { by: 'two people who named other payments', change: { payment_ids: `{${a.payment}}` } },
    { by: 'two people who were asked about something else', change: { attention_id: a.attention } },
    {
      by: 'two people of what may still be paid',
      change: {},
      of: { instruction_id: a.instruction[0], row_no: 1, payment_id: a.payment },
    },
    { by: 'two people of another payment than that row is of', change: {}, of: { row_no: 1 } },
    {
      by: 'two people of what may still be paid, at the row of another',
      change: {},
      of: { payment_id: a.payment },
    },
  ]).map(({ by, change, of }): Guard => ({
    name: `what the bank does not show is not taken for unpaid by ${by}`,
    ...BY_WORD,
    given: [
      'ALTER TABLE unseen_decision DROP CONSTRAINT unseen_decision_employer_id_instruction_id_row_no_fkey',
      'DELETE FROM moved_payment',
    ],
    lawful: worded({}),
    forbidden: worded(change, of),
  })),
  {
    name: 'what the bank showed to have moved is not taken for unpaid by two people who were asked about it before',
    ...BY_WORD,
    lawful: [
      seen({ seen_at: '2020-01-01T08:00:00Z' }),
      seen({ instruction_id: a.instruction[0], seen_at: LATER }),
      worded({}, { row_no: 2 }),
    ].join('; '),
    forbidden: `${seen({ seen_at: LATER })}; ${worded({}, { row_no: 2 })}`,
  },
  {
    name: 'what may still be paid is not taken for unpaid by two people, and what came back is',
    ...BY_WORD,
    lawful: `${CAME_BACK}; ${worded({}, OF_FIRST)}`,
    forbidden: worded({}, OF_FIRST),
  },
  {
    name: 'the word of the bank is kept once for a row at the bank, of each decision',
    kind: 'constraint',
    on: 'unseen_decision',
    object: 'unseen_decision_pkey',
    lawful: insertion('unseen_decision', word),
    forbidden: insertion('unseen_decision', { ...word, row_no: 2 }),
  },
];

/** Of what two people decide a status to mean that does not say so itself. */
const MEANING_GUARDS: Guard[] = [
  ...(<{ by: string; change: Row }[]>[
    { by: 'one person', change: { confirmed_by: null, confirmed_at: null } },
    {
      by: 'two people who decided something else',
      change: { action: 'ACKNOWLEDGE', evidence: null, payment_ids: null },
    },
    { by: 'two people who named other payments', change: { payment_ids: `{${a.payment}}` } },
  ]).map(({ by, change }): Guard => ({
    name: `the meaning of a status is not decided by ${by}`,
    ...BY_TWO,
    lawful: decided({}, {}, ASKED),
    forbidden: decided(change, {}, ASKED),
  })),
  ...(<{ of: string; change: Row }[]>[
    { of: 'a status nobody was asked about', change: { bank_status: 'PRO_EVEN' } },
    { of: 'a part of its name', change: { bank_status: 'PRO' } },
    { of: 'another payment than that row is of', change: { payment_id: a.payment } },
  ]).map(({ of, change }): Guard => ({
    name: `the meaning is not decided of ${of}`,
    ...BY_TWO,
    given: [`DELETE FROM payment_decision WHERE employer_id = '${a.employer}'`],
    lawful: decided({}, {}, ASKED),
    forbidden: decided({}, change, ASKED),
  })),
  ...(<{ when: string; statuses: string }[]>[
    { when: 'showed another status', statuses: '{PRO_ODD,PRO_ODDER,PRO_ODD}' },
    { when: 'was not shown', statuses: '{PRO_ODD,NULL,PRO_ODD}' },
  ]).map(({ when, statuses }): Guard => ({
    name: `a payment is not declared unpaid that ${when} when that was proposed`,
    ...BY_TWO,
    lawful: decided({ action: 'NOT_PAID', payment_statuses: '{PRO_ODD,PRO_ODD,PRO_ODD}' }, {}, ASKED),
    forbidden: decided({ action: 'NOT_PAID', payment_statuses: statuses }, {}, ASKED),
  })),
  {
    name: 'each payment that a meaning is proposed of has the status it was asked about',
    kind: 'constraint',
    on: 'attention_action',
    object: 'statuses_are_of_payments',
    lawful: insertion('attention_action', { ...action, payment_statuses: '{A,B,C}' }),
    forbidden: insertion('attention_action', { ...action, payment_statuses: '{A,B}' }),
  },
  ...(<{ about: string; change: Row }[]>[
    { about: 'something else', change: { kind: 'CONTRADICTION' } },
    { about: 'another instruction', change: { instruction_id: a.instruction[1] } },
  ]).map(({ about, change }): Guard => ({
    name: `the meaning is not decided by two people who were asked about ${about}`,
    ...BY_TWO,
    lawful: decided({}, {}, ASKED),
    forbidden: decided({}, {}, { ...ASKED, ...change }),
  })),
  {
    name: 'what a status means is decided once for a payment',
    kind: 'constraint',
    on: 'payment_decision',
    object: 'payment_decision_employer_id_payment_id_bank_status_key',
    given: [BY_MEANING, 'DROP TRIGGER refuse_second_meaning ON payment_decision'],
    lawful: insertion('payment_decision', decision),
    forbidden: insertion('payment_decision', { ...decision, payment_id: a.payment }),
  },
  {
    name: 'what a status means is decided once for a row at the bank',
    kind: 'constraint',
    on: 'payment_decision',
    object: 'payment_decision_pkey',
    given: [BY_MEANING],
    lawful: insertion('payment_decision', decision),
    forbidden: insertion('payment_decision', { ...decision, row_no: 1 }),
  },
  ...['SUBMITTED', 'SETTLED', 'VOID'].map((status): Guard => ({
    name: `a payment that is ${status} is decided by one status only`,
    ...BY_ITS_END,
    given: [BY_MEANING, declaredUnpaid],
    lawful: `${stands('REJECTED')}; ${further}`,
    forbidden: `${stands(status)}; ${further}`,
  })),
  {
    name: 'what has ended unpaid is not decided to be paid by a further status',
    ...BY_ITS_END,
    given: [BY_MEANING, stands('REJECTED')],
    lawful: `${declaredUnpaid}; ${further}`,
    forbidden: `${insertion('attention_action', action)}; ${further}`,
  },
  ...(<{ without: string; change: Row }[]>[
    { without: 'payments', change: { payment_ids: null } },
    { without: 'any of its payments', change: { payment_ids: '{}' } },
    { without: 'what the bank wrote', change: { evidence: null } },
    { without: 'words of the bank', change: { evidence: '   ' } },
  ]).map(({ without, change }): Guard => ({
    name: `a meaning is not proposed without ${without}`,
    kind: 'constraint',
    on: 'attention_action',
    object: 'meaning_names_payments_and_evidence',
    lawful: insertion('attention_action', action),
    forbidden: insertion('attention_action', { ...action, ...change }),
  })),
];

/** Of accounts that pay nothing more. */
const DETACHMENT_GUARDS: Guard[] = [
  {
    name: 'an account is not detached while a run or a schedule uses it',
    kind: 'trigger',
    on: 'employer_account',
    object: 'refuse_detachment_in_use',
    says: 'detached_account_is_idle',
    given: [insertion('employer_account', account)],
    lawful: detach(String(account.id)),
    forbidden: detach(a.account),
  },
  ...['DRAFT', 'READY', 'APPROVED', 'BUILDING', 'VERIFIED', 'SUBMITTING', 'FOLLOWING', 'CANCELLING'].map(
    (status): Guard => ({
      name: `an account is not detached while a run on it is ${status}`,
      kind: 'trigger',
      on: 'employer_account',
      object: 'refuse_detachment_in_use',
      says: 'detached_account_is_idle',
      given: [
        'DROP TRIGGER refuse_illegal_move ON pay_run',
        insertion('employer_account', account),
        insertion('pay_run', { ...second.pay_run, account_id: account.id, status }),
      ],
      lawful: `UPDATE pay_run SET status = 'CANCELLED' WHERE id = '${second.pay_run.id}'; ${detach(String(account.id))}`,
      forbidden: detach(String(account.id)),
    }),
  ),
  {
    name: 'an account is not detached while a schedule on it is active',
    kind: 'trigger',
    on: 'employer_account',
    object: 'refuse_detachment_in_use',
    says: 'detached_account_is_idle',
    given: [
      insertion('employer_account', account),
      insertion('pay_schedule', { ...second.pay_schedule, account_id: account.id, active: true }),
    ],
    lawful: `UPDATE pay_schedule SET active = false WHERE id = '${second.pay_schedule.id}'; ${detach(String(account.id))}`,
    forbidden: detach(String(account.id)),
  },
  {
    name: 'an account is detached for good',
    kind: 'trigger',
    on: 'employer_account',
    object: 'refuse_detachment_in_use',
    says: 'detached_account_is_idle',
    given: detached,
    lawful: `UPDATE employer_account SET bank_status = 'CLOSED' WHERE id = '${account.id}'`,
    forbidden: `UPDATE employer_account SET detached_at = NULL WHERE id = '${account.id}'`,
  },
  {
    name: 'a detached account pays no run',
    kind: 'trigger',
    on: 'pay_run',
    object: 'refuse_use_of_a_detached_account',
    says: 'account_is_attached',
    given: detached,
    lawful: insertion('pay_run', second.pay_run),
    forbidden: insertion('pay_run', { ...second.pay_run, account_id: account.id }),
  },
  {
    name: 'a detached account has no new schedule',
    kind: 'trigger',
    on: 'pay_schedule',
    object: 'refuse_use_of_a_detached_account',
    says: 'account_is_attached',
    given: detached,
    lawful: insertion('pay_schedule', second.pay_schedule),
    forbidden: insertion('pay_schedule', { ...second.pay_schedule, account_id: account.id }),
  },
];

/** Of rows that are kept back for their faults. */
const FAULTY_ROW_GUARDS: Guard[] = [
  {
    name: 'what is kept back of a run stays with it',
    kind: 'trigger',
    on: 'faulty_file',
    object: 'refuse_forgetting_of_a_run',
    says: 'kept_with_its_run',
    given: [insertion('faulty_file', refused)],
    lawful: `DELETE FROM faulty_file WHERE id = '${FRESH}'`,
    forbidden: `DELETE FROM faulty_file WHERE id = '${a.faultyFile}'`,
  },
  {
    name: 'only what belongs to no run is forgotten',
    kind: 'constraint',
    on: 'faulty_file',
    object: 'refused_file_expires',
    lawful: insertion('faulty_file', refused),
    forbidden: insertion('faulty_file', { ...refused, expires_at: null }),
  },
  {
    name: 'a run has one set of rows that are kept back',
    kind: 'index',
    on: 'faulty_file',
    object: 'one_faulty_file_of_a_run',
    lawful: insertion('faulty_file', second.faulty_file),
    forbidden: insertion('faulty_file', { ...second.faulty_file, pay_run_id: a.run }),
  },
  {
    name: 'a line is kept back once',
    kind: 'constraint',
    on: 'faulty_row',
    object: 'faulty_row_pkey',
    lawful: insertion('faulty_row', kept),
    forbidden: insertion('faulty_row', { ...kept, line: 5 }),
  },
  {
    name: 'a payment corrects one row',
    kind: 'index',
    on: 'faulty_row',
    object: 'one_faulty_row_of_a_payment',
    lawful: insertion('faulty_row', second.faulty_row),
    forbidden: insertion('faulty_row', { ...second.faulty_row, payment_id: a.payment }),
  },
  ...[
    { what: 'corrected twice', change: `payment_id = '${a.voidPayment}'` },
    { what: 'kept back again', change: 'payment_id = NULL' },
    { what: 'written anew', change: `cells_sealed = '0:["x"]'` },
  ].map(({ what, change }): Guard => ({
    name: `a row that was corrected is never ${what}`,
    kind: 'trigger',
    on: 'faulty_row',
    object: 'refuse_change_of_a_corrected_row',
    says: 'corrected_once',
    given: [insertion('faulty_row', kept)],
    lawful: `UPDATE faulty_row SET ${change} WHERE faulty_file_id = '${a.faultyFile}' AND line = 6`,
    forbidden: corrected(change),
  })),
  {
    name: 'a row is corrected in its run or in a supplement of it',
    kind: 'trigger',
    on: 'faulty_row',
    object: 'refuse_foreign_correction',
    says: 'corrected_in_its_run',
    given: [insertion('faulty_file', second.faulty_file)],
    lawful: insertion('faulty_row', second.faulty_row),
    forbidden: insertion('faulty_row', { ...second.faulty_row, faulty_file_id: FRESH }),
  },
];

/** Of what people decided, what was switched off, and what is written down for good. */
export const RECORD_GUARDS: Guard[] = [
  ...FAULTY_ROW_GUARDS,
  ...history.flatMap((table): Guard[] => [
    {
      name: `a line of ${table} is never rewritten, by whatever role`,
      kind: 'trigger',
      on: table,
      object: 'append_only',
      lawful: insertion(table, second[table]),
      forbidden: `UPDATE ${table} SET seq = seq + 100 WHERE ${ownOf[table]}`,
    },
    {
      name: `a line of ${table} is never taken away, by whatever role`,
      kind: 'trigger',
      on: table,
      object: 'append_only',
      lawful: insertion(table, second[table]),
      forbidden: `DELETE FROM ${table} WHERE ${ownOf[table]}`,
    },
    {
      name: `${table} is never emptied, by whatever role`,
      kind: 'trigger',
      on: table,
      object: 'never_emptied',
      says: 'append_only',
      given: [UNGUARDED_PARTITIONS],
      lawful: insertion(table, second[table]),
      forbidden: `TRUNCATE ${table}`,
    },
  ]),
  {
    name: 'nor is a partition of state_change',
    kind: 'trigger',
    on: 'state_change_rest',
    object: 'never_emptied',
    says: 'append_only',
    lawful: insertion('state_change', second.state_change),
    forbidden: 'TRUNCATE state_change_rest',
  },
  {
    name: 'a link of the audit chain is made once',
    kind: 'constraint',
    on: 'audit_entry',
    object: 'audit_entry_pkey',
    lawful: insertion('audit_entry', second.audit_entry),
    forbidden: insertion('audit_entry', { ...second.audit_entry, seq: 1 }),
  },
  {
    name: 'a doubt is open once',
    kind: 'index',
    on: 'attention',
    object: 'one_open_attention_per_kind_and_subject',
    lawful: `UPDATE attention SET resolved_at = now(), resolution = 'done' WHERE id = '${a.attention}';
      ${insertion('attention', { ...attention, kind: firstRows(1).attention.kind })}`,
    forbidden: insertion('attention', { ...attention, kind: firstRows(1).attention.kind }),
  },
  {
    name: 'a resolved doubt says how',
    kind: 'constraint',
    on: 'attention',
    object: 'attention_check',
    lawful: `UPDATE attention SET resolved_at = now(), resolution = 'done' WHERE id = '${a.attention}'`,
    forbidden: `UPDATE attention SET resolved_at = now() WHERE id = '${a.attention}'`,
  },
  ...[
    { what: 'open again', change: 'resolved_at = NULL, resolution = NULL' },
    { what: 'resolved otherwise', change: `resolution = 'another'` },
    { what: 'of something else', change: `happened = 'nothing'` },
  ].map(({ what, change }): Guard => ({
    name: `a resolved doubt is never ${what}`,
    kind: 'trigger',
    on: 'attention',
    object: 'refuse_change_of_a_resolved_attention',
    says: 'resolved_for_good',
    given: [`UPDATE attention SET resolved_at = now(), resolution = 'done' WHERE id = '${a.attention}'`],
    lawful: insertion('attention', { ...attention, kind: firstRows(1).attention.kind }),
    forbidden: `UPDATE attention SET ${change} WHERE id = '${a.attention}'`,
  })),
  {
    name: 'an action on a doubt needs two people',
    kind: 'constraint',
    on: 'attention_action',
    object: 'two_people',
    lawful: insertion('attention_action', { ...action, confirmed_by: OTHER }),
    forbidden: insertion('attention_action', { ...action, confirmed_by: PREPARER }),
  },
  {
    name: 'an action is confirmed or withdrawn, never both',
    kind: 'constraint',
    on: 'attention_action',
    object: 'confirmed_or_withdrawn',
    lawful: insertion('attention_action', action),
    forbidden: insertion('attention_action', { ...action, withdrawn_at: NOW }),
  },
  ...[
    { what: 'another than was confirmed', row: action, change: `action = 'NOT_PAID'` },
    {
      what: 'open again once it was confirmed',
      row: action,
      change: 'confirmed_by = NULL, confirmed_at = NULL',
    },
    {
      what: 'open again once it was withdrawn',
      row: { ...open, withdrawn_at: NOW },
      change: 'withdrawn_at = NULL',
    },
    { what: 'another than was proposed', row: open, change: `evidence = 'another letter'` },
    { what: 'of other payments', row: open, change: `payment_ids = '{${a.payment}}'` },
    { what: 'of other statuses', row: open, change: `payment_statuses = '{A,B,C}'` },
    { what: 'of another proposer', row: open, change: `proposed_by = '${OTHER}'` },
  ].map(({ what, row, change }): Guard => ({
    name: `an action is never ${what}`,
    kind: 'trigger',
    on: 'attention_action',
    object: 'refuse_change_of_a_decided_action',
    says: 'action_is_decided_once',
    given: [insertion('attention_action', row)],
    lawful:
      row === open
        ? `UPDATE attention_action SET withdrawn_at = now() WHERE id = '${FRESH}'`
        : insertion('attention_action', { ...open, id: NEXT }),
    forbidden: `UPDATE attention_action SET ${change} WHERE id = '${FRESH}'`,
  })),
  ...[
    {
      what: 'no role that may',
      change: `UPDATE person_role SET role = 'finance' WHERE person_id = '${OTHER}'`,
    },
    { what: 'one and is disabled', change: `UPDATE person SET disabled_at = now() WHERE id = '${OTHER}'` },
  ].map(({ what, change }): Guard => ({
    name: `an action is not confirmed by who holds ${what}`,
    kind: 'trigger',
    on: 'attention_action',
    object: 'refuse_confirmation_without_role',
    says: 'who_confirms_may',
    given: [
      insertion('attention_action', open),
      insertion('person_role', { ...second.person_role, person_id: OTHER, role: 'operator' }),
    ],
    lawful: confirmedByOther,
    forbidden: `${change}; ${confirmedByOther}`,
  })),
  {
    name: 'a doubt has one open action',
    kind: 'index',
    on: 'attention_action',
    object: 'one_open_action_per_attention',
    given: [insertion('attention_action', open)],
    lawful: `UPDATE attention_action SET withdrawn_at = now() WHERE id = '${FRESH}';
      ${insertion('attention_action', { ...open, id: NEXT })}`,
    forbidden: insertion('attention_action', { ...open, id: NEXT }),
  },
  {
    name: 'a confirmed action says by whom',
    kind: 'constraint',
    on: 'attention_action',
    object: 'attention_action_check',
    lawful: insertion('attention_action', open),
    forbidden: insertion('attention_action', { ...open, confirmed_at: NOW }),
  },
  {
    name: 'an action has a reason',
    kind: 'constraint',
    on: 'attention_action',
    object: 'attention_action_reason_check',
    lawful: insertion('attention_action', action),
    forbidden: insertion('attention_action', { ...action, reason: '' }),
  },
  ...MEANING_GUARDS,
  ...WORD_GUARDS,
  {
    name: 'a release has a reason',
    kind: 'constraint',
    on: 'pay_release',
    object: 'pay_release_reason_check',
    lawful: insertion('pay_release', second.pay_release),
    forbidden: insertion('pay_release', { ...second.pay_release, reason: '' }),
  },
  {
    name: 'a release is of a second pay, not of the first',
    kind: 'constraint',
    on: 'pay_release',
    object: 'pay_release_sequence_check',
    lawful: insertion('pay_release', second.pay_release),
    forbidden: insertion('pay_release', { ...second.pay_release, sequence: 0 }),
  },
  {
    name: 'a key of a request is used once',
    kind: 'constraint',
    on: 'idempotency_key',
    object: 'idempotency_key_pkey',
    lawful: insertion('idempotency_key', second.idempotency_key),
    forbidden: insertion('idempotency_key', { ...second.idempotency_key, key: 'key-1' }),
  },
  {
    name: 'an account at the bank is of one employer',
    kind: 'index',
    on: 'employer_account',
    object: 'employer_account_bank_account_id_key',
    lawful: insertion('employer_account', account),
    forbidden: insertion('employer_account', {
      ...account,
      bank_account_id: firstRows(2).employer_account.bank_account_id,
    }),
  },
  ...DETACHMENT_GUARDS,
  {
    name: 'a confirmed unit of amounts says when',
    kind: 'constraint',
    on: 'employer_account',
    object: 'employer_account_check',
    lawful: insertion('employer_account', account),
    forbidden: insertion('employer_account', { ...account, unit_confirmed_at: null }),
  },
  {
    name: 'a confirmed unit of amounts says by whom',
    kind: 'constraint',
    on: 'employer_account',
    object: 'employer_account_check1',
    lawful: insertion('employer_account', account),
    forbidden: insertion('employer_account', { ...account, unit_confirmed_by: null }),
  },
  {
    name: 'an account is in euros',
    kind: 'constraint',
    on: 'employer_account',
    object: 'employer_account_currency_check',
    lawful: insertion('employer_account', account),
    forbidden: insertion('employer_account', { ...account, currency: 'GBP' }),
  },
  {
    name: 'a unit of amounts is one of the two',
    kind: 'constraint',
    on: 'employer_account',
    object: 'employer_account_unit_confirmed_check',
    lawful: insertion('employer_account', { ...account, unit_confirmed: 'major' }),
    forbidden: insertion('employer_account', { ...account, unit_confirmed: 'cents' }),
  },
  {
    name: 'a stopped employer says why',
    kind: 'constraint',
    on: 'employer',
    object: 'employer_check',
    lawful: `UPDATE employer SET stopped_at = now(), stopped_reason = 'a doubt'`,
    forbidden: `UPDATE employer SET stopped_at = now()`,
  },
  {
    name: 'an employer requires an approval',
    kind: 'constraint',
    on: 'employer',
    object: 'employer_approvals_required_check',
    lawful: `UPDATE employer SET approvals_required = 2`,
    forbidden: `UPDATE employer SET approvals_required = 0`,
  },
  {
    name: 'there is one switch of all submits',
    kind: 'constraint',
    on: 'service_switch',
    object: 'service_switch_id_check',
    lawful: `UPDATE service_switch SET changed_at = now()`,
    forbidden: `INSERT INTO service_switch (id) VALUES (2)`,
  },
  {
    name: 'the switch of all submits says why',
    kind: 'constraint',
    on: 'service_switch',
    object: 'service_switch_check',
    lawful: `UPDATE service_switch SET submits_off = true, reason = 'a breach'`,
    forbidden: `UPDATE service_switch SET submits_off = true`,
  },
  {
    name: 'what runs is stopped by nobody',
    kind: 'constraint',
    on: 'service_switch',
    object: 'what_runs_is_stopped_by_nobody',
    given: [`UPDATE service_switch SET submits_off = true, reason = 'a doubt', stopped_by = '${APPROVER}'`],
    lawful: `${goesOn}, stopped_by = NULL`,
    forbidden: goesOn,
  },
  {
    name: 'who stopped everything exists',
    kind: 'constraint',
    on: 'service_switch',
    object: 'service_switch_stopped_by_fkey',
    given: [`UPDATE service_switch SET submits_off = true, reason = 'a doubt'`],
    lawful: `UPDATE service_switch SET stopped_by = '${APPROVER}'`,
    forbidden: `UPDATE service_switch SET stopped_by = '${NOBODY}'`,
  },
  {
    name: 'a breach stops everything once',
    kind: 'index',
    on: 'service_stop',
    object: 'one_standing_stop_per_breach',
    given: [stop(FRESH), resumed()],
    lawful: `${lifted}; ${stop(NEXT)}`,
    forbidden: stop(NEXT),
  },
  {
    name: 'submits stay off while a breach of any employer is undecided',
    kind: 'trigger',
    on: 'service_switch',
    object: 'refuse_resume_over_a_stop',
    says: 'service_is_stopped',
    given: [`UPDATE service_switch SET submits_off = true, reason = 'a breach'`, stop(FRESH), resumed()],
    lawful: `${lifted}; ${goesOn}`,
    forbidden: goesOn,
  },
  ...(<{ by: string; asked?: Row; change?: Row }[]>[
    { by: 'one person', change: { confirmed_by: null, confirmed_at: null } },
    { by: 'two people who decided something else', change: { action: 'ACKNOWLEDGE' } },
    { by: 'two people who were asked about another breach', asked: { kind: 'INVARIANT_BREACH' } },
    { by: 'two people who were asked about another subject', asked: { subject_id: a.spareRun } },
    {
      by: 'two people who decided an earlier one',
      asked: { resolved_at: NOW, resolution: 'seen' },
      change: { confirmed_at: '2020-01-01T08:00:00Z' },
    },
  ]).map(({ by, asked, change }): Guard => ({
    name: `a breach that stops everything is not over by the word of ${by}`,
    kind: 'trigger',
    on: 'service_stop',
    object: 'refuse_resume_without_two_people',
    says: 'resume_needs_two_people',
    given: [stop(FRESH)],
    lawful: `${resumed()}; ${lifted}`,
    forbidden: `${resumed(asked, change)}; ${lifted}`,
  })),
  {
    name: 'there is one rate of requests',
    kind: 'constraint',
    on: 'bank_rate',
    object: 'bank_rate_id_check',
    lawful: `UPDATE bank_rate SET next_due_at = now()`,
    forbidden: `INSERT INTO bank_rate (id) VALUES (2)`,
  },
  {
    name: 'a limit of requests lets some through',
    kind: 'constraint',
    on: 'bank_rate',
    object: 'bank_rate_learned_per_minute_check',
    lawful: `UPDATE bank_rate SET learned_per_minute = 1, learned_at = now()`,
    forbidden: `UPDATE bank_rate SET learned_per_minute = 0, learned_at = now()`,
  },
  {
    name: 'a limit of requests says when it was learned',
    kind: 'constraint',
    on: 'bank_rate',
    object: 'bank_rate_check',
    lawful: `UPDATE bank_rate SET learned_per_minute = 60, learned_at = now()`,
    forbidden: `UPDATE bank_rate SET learned_per_minute = 60`,
  },
  {
    name: 'a list of the bank is one that is read',
    kind: 'constraint',
    on: 'bank_list',
    object: 'bank_list_list_check',
    lawful: `INSERT INTO bank_list (list, row_count, page_rows) VALUES ('PAYMENTS', 1, 1)`,
    forbidden: `INSERT INTO bank_list (list, row_count, page_rows) VALUES ('ACCOUNTS', 1, 1)`,
  },
  {
    name: 'a list of the bank is known once',
    kind: 'constraint',
    on: 'bank_list',
    object: 'bank_list_pkey',
    given: [`INSERT INTO bank_list (list, row_count, page_rows) VALUES ('PAYMENTS', 1, 1)`],
    lawful: `INSERT INTO bank_list (list, row_count, page_rows) VALUES ('INSTRUCTION_PAYMENTS', 1, 1)`,
    forbidden: `INSERT INTO bank_list (list, row_count, page_rows) VALUES ('PAYMENTS', 2, 2)`,
  },
  {
    name: 'a list of the bank may be empty, and has no fewer rows',
    kind: 'constraint',
    on: 'bank_list',
    object: 'bank_list_row_count_check',
    lawful: `INSERT INTO bank_list (list, row_count, page_rows) VALUES ('PAYMENTS', 0, NULL)`,
    forbidden: `INSERT INTO bank_list (list, row_count, page_rows) VALUES ('PAYMENTS', -1, NULL)`,
  },
  {
    name: 'a full page of a list has rows',
    kind: 'constraint',
    on: 'bank_list',
    object: 'bank_list_page_rows_check',
    lawful: `INSERT INTO bank_list (list, row_count, page_rows) VALUES ('PAYMENTS', 1, 1)`,
    forbidden: `INSERT INTO bank_list (list, row_count, page_rows) VALUES ('PAYMENTS', 1, 0)`,
  },
  {
    name: 'a key opens one door',
    kind: 'constraint',
    on: 'api_key',
    object: 'api_key_key_hash_key',
    given: [apiKey(FRESH, '01')],
    lawful: apiKey(NEXT, '02'),
    forbidden: apiKey(NEXT, '01'),
  },
];

function apiKey(id: string, byte: string): string {
  const key_hash = `\\x${byte.repeat(32)}`;
  return insertion('api_key', { id, person_id: PREPARER, key_hash, label: 'a key' });
}
