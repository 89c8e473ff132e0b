import { Guard } from './guard';
import {
  assignments,
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
const second = secondRows(1);
const [FRESH, NEXT, THIRD] = a.fresh;
const OTHER_PLAN = uuid(1094);

const { instruction, planned_instruction: plan, bank_payment: bankPayment } = second;

/** A plan of its own and an instruction of it, in a state. */
export function built(status: string): string[] {
  return [
    insertion('planned_instruction', { ...plan, id: NEXT }),
    insertion('instruction', {
      ...instruction,
      id: THIRD,
      planned_instruction_id: NEXT,
      bank_instruction_id: 'bank-built',
      status,
    }),
  ];
}

/** What would make an instruction another one. */
const IDENTITY: { what: string; change: Row }[] = [
  { what: 'its plan', change: { planned_instruction_id: a.planned[2] } },
  { what: 'its run', change: { pay_run_id: a.spareRun, planned_instruction_id: FRESH } },
  { what: 'which attempt it is', change: { attempt: 2 } },
  { what: 'its own id', change: { id: FRESH } },
  { what: 'its id at the bank', change: { bank_instruction_id: 'bank-other' } },
  { what: 'that it has an id at the bank', change: { bank_instruction_id: null } },
];

/** What becomes of the first instruction, which is in SUBMIT_INTENT with an attempt, and of the attempt. */
const moved = (status: string) =>
  `UPDATE instruction SET status = '${status}' WHERE id = '${a.instruction[0]}'`;
const attempted = (outcome: string) =>
  `UPDATE submit_attempt SET outcome = ${outcome} WHERE id = '${a.attempt}'`;
const BY_SUBMIT: Pick<Guard, 'kind' | 'on' | 'object' | 'says'> = {
  kind: 'trigger',
  on: 'instruction',
  object: 'refuse_giving_up_of_a_submit',
  says: 'submit_is_not_given_up',
};

const { attention, attention_action: action } = second;
/** Two people declare that the submit of what `built` makes was not executed, or it is otherwise; and it is VOID. */
const declared = (asked: Row = {}, by: Row = {}) =>
  [
    insertion('attention', { ...attention, kind: 'SUBMIT_UNKNOWN', instruction_id: THIRD, ...asked }),
    insertion('attention_action', {
      ...action,
      attention_id: attention.id,
      action: 'NOT_EXECUTED',
      payment_ids: null,
      ...by,
    }),
    `UPDATE instruction SET status = 'VOID' WHERE id = '${THIRD}'`,
  ].join('; ');

/** Of an instruction that may have been submitted: it is not given up, and two people declare it void. */
const SUBMITTED_GUARDS: Guard[] = [
  ...['VERIFIED', 'ABANDONED', 'RELEASED', 'CANCELLED'].flatMap((status): Guard[] =>
    ['NULL', `'IN_DOUBT'`].map((outcome): Guard => ({
      name: `what was submitted is not ${status} while the outcome is ${outcome}`,
      ...BY_SUBMIT,
      given: ['DROP TRIGGER refuse_illegal_move ON instruction', attempted(outcome)],
      lawful: `${attempted(`'PROVEN_UNSENT'`)}; ${moved(status)}`,
      forbidden: moved(status),
    })),
  ),
  ...[`'EXECUTED'`, `'REFUSED'`].map((outcome): Guard => ({
    name: `what was submitted is not taken back once it is ${outcome}`,
    ...BY_SUBMIT,
    given: [attempted(outcome)],
    lawful: moved('SUBMITTED'),
    forbidden: moved('VERIFIED'),
  })),
  ...(<{ by: string; asked?: Row; change?: Row }[]>[
    { by: 'one person', change: { confirmed_by: null, confirmed_at: null } },
    { by: 'two people who decided something else', change: { action: 'ACKNOWLEDGE' } },
    {
      by: 'two people who were asked about another instruction',
      asked: { instruction_id: a.instruction[0] },
    },
  ]).map(({ by, asked, change }): Guard => ({
    name: `a submit is not declared void by ${by}`,
    kind: 'trigger',
    on: 'instruction',
    object: 'refuse_void_without_two_people',
    says: 'void_needs_two_people',
    given: built('SUBMIT_UNKNOWN'),
    lawful: declared(),
    forbidden: declared(asked, change),
  })),
];

/** Of an instruction at the bank: built once, and never again once abandoned. */
export const INSTRUCTION_GUARDS: Guard[] = [
  ...SUBMITTED_GUARDS,
  {
    name: 'an abandoned instruction is never alive again',
    kind: 'trigger',
    on: 'instruction',
    object: 'refuse_illegal_move',
    says: 'legal_moves_only',
    given: built('ABANDONED'),
    lawful: `UPDATE instruction SET status = 'ABANDONED', bank_status = 'CANCELLED' WHERE id = '${THIRD}'`,
    forbidden: `UPDATE instruction SET status = 'BUILDING' WHERE id = '${THIRD}'`,
  },
  {
    name: 'a plan has one live instruction',
    kind: 'index',
    on: 'instruction',
    object: 'one_live_instruction_per_planned_instruction',
    given: built('BUILDING'),
    lawful: `UPDATE instruction SET status = 'ABANDONED' WHERE id = '${THIRD}';
      ${insertion('instruction', { ...instruction, id: FRESH, planned_instruction_id: NEXT, attempt: 2 })}`,
    forbidden: insertion('instruction', {
      ...instruction,
      id: FRESH,
      planned_instruction_id: NEXT,
      attempt: 2,
    }),
  },
  ...['VOID', 'RELEASED', 'CLOSED'].map((status): Guard => ({
    name: `a plan is not built again beside a ${status} instruction`,
    kind: 'index',
    on: 'instruction',
    object: 'one_live_instruction_per_planned_instruction',
    given: [insertion('instruction', { ...instruction, status, outcome: 'FAILED' })],
    lawful: insertion('instruction', {
      ...instruction,
      id: NEXT,
      attempt: 2,
      status: 'ABANDONED',
      bank_instruction_id: null,
    }),
    forbidden: insertion('instruction', {
      ...instruction,
      id: NEXT,
      attempt: 2,
      status: 'PLANNED',
      bank_instruction_id: null,
    }),
  })),
  {
    name: 'a row is never in two live instructions',
    kind: 'trigger',
    on: 'instruction',
    object: 'refuse_row_in_two_live_instructions',
    says: 'one_live_instruction_per_row',
    given: [
      insertion('planned_instruction', { ...plan, id: FRESH, run_version: 2, first_row: 3, last_row: 4 }),
      insertion('planned_instruction', { ...plan, id: NEXT, run_version: 3, first_row: 2, last_row: 3 }),
    ],
    lawful: insertion('instruction', { ...instruction, planned_instruction_id: FRESH }),
    forbidden: insertion('instruction', { ...instruction, planned_instruction_id: NEXT }),
  },
  ...[
    { which: 'the first', beside: [3, 4], over: [4, 5] } as const,
    { which: 'the last', beside: [7, 8], over: [6, 7] } as const,
  ].map(({ which, beside, over }): Guard => {
    const planned = (id: string, version: number, [first_row, last_row]: readonly [number, number]) =>
      insertion('planned_instruction', { ...plan, id, run_version: version, first_row, last_row });
    const built = { ...instruction, id: NEXT, status: 'PLANNED', bank_instruction_id: null };
    return {
      name: `${which} row of an instruction that is alive is in no other`,
      kind: 'trigger',
      on: 'instruction',
      object: 'refuse_row_in_two_live_instructions',
      says: 'one_live_instruction_per_row',
      given: [
        planned(FRESH, 2, [5, 6]),
        planned(NEXT, 3, beside),
        planned(THIRD, 4, over),
        insertion('instruction', { ...instruction, planned_instruction_id: FRESH }),
      ],
      lawful: insertion('instruction', { ...built, planned_instruction_id: NEXT }),
      forbidden: insertion('instruction', { ...built, planned_instruction_id: THIRD }),
    };
  }),
  {
    name: 'an instruction of the bank is one of ours only, of whatever employer',
    kind: 'constraint',
    on: 'instruction',
    object: 'instruction_bank_instruction_id_key',
    lawful: insertion('instruction', instruction),
    forbidden: insertion('instruction', {
      ...instruction,
      bank_instruction_id: firstRows(2).instruction.bank_instruction_id,
    }),
  },
  {
    name: 'an attempt at a plan is made once',
    kind: 'constraint',
    on: 'instruction',
    object: 'one_instruction_per_attempt',
    given: built('ABANDONED'),
    lawful: insertion('instruction', {
      ...instruction,
      id: FRESH,
      planned_instruction_id: NEXT,
      attempt: 2,
    }),
    forbidden: insertion('instruction', { ...instruction, id: FRESH, planned_instruction_id: NEXT }),
  },
  {
    name: 'a closed instruction says how it ended',
    kind: 'constraint',
    on: 'instruction',
    object: 'instruction_check',
    given: built('SUBMITTED'),
    lawful: `UPDATE instruction SET status = 'CLOSED', outcome = 'SETTLED' WHERE id = '${THIRD}'`,
    forbidden: `UPDATE instruction SET status = 'CLOSED' WHERE id = '${THIRD}'`,
  },
  ...IDENTITY.map(({ what, change }): Guard => ({
    name: `an instruction never changes ${what}`,
    kind: 'trigger',
    on: 'instruction',
    object: 'refuse_change_of_identity',
    says: 'identity_never_changes',
    given: [
      ...built('BUILDING'),
      insertion('planned_instruction', { ...plan, id: FRESH, pay_run_id: a.spareRun }),
      insertion('planned_instruction', { ...plan, id: OTHER_PLAN, ordinal: 5, first_row: 5, last_row: 5 }),
      insertion('instruction', {
        ...instruction,
        id: OTHER_PLAN,
        planned_instruction_id: OTHER_PLAN,
        status: 'BUILDING',
        bank_instruction_id: null,
      }),
    ],
    lawful: `UPDATE instruction SET bank_instruction_id = 'bank-found' WHERE id = '${OTHER_PLAN}'`,
    forbidden: `UPDATE instruction SET ${assignments(change)} WHERE id = '${THIRD}'`,
  })),
  {
    name: "an instruction's rank at the bank never falls",
    kind: 'trigger',
    on: 'instruction',
    object: 'refuse_falling_rank',
    says: 'ladder_only_climbs',
    lawful: `UPDATE instruction SET bank_rank = 40 WHERE id = '${a.instruction[0]}'`,
    forbidden: `UPDATE instruction SET bank_rank = 39 WHERE id = '${a.instruction[0]}'`,
  },
  {
    name: "a payment's rank at the bank never falls",
    kind: 'trigger',
    on: 'bank_payment',
    object: 'refuse_falling_rank',
    says: 'ladder_only_climbs',
    lawful: `UPDATE bank_payment SET bank_rank = 41 WHERE instruction_id = '${a.instruction[0]}'`,
    forbidden: `UPDATE bank_payment SET bank_rank = 0 WHERE instruction_id = '${a.instruction[0]}'`,
  },
  {
    name: 'a payment of the bank is of a payment of its employer',
    kind: 'trigger',
    on: 'bank_payment',
    object: 'refuse_bank_payment_of_nobody',
    says: 'bank_payment_has_payment',
    lawful: insertion('bank_payment', bankPayment),
    forbidden: insertion('bank_payment', {
      ...bankPayment,
      payment_id: firstRows(2).bank_payment.payment_id,
    }),
  },
  {
    name: 'a payment of the bank is of an instruction of its employer',
    kind: 'trigger',
    on: 'bank_payment',
    object: 'refuse_bank_payment_of_nobody',
    says: 'bank_payment_has_instruction',
    lawful: insertion('bank_payment', bankPayment),
    forbidden: insertion('bank_payment', {
      ...bankPayment,
      instruction_id: firstRows(2).bank_payment.instruction_id,
    }),
  },
  {
    name: 'a payment of the bank stays that of its row',
    kind: 'trigger',
    on: 'bank_payment',
    object: 'refuse_change_of_a_key',
    says: 'keys_never_change',
    lawful: `UPDATE bank_payment SET row_no = row_no WHERE instruction_id = '${a.instruction[0]}'`,
    forbidden: `UPDATE bank_payment SET payment_id = '${bankPayment.payment_id}' WHERE instruction_id = '${a.instruction[0]}'`,
  },
  ...(<Row[]>[
    { bank_payment_id: 'bank-payment-other' },
    { bank_payment_id: null, add_outcome: 'IN_DOUBT' },
  ]).map((change): Guard => ({
    name: `a payment of the bank never changes its id: ${String(change.bank_payment_id)}`,
    kind: 'trigger',
    on: 'bank_payment',
    object: 'refuse_change_of_a_key',
    says: 'keys_never_change',
    given: [insertion('bank_payment', { ...bankPayment, bank_payment_id: null, add_outcome: 'IN_DOUBT' })],
    lawful: `UPDATE bank_payment SET bank_payment_id = 'bank-payment-found', add_outcome = 'ADOPTED'
        WHERE instruction_id = '${a.instruction[1]}'`,
    forbidden: `UPDATE bank_payment SET ${assignments(change)}
        WHERE instruction_id = '${a.instruction[0]}' AND row_no = 1`,
  })),
  {
    name: 'an instruction is never deleted, since payments of the bank refer to it',
    kind: 'trigger',
    on: 'instruction',
    object: 'never_deleted',
    lawful: `UPDATE instruction SET ended_reason = NULL WHERE id = '${FRESH}'`,
    forbidden: `DELETE FROM instruction WHERE id = '${FRESH}'`,
  },
  {
    name: 'a batch of adds is intended once',
    kind: 'constraint',
    on: 'add_intent',
    object: 'add_intent_pkey',
    lawful: insertion('add_intent', second.add_intent),
    forbidden: insertion('add_intent', { ...second.add_intent, batch: 1 }),
  },
  {
    name: 'a kill leaves at most 200 adds in doubt',
    kind: 'constraint',
    on: 'add_intent',
    object: 'add_intent_row_nos_check',
    lawful: addsOf(200),
    forbidden: addsOf(201),
  },
  {
    name: 'every add intended has the hash of its body',
    kind: 'constraint',
    on: 'add_intent',
    object: 'add_intent_check',
    lawful: insertion('add_intent', second.add_intent),
    forbidden: insertion('add_intent', { ...second.add_intent, row_nos: '{2,3}' }),
  },
  {
    name: 'a payment of the bank is one row only, of whatever employer',
    kind: 'index',
    on: 'bank_payment',
    object: 'one_row_per_bank_payment',
    lawful: insertion('bank_payment', bankPayment),
    forbidden: insertion('bank_payment', {
      ...bankPayment,
      bank_payment_id: firstRows(2).bank_payment.bank_payment_id,
    }),
  },
  {
    name: 'a row is added once to an instruction',
    kind: 'constraint',
    on: 'bank_payment',
    object: 'bank_payment_pkey',
    lawful: insertion('bank_payment', { ...bankPayment, instruction_id: a.instruction[0], row_no: 3 }),
    forbidden: insertion('bank_payment', { ...bankPayment, instruction_id: a.instruction[0], row_no: 1 }),
  },
  {
    name: "an add counts as made only with the bank's id",
    kind: 'constraint',
    on: 'bank_payment',
    object: 'bank_payment_check',
    lawful: insertion('bank_payment', { ...bankPayment, add_outcome: 'IN_DOUBT', bank_payment_id: null }),
    forbidden: insertion('bank_payment', { ...bankPayment, bank_payment_id: null }),
  },
  {
    name: 'a plan has a place of its own in its version',
    kind: 'constraint',
    on: 'planned_instruction',
    object: 'planned_instruction_pay_run_id_employer_id_run_version_ordi_key',
    lawful: insertion('planned_instruction', plan),
    forbidden: insertion('planned_instruction', { ...plan, ordinal: 3 }),
  },
  {
    name: 'a plan runs from its first row to its last',
    kind: 'constraint',
    on: 'planned_instruction',
    object: 'planned_instruction_check',
    lawful: insertion('planned_instruction', { ...plan, first_row: 4, last_row: 9 }),
    forbidden: insertion('planned_instruction', { ...plan, first_row: 9, last_row: 4 }),
  },
  {
    name: 'a plan pays somebody',
    kind: 'constraint',
    on: 'planned_instruction',
    object: 'planned_instruction_row_count_check',
    lawful: insertion('planned_instruction', plan),
    forbidden: insertion('planned_instruction', { ...plan, row_count: 0 }),
  },
  {
    name: 'work is held by nobody, or by somebody until a time',
    kind: 'constraint',
    on: 'lease',
    object: 'lease_check',
    lawful: `UPDATE lease SET holder = 'x', leased_until = '${NOW}' WHERE subject_id = '${a.run}'`,
    forbidden: `UPDATE lease SET holder = 'x' WHERE subject_id = '${a.run}'`,
  },
  {
    name: 'the epoch of a lease never falls, which would let a fenced-off holder in again',
    kind: 'trigger',
    on: 'lease',
    object: 'refuse_falling_epoch',
    says: 'epoch_only_climbs',
    given: [`UPDATE lease SET epoch = 3 WHERE subject_id = '${a.run}'`],
    lawful: `UPDATE lease SET epoch = 4 WHERE subject_id = '${a.run}'`,
    forbidden: `UPDATE lease SET epoch = 2 WHERE subject_id = '${a.run}'`,
  },
  {
    name: 'a subject has one lease',
    kind: 'constraint',
    on: 'lease',
    object: 'lease_pkey',
    lawful: insertion('lease', second.lease),
    forbidden: insertion('lease', { ...second.lease, subject_id: a.run, kind: 'FOLLOW' }),
  },
];

function addsOf(count: number): string {
  const rows = Array.from({ length: count }, (_, n) => n + 1);
  const body_hashes = `\\x${hashOf(1).slice(2).repeat(count)}`;
  return insertion('add_intent', { ...second.add_intent, row_nos: `{${rows.join(',')}}`, body_hashes });
}
