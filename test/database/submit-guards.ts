import { Guard } from './guard';
import { built } from './instruction-guards';
import { APPROVER, firstRows, hashOf, idsOf, insertion, secondRows, uuid } from './two-employers';

const a = idsOf(1);
const first = firstRows(1);
const { submit_attempt: attempt, planned_instruction: plan, approval } = secondRows(1);
const [FRESH, NEXT, THIRD] = a.fresh;

const attemptOfBuilt = {
  ...attempt,
  id: FRESH,
  planned_instruction_id: NEXT,
  instruction_id: THIRD,
  bank_instruction_id: 'bank-built',
  row_hash: plan.row_hash,
};

const again = insertion('submit_attempt', { ...first.submit_attempt, id: FRESH });
const becomes = (outcome: string) =>
  `UPDATE submit_attempt SET outcome = ${outcome} WHERE id = '${a.attempt}'`;

const BY_INTENT = { kind: 'trigger', on: 'submit_attempt', object: 'refuse_submit_without_intent' } as const;
const BY_OUTCOME = {
  kind: 'trigger',
  on: 'submit_attempt',
  object: 'refuse_change_of_a_final_outcome',
} as const;
const BY_PLAN = {
  kind: 'index',
  on: 'submit_attempt',
  object: 'one_submit_per_planned_instruction',
} as const;

/** Of what a submit is of: an instruction in its intent, with the rows that were approved. */
const INTENT_GUARDS: Guard[] = [
  ...[
    'PLANNED',
    'BUILDING',
    'VERIFIED',
    'SUBMITTED',
    'SUBMIT_UNKNOWN',
    'SUBMIT_REFUSED',
    'ABANDONED',
    'VOID',
  ].map((status): Guard => ({
    name: `a submit needs its intent: not of an instruction that is ${status}`,
    ...BY_INTENT,
    says: 'submit_needs_intent',
    given: built(status),
    lawful: insertion('submit_attempt', attempt),
    forbidden: insertion('submit_attempt', attemptOfBuilt),
  })),
  ...[
    { what: 'rows other than the approved ones', change: { row_hash: hashOf(99) } },
    { what: 'another instruction of the bank', change: { bank_instruction_id: 'bank-other' } },
    { what: 'another plan than its own', change: { planned_instruction_id: THIRD } },
  ].map(({ what, change }): Guard => ({
    name: `a submit is never of ${what}`,
    ...BY_INTENT,
    says: 'submit_needs_intent',
    given: [
      ...built('SUBMIT_INTENT'),
      // Of the same rows, as the plan of an earlier version may be.
      insertion('planned_instruction', { ...plan, id: THIRD, ordinal: 5, first_row: 5, last_row: 5 }),
    ],
    lawful: insertion('submit_attempt', attemptOfBuilt),
    forbidden: insertion('submit_attempt', { ...attemptOfBuilt, ...change }),
  })),
];

const { payment } = secondRows(1);
const forgottenOfBuilt = {
  ...secondRows(1).forgotten_instruction,
  bank_instruction_id: attemptOfBuilt.bank_instruction_id,
  adopted_at: null,
};
const contradicted = (paymentId: string) =>
  insertion('attention', {
    ...secondRows(1).attention,
    id: NEXT,
    kind: 'CONTRADICTION',
    payment_id: paymentId,
  });

const askedInPart = {
  ...secondRows(1).attention,
  id: NEXT,
  kind: 'ECHO_MISMATCH',
  payment_id: a.voidPayment,
  subject_id: a.voidPayment,
  lacking_minor: 99,
};
const answeredInPart = (action: string) =>
  insertion('attention_action', {
    ...secondRows(1).attention_action,
    attention_id: NEXT,
    action,
    payment_ids: null,
  });

/** Of payments made instead of others that turn out to have moved. */
const SUCCESSOR_GUARDS: Guard[] = [
  {
    name: 'nothing is submitted instead of what shows two final statuses',
    kind: 'trigger',
    on: 'submit_attempt',
    object: 'refuse_submit_over_contradiction',
    says: 'submit_over_contradiction',
    given: [...built('SUBMIT_INTENT'), insertion('payment', { ...payment, row_no: 4 })],
    lawful: `${contradicted(a.payment)}; ${insertion('submit_attempt', attemptOfBuilt)}`,
    forbidden: `${contradicted(a.voidPayment)}; ${insertion('submit_attempt', attemptOfBuilt)}`,
  },
  {
    name: 'what the bank shows as submitted is recorded also over two final statuses, and nothing else is',
    kind: 'trigger',
    on: 'submit_attempt',
    object: 'refuse_submit_over_contradiction',
    says: 'submit_over_contradiction',
    given: [
      ...built('SUBMIT_INTENT'),
      insertion('payment', { ...payment, row_no: 4 }),
      contradicted(a.voidPayment),
    ],
    lawful: `${insertion('forgotten_instruction', forgottenOfBuilt)}; ${insertion('submit_attempt', { ...attemptOfBuilt, outcome: 'EXECUTED' })}`,
    forbidden: insertion('submit_attempt', attemptOfBuilt),
  },
  ...(<{ name: string; lawful: string; forbidden: string }[]>[
    {
      name: 'nothing is submitted instead of what came back in part before two people say that nobody kept the rest',
      lawful: `${answeredInPart('RESUME')}; ${insertion('submit_attempt', attemptOfBuilt)}`,
      forbidden: `${answeredInPart('ACKNOWLEDGE')}; ${insertion('submit_attempt', attemptOfBuilt)}`,
    },
    {
      name: 'what the bank shows as submitted is recorded also over what came back in part, and nothing else is',
      lawful: `${insertion('forgotten_instruction', forgottenOfBuilt)}; ${insertion('submit_attempt', { ...attemptOfBuilt, outcome: 'EXECUTED' })}`,
      forbidden: insertion('submit_attempt', attemptOfBuilt),
    },
  ]).map((one): Guard => ({
    ...one,
    kind: 'trigger',
    on: 'submit_attempt',
    object: 'refuse_submit_over_what_is_kept',
    says: 'submit_over_what_is_kept',
    given: [
      ...built('SUBMIT_INTENT'),
      insertion('payment', { ...payment, row_no: 4 }),
      `SET LOCAL session_replication_role = replica;
        UPDATE payment SET status = 'SETTLED', live = true, employee_id = 'E8', returned_at = '2026-11-28', returned_minor = 1 WHERE id = '${a.voidPayment}';
        SET LOCAL session_replication_role = origin`,
      insertion('attention', askedInPart),
    ],
  })),
];

const OTHERWISE = {
  ...payment,
  id: uuid(1_080),
  pay_run_id: a.spareRun,
  release_sequence: 7,
  replaces_payment_id: null,
};
const untouched = (sql: string) =>
  `SET LOCAL session_replication_role = replica; ${sql}; SET LOCAL session_replication_role = origin`;

/** Of payments made instead of what came back, beside others that may be made so. */
const BESIDE_GUARDS: Guard[] = [
  {
    name: 'nothing is submitted instead of what came back beside another payment made so, unless a person released it',
    lawful: `${untouched(insertion('pay_hold', { ...first.pay_hold, row_no: 4, payment_id: payment.id }))};
      ${insertion('submit_attempt', attemptOfBuilt)}`,
    forbidden: insertion('submit_attempt', attemptOfBuilt),
  },
  {
    name: 'what the bank shows as submitted is recorded also beside another payment made so, and nothing else is',
    lawful: `${insertion('forgotten_instruction', forgottenOfBuilt)}; ${insertion('submit_attempt', { ...attemptOfBuilt, outcome: 'EXECUTED' })}`,
    forbidden: insertion('submit_attempt', attemptOfBuilt),
  },
].map((one) => ({
  ...one,
  kind: 'trigger',
  on: 'submit_attempt',
  object: 'refuse_submit_beside_the_same_pay',
  says: 'submit_beside_the_same_pay',
  given: [
    ...built('SUBMIT_INTENT'),
    insertion('payment', { ...payment, row_no: 4 }),
    untouched(
      `UPDATE payment SET status = 'SETTLED', live = true, employee_id = 'E8', returned_at = '2026-11-28' WHERE id = '${a.voidPayment}';
       ${insertion('payment', OTHERWISE)}`,
    ),
  ],
}));

/** Of what must hold around it: the run's turn, its approvals and every switch. */
const GATE_GUARDS: Guard[] = [
  ...[
    { state: 'a run that was cancelled meanwhile', change: `status = 'CANCELLED'`, was: 'CANCELLING' },
    { state: 'a run whose gate was not passed', change: `status = 'VERIFIED'`, was: 'BUILDING' },
    { state: 'a version that was amended', change: 'run_version = 2', was: 'SUBMITTING' },
  ].map(({ state, change, was }): Guard => ({
    name: `nothing is submitted of ${state}`,
    ...BY_INTENT,
    says: 'submit_needs_gate',
    given: ['DROP TRIGGER refuse_illegal_move ON pay_run', `UPDATE pay_run SET status = '${was}'`],
    lawful: `UPDATE pay_run SET status = 'SUBMITTING'; ${insertion('submit_attempt', attempt)}`,
    forbidden: `UPDATE pay_run SET ${change}; ${insertion('submit_attempt', attempt)}`,
  })),
  ...[
    {
      state: 'of a stopped run',
      stop: `UPDATE pay_run SET stopped_at = now(), stopped_reason = 'x' WHERE id = '${a.run}'`,
    },
    {
      state: 'of a stopped employer',
      stop: `UPDATE employer SET stopped_at = now(), stopped_reason = 'x' WHERE id = '${a.employer}'`,
    },
    {
      state: 'while all submits are off',
      stop: `UPDATE service_switch SET submits_off = true, reason = 'x'`,
    },
  ].map(({ state, stop }): Guard => ({
    name: `nothing is submitted ${state}`,
    ...BY_INTENT,
    says: 'submit_is_stopped',
    lawful: insertion('submit_attempt', attempt),
    forbidden: `${stop}; ${insertion('submit_attempt', attempt)}`,
  })),
  ...[
    {
      lack: 'an approval that stands',
      given: [`UPDATE approval SET voided_at = now(), voided_reason = 'amended' WHERE id = '${a.approval}'`],
    },
    {
      lack: 'as many approvals as its employer requires',
      given: [`UPDATE employer SET approvals_required = 2 WHERE id = '${a.employer}'`],
    },
    {
      lack: 'an approval of the hash that stands',
      given: [
        `UPDATE pay_run SET root_hash = '${hashOf(2)}' WHERE id = '${a.run}'`,
        insertion('pay_run_version', { ...first.pay_run_version, run_version: 2, root_hash: hashOf(2) }),
      ],
      approves: { run_version: 2, root_hash: hashOf(2) },
    },
  ].map(({ lack, given, approves }): Guard => ({
    name: `nothing is submitted without ${lack}`,
    ...BY_INTENT,
    says: 'submit_needs_approval',
    given,
    lawful: approves
      ? `UPDATE pay_run SET root_hash = '${hashOf(1)}' WHERE id = '${a.run}'; ${insertion('submit_attempt', attempt)}`
      : `${insertion('approval', approval)}; ${insertion('submit_attempt', attempt)}`,
    forbidden: approves
      ? `${insertion('approval', { ...approval, ...approves })}; ${insertion('submit_attempt', attempt)}`
      : insertion('submit_attempt', attempt),
  })),
  {
    name: 'nothing is submitted on the approval of an earlier version',
    ...BY_INTENT,
    says: 'submit_needs_approval',
    given: [
      insertion('pay_run_version', { ...first.pay_run_version, run_version: 2 }),
      `UPDATE pay_run SET run_version = 2 WHERE id = '${a.run}'`,
      `UPDATE planned_instruction SET run_version = 2 WHERE pay_run_id = '${a.run}'`,
    ],
    lawful: `${insertion('approval', { ...approval, run_version: 2, approver_id: APPROVER })};
      ${insertion('submit_attempt', attempt)}`,
    forbidden: insertion('submit_attempt', attempt),
  },
];

/** Of how often: once, while it is not proven that the first never left, and a proof is never made up afterwards. */
const ONCE_GUARDS: Guard[] = [
  ...['NULL', `'IN_DOUBT'`].map((outcome): Guard => ({
    name: `one submit per plan while the first is not proven unsent, but ${outcome}`,
    ...BY_PLAN,
    given: [becomes(outcome)],
    lawful: `${becomes(`'PROVEN_UNSENT'`)}; ${again}`,
    forbidden: again,
  })),
  ...[`'EXECUTED'`, `'REFUSED'`].map((outcome): Guard => ({
    name: `one submit per plan once the first is ${outcome}`,
    ...BY_PLAN,
    given: [becomes(outcome)],
    lawful: insertion('submit_attempt', attempt),
    forbidden: again,
  })),
  ...[`'EXECUTED'`, `'REFUSED'`].map((outcome): Guard => ({
    name: `a submit that was ${outcome} is not armed again`,
    ...BY_OUTCOME,
    says: 'submit_outcome_is_final',
    given: [becomes(outcome)],
    lawful: becomes(`'EXECUTED'`),
    forbidden: `${becomes(`'PROVEN_UNSENT'`)}; ${again}`,
  })),
  {
    name: 'a submit that never left was never executed',
    ...BY_OUTCOME,
    says: 'submit_outcome_is_final',
    given: [becomes(`'PROVEN_UNSENT'`)],
    lawful: again,
    forbidden: becomes(`'EXECUTED'`),
  },
  {
    name: 'no outcome of a submit but the known ones, so that none is taken for proof',
    kind: 'constraint',
    on: 'submit_attempt',
    object: 'submit_attempt_outcome_check',
    lawful: becomes(`'IN_DOUBT'`),
    forbidden: becomes(`'UNSENT'`),
  },
];

const { bank_payment: bankPayment } = secondRows(1);
/** A payment that is in an instruction that is to be submitted. */
const inInstruction = (status: string) => [
  insertion('payment', {
    ...payment,
    row_no: 4,
    replaces_payment_id: null,
    status,
    live: ['APPROVED', 'AT_BANK', 'SUBMITTED'].includes(status),
    excluded_reason: status === 'EXCLUDED' ? 'refused' : null,
  }),
  insertion('bank_payment', { ...bankPayment, payment_id: payment.id }),
];

/** Of its rows: each is at the bank for it, and was in no other submit. */
const ROW_GUARDS: Guard[] = [
  ...['EXCLUDED', 'CANCELLED', 'VOID', 'APPROVED', 'SUBMITTED'].map((status): Guard => ({
    name: `nothing is submitted with a payment in it that is ${status}`,
    kind: 'trigger',
    on: 'submit_attempt',
    object: 'refuse_submit_of_a_held_payment',
    says: 'submit_is_of_payments_at_bank',
    lawful: [...inInstruction('AT_BANK'), insertion('submit_attempt', attempt)].join('; '),
    forbidden: [...inInstruction(status), insertion('submit_attempt', attempt)].join('; '),
  })),
  ...['NULL', `'IN_DOUBT'`, `'EXECUTED'`, `'REFUSED'`].map((outcome): Guard => ({
    name: `no row is submitted again in another plan once its submit is ${outcome}, whatever became of its instruction`,
    ...BY_INTENT,
    says: 'one_submit_per_row',
    given: [
      'DROP TRIGGER refuse_giving_up_of_a_submit ON instruction',
      'DROP TRIGGER refuse_illegal_move ON instruction',
      becomes(outcome),
      `UPDATE instruction SET status = 'ABANDONED' WHERE id = '${a.instruction[0]}'`,
      ...built('SUBMIT_INTENT'),
      `UPDATE planned_instruction SET first_row = 1 WHERE id = '${NEXT}'`,
    ],
    lawful: `UPDATE planned_instruction SET first_row = last_row WHERE id = '${NEXT}';
      ${insertion('submit_attempt', attemptOfBuilt)}`,
    forbidden: insertion('submit_attempt', attemptOfBuilt),
  })),
  {
    name: 'a row is submitted in another plan only where its submit never left',
    ...BY_INTENT,
    says: 'one_submit_per_row',
    given: [
      `UPDATE instruction SET status = 'SUBMIT_REFUSED' WHERE id = '${a.instruction[0]}'`,
      ...built('SUBMIT_INTENT'),
      `UPDATE planned_instruction SET first_row = 1 WHERE id = '${NEXT}'`,
    ],
    lawful: `${becomes(`'PROVEN_UNSENT'`)}; ${insertion('submit_attempt', attemptOfBuilt)}`,
    forbidden: insertion('submit_attempt', attemptOfBuilt),
  },
];

/** Of a submit: intended, approved, not stopped, of its own rows, and once. */
export const SUBMIT_GUARDS: Guard[] = [
  ...INTENT_GUARDS,
  ...GATE_GUARDS,
  ...ONCE_GUARDS,
  ...ROW_GUARDS,
  ...SUCCESSOR_GUARDS,
  ...BESIDE_GUARDS,
];
