import { Guard, GuardObject } from './guard';
import { APPROVER, assignments, firstRows, idsOf, insertion, NOW, Row, secondRows } from './two-employers';

const a = idsOf(1);
const [, NEXT, LAST] = a.fresh;
const second = secondRows(1);
const { payment } = second;

/** One that replaces nothing. */
const unrelated: Row = { ...payment, replaces_payment_id: null };

const payments = (changes: Row) => `UPDATE payment SET ${assignments(changes)} WHERE id = '${a.payment}'`;

const release: Row = firstRows(1).pay_release;
/** Two people answer so that the instruction of the first payment was not executed, asked so much before it went on, or after. */
const declaredEnded = (sign: string, by: Row) =>
  [
    insertion('attention', { ...second.attention, kind: 'ENDED_BY_BANK' }),
    `UPDATE attention SET opened_at = now() ${sign} interval '1 second' WHERE id = '${String(second.attention['id'])}'`,
    insertion('attention_action', {
      ...second.attention_action,
      attention_id: second.attention['id'],
      action: 'NOT_EXECUTED',
      payment_ids: null,
      ...by,
    }),
  ].join('; ');
const RELEASE: Row = { ...release, employee_id: 'E2' };
/** Of the first employee, who has one. */
const SECOND_RELEASE = insertion('pay_release', { ...release, sequence: 2 });
/** Beside the second payment, by a release. */
const SECOND: Row = { id: NEXT, row_no: 4, release_sequence: 1 };
const UNPAID = [payments({ status: 'SUBMITTED' }), payments({ status: 'VOID', live: false })];
/** What becomes of the instruction that holds the first payment, whether it may or not. */
const ofInstruction = (status: string) =>
  `SET LOCAL session_replication_role = replica; UPDATE instruction SET status = '${status}'
   WHERE id = '${a.instruction[0]}'; SET LOCAL session_replication_role = origin`;
const SETTLED = [payments({ status: 'SUBMITTED' }), payments({ status: 'SETTLED' })];
/** Pays the first employee again, by a release. */
const RETURN: Row = {
  ...payment,
  employee_id: 'E1',
  replaces_payment_id: a.payment,
  release_sequence: 1,
};
const HELD: Row = { status: 'HELD', live: false };
const PARTS = {
  kind: 'trigger',
  on: 'payment',
  object: 'refuse_whole_of_parts',
  says: 'part_stays_part',
} as const;
const JOINS = `UPDATE payment SET status = 'READY', live = true WHERE id = '${String(payment['id'])}'`;
/** A release of the first employee is withdrawn. */
const withdrawn = (sequence: number) =>
  `UPDATE pay_release SET withdrawn_at = '${NOW}', withdrawn_by = '${APPROVER}', withdrawn_reason = 'a mistake'
   WHERE employer_id = '${a.employer}' AND employee_id = 'E1' AND sequence = ${sequence}`;
const BY_INSTRUCTION = {
  kind: 'trigger',
  on: 'payment',
  object: 'refuse_leaving_a_live_instruction',
  says: 'leaves_with_its_instruction',
} as const;
const SUCCESSOR: GuardObject = { kind: 'trigger', on: 'payment', object: 'refuse_unlawful_successor' };

/** Replaces one that ended unpaid, and was left out of its run. */
const LEFT_OUT: Row = { ...payment, status: 'EXCLUDED', live: false, excluded_reason: 'sent twice' };

/** Of payments: nobody is paid twice for a period, and what has ended has ended. */
export const PAYMENT_GUARDS: Guard[] = [
  {
    name: 'an employee has one live payment for a period and kind of pay',
    kind: 'index',
    on: 'payment',
    object: 'one_live_payment_per_employee_and_period',
    lawful: `${UNPAID.join('; ')};
      ${insertion('payment', { ...unrelated, pay_run_id: a.spareRun, employee_id: 'E1' })}`,
    forbidden: insertion('payment', { ...unrelated, pay_run_id: a.spareRun, employee_id: 'E1' }),
  },
  {
    name: 'a payment that was settled keeps its employee from being paid again',
    kind: 'index',
    on: 'payment',
    object: 'one_live_payment_per_employee_and_period',
    given: [payments({ status: 'SUBMITTED' }), payments({ status: 'SETTLED' })],
    lawful: insertion('payment', { ...unrelated, employee_id: 'E1', period: '2026-12' }),
    forbidden: insertion('payment', { ...unrelated, employee_id: 'E1' }),
  },
  {
    name: 'a second pay of a period needs a release',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_unreleased_second_pay',
    says: 'second_pay_is_released',
    lawful: insertion('payment', { ...unrelated, employee_id: 'E1', release_sequence: 1 }),
    forbidden: insertion('payment', { ...unrelated, employee_id: 'E1', release_sequence: 2 }),
  },
  {
    name: 'a release is given once',
    kind: 'constraint',
    on: 'pay_release',
    object: 'pay_release_pkey',
    lawful: insertion('pay_release', second.pay_release),
    forbidden: insertion('pay_release', { ...second.pay_release, sequence: 1 }),
  },
  {
    name: 'a second pay of a period needs a release that was not withdrawn',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_unreleased_second_pay',
    says: 'second_pay_is_released',
    given: [SECOND_RELEASE],
    lawful: insertion('payment', { ...unrelated, employee_id: 'E1', release_sequence: 2 }),
    forbidden: `${withdrawn(2)}; ${insertion('payment', { ...unrelated, employee_id: 'E1', release_sequence: 2 })}`,
  },
  {
    name: 'a release that was made with a payment allows no other once that is left out',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_unreleased_second_pay',
    says: 'second_pay_is_released',
    given: [
      insertion('payment', { ...unrelated, id: NEXT, row_no: 4, status: 'READY', employee_id: 'E8' }),
      insertion('pay_release', { ...release, sequence: 2, payment_id: NEXT }),
    ],
    lawful: insertion('payment', { ...unrelated, employee_id: 'E1', release_sequence: 2 }),
    forbidden: `UPDATE payment SET status = 'EXCLUDED', live = false, excluded_reason = 'sent twice' WHERE id = '${NEXT}';
      ${insertion('payment', { ...unrelated, employee_id: 'E1', release_sequence: 2 })}`,
  },
  {
    name: 'a release that was made with a payment allows no other once its run is cancelled',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_unreleased_second_pay',
    says: 'second_pay_is_released',
    given: [
      insertion('pay_run', { ...second.pay_run, status: 'CANCELLING' }),
      insertion('payment', {
        ...unrelated,
        id: NEXT,
        pay_run_id: second.pay_run.id,
        status: 'CANCELLED',
        live: false,
        employee_id: 'E8',
      }),
      insertion('pay_release', { ...release, sequence: 2, payment_id: NEXT }),
    ],
    lawful: insertion('payment', { ...unrelated, employee_id: 'E1', release_sequence: 2 }),
    forbidden: `UPDATE pay_run SET status = 'CANCELLED' WHERE id = '${second.pay_run.id}';
      ${insertion('payment', { ...unrelated, employee_id: 'E1', release_sequence: 2 })}`,
  },
  {
    name: 'a held payment does not join by a release that was withdrawn',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_unreleased_second_pay_on_joining',
    says: 'second_pay_is_released',
    given: [
      SECOND_RELEASE,
      insertion('payment', { ...unrelated, ...HELD, employee_id: 'E1', release_sequence: 2 }),
      insertion('pay_hold', { ...second.pay_hold, row_no: 3, payment_id: unrelated['id']! }),
    ],
    lawful: JOINS,
    forbidden: `${withdrawn(2)}; ${JOINS}`,
  },
  {
    name: 'a release is withdrawn while no live payment uses it',
    kind: 'trigger',
    on: 'pay_release',
    object: 'refuse_withdrawal_of_a_used_release',
    says: 'used_release_stands',
    given: [insertion('payment', { ...unrelated, employee_id: 'E1', release_sequence: 1 })],
    lawful: `UPDATE payment SET status = 'VOID', live = false WHERE id = '${String(payment['id'])}';
      ${withdrawn(1)}`,
    forbidden: withdrawn(1),
  },
  {
    name: 'a release that was withdrawn stays so',
    kind: 'trigger',
    on: 'pay_release',
    object: 'refuse_change_of_a_withdrawn_release',
    says: 'release_is_withdrawn_once',
    given: [SECOND_RELEASE],
    lawful: withdrawn(2),
    forbidden: `${withdrawn(2)}; UPDATE pay_release
      SET withdrawn_at = NULL, withdrawn_by = NULL, withdrawn_reason = NULL WHERE sequence = 2`,
  },
  {
    name: 'a payment has one live successor',
    kind: 'index',
    on: 'payment',
    object: 'one_live_successor_per_payment',
    given: [insertion('payment', payment), insertion('pay_release', { ...RELEASE, sequence: 1 })],
    lawful: insertion('payment', { ...payment, ...SECOND, replaces_payment_id: null }),
    forbidden: insertion('payment', { ...payment, ...SECOND }),
  },
  ...[
    { what: 'may still be paid', given: [] },
    { what: 'was paid', given: SETTLED },
  ].map(({ what, given }): Guard => ({
    name: `what ${what} is not replaced`,
    ...SUCCESSOR,
    says: 'replaced_was_not_paid',
    given,
    lawful: insertion('payment', payment),
    forbidden: insertion('payment', RETURN),
  })),
  {
    name: 'what was paid and came back is replaced with a reason only',
    ...SUCCESSOR,
    says: 'replaced_was_not_paid',
    given: [...SETTLED, payments({ returned_at: '2026-11-28' })],
    lawful: insertion('payment', { ...RETURN, replaces_reason: 'her account was closed' }),
    forbidden: insertion('payment', RETURN),
  },
  ...(['insert', 'release'] as const).flatMap((when): Guard[] => {
    const again: Row = { ...RETURN, replaces_reason: 'her account was closed' };
    const about = { kind: 'ECHO_MISMATCH', payment_id: a.payment, subject_id: a.payment, lacking_minor: 99 };
    const asked = { ...second.attention, ...about };
    const answered = (action: string, more: Row = {}) =>
      insertion('attention_action', {
        ...second.attention_action,
        attention_id: asked.id,
        action,
        payment_ids: null,
        ...more,
      });
    const replacing =
      when === 'insert'
        ? insertion('payment', again)
        : `UPDATE payment SET status = 'READY', live = true WHERE id = '${String(again['id'])}'`;
    const before = { id: a.fresh[1], confirmed_at: '2026-11-29' };
    const unlessSaid = [
      { unless: 'it was said that somebody did', forbidden: answered('ACKNOWLEDGE') },
      { unless: 'nobody has answered', forbidden: '' },
      {
        unless: 'one person alone says so',
        forbidden: answered('RESUME', { confirmed_by: null, confirmed_at: null }),
      },
      {
        unless: 'it was said of less',
        forbidden: `UPDATE attention SET lacking_minor = 98 WHERE id = '${asked.id}'; ${answered('RESUME')}`,
      },
      {
        unless: 'the contrary was said since',
        forbidden: `${answered('RESUME', before)}; ${answered('ACKNOWLEDGE', { confirmed_at: '2026-11-30' })}`,
      },
    ].map(({ unless, forbidden }): Guard => ({
      name: `what came back in part is replaced once nobody kept the rest, and not where ${unless} (${when})`,
      kind: 'trigger',
      on: 'payment',
      object: `refuse_successor_of_what_is_kept${when === 'insert' ? '' : '_on_release'}`,
      says: 'replaced_is_not_kept',
      given: [
        ...SETTLED,
        ...(when === 'insert'
          ? []
          : [
              payments({ returned_at: '2026-11-28' }),
              insertion('payment', { ...again, ...HELD }),
              insertion('pay_hold', { ...second.pay_hold, row_no: 3, payment_id: payment.id }),
            ]),
        payments({ returned_at: '2026-11-28', returned_minor: 1 }),
        insertion('attention', asked),
      ],
      lawful: `${answered('RESUME')}; ${replacing}`,
      forbidden: `${forbidden}; ${replacing}`,
    }));
    if (when === 'release') return unlessSaid;
    const inItsStead = {
      ...unlessSaid[0]!,
      name: 'what was paid instead of what came back in part is replaced once nobody kept the rest',
      given: [
        ...SETTLED,
        payments({ returned_at: '2026-11-28', returned_minor: 1 }),
        insertion('attention', asked),
        `SET LOCAL session_replication_role = replica;
         UPDATE payment SET replaces_payment_id = '${a.payment}' WHERE id = '${a.voidPayment}';
         SET LOCAL session_replication_role = origin`,
      ],
      lawful: `${answered('RESUME')}; ${insertion('payment', payment)}`,
      forbidden: `${answered('ACKNOWLEDGE')}; ${insertion('payment', payment)}`,
    };
    return [...unlessSaid, inItsStead];
  }),
  {
    name: 'what came back is not replaced beside another payment that may be made in its stead, unless one run paid both',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_successor_beside_the_same_pay',
    says: 'replaced_is_not_paid_otherwise',
    given: [
      ...SETTLED,
      payments({ returned_at: '2026-11-28' }),
      `SET LOCAL session_replication_role = replica;
       ${insertion('payment', { ...unrelated, id: LAST, pay_run_id: a.spareRun, employee_id: 'E1', release_sequence: 2 })};
       SET LOCAL session_replication_role = origin`,
    ],
    lawful: `SET LOCAL session_replication_role = replica; UPDATE payment SET pay_run_id = '${a.run}', row_no = 77 WHERE id = '${LAST}';
      SET LOCAL session_replication_role = origin; ${insertion('payment', { ...RETURN, replaces_reason: 'her account was closed' })}`,
    forbidden: insertion('payment', { ...RETURN, replaces_reason: 'her account was closed' }),
  },
  {
    name: 'less comes back than was paid, and of what came back only',
    kind: 'constraint',
    on: 'payment',
    object: 'part_came_back',
    given: SETTLED,
    lawful: payments({ returned_at: '2026-11-28', returned_minor: 1 }),
    forbidden: payments({ returned_minor: 1 }),
  },
  {
    name: 'no more comes back than was paid',
    kind: 'constraint',
    on: 'payment',
    object: 'part_came_back',
    given: [...SETTLED, payments({ returned_at: '2026-11-28', returned_minor: 1 })],
    lawful: 'UPDATE payment SET returned_minor = amount_minor WHERE returned_at IS NOT NULL',
    forbidden: 'UPDATE payment SET returned_minor = amount_minor + 1 WHERE returned_at IS NOT NULL',
  },
  {
    name: 'what came back whole came back in no part',
    ...PARTS,
    given: [...SETTLED, payments({ returned_at: '2026-11-28' })],
    lawful: 'UPDATE payment SET returned_minor = amount_minor - 1 WHERE returned_at IS NOT NULL',
    forbidden: 'UPDATE payment SET returned_minor = amount_minor WHERE returned_at IS NOT NULL',
  },
  {
    name: 'what came back in part is never said to have come back in none',
    ...PARTS,
    given: [...SETTLED, payments({ returned_at: '2026-11-28', returned_minor: 1 })],
    lawful: payments({ returned_minor: 2 }),
    forbidden: payments({ returned_minor: null }),
  },
  ...[{ employee_id: 'E9' }, { period: '2026-12' }, { kind_of_pay: 'BONUS' }].map((change): Guard => ({
    name: `a payment replaces none of another ${Object.keys(change).join()}`,
    ...SUCCESSOR,
    says: 'successor_is_the_same_pay',
    lawful: insertion('payment', payment),
    forbidden: insertion('payment', { ...payment, ...change }),
  })),
  {
    name: 'a payment with two final statuses is never replaced, also once people have heard of it',
    ...SUCCESSOR,
    says: 'replaced_is_not_contradicted',
    given: [
      insertion('attention', {
        ...second.attention,
        kind: 'CONTRADICTION',
        payment_id: a.voidPayment,
        resolved_at: '2026-11-28',
        resolution: 'seen',
      }),
    ],
    lawful: insertion('payment', { ...payment, replaces_payment_id: null }),
    forbidden: insertion('payment', payment),
  },
  {
    name: 'of a chain of payments that ended unpaid the last is replaced',
    ...SUCCESSOR,
    says: 'last_of_the_chain_is_replaced',
    given: [insertion('payment', { ...payment, status: 'FAILED', live: false })],
    lawful: insertion('payment', { ...payment, id: NEXT, row_no: 4, replaces_payment_id: payment.id }),
    forbidden: insertion('payment', { ...payment, id: NEXT, row_no: 4 }),
  },
  ...[
    // It replaces what a person left out, while a sibling of that was sent.
    { sent: a.voidPayment, around: payment.id },
    // It replaces the first one, while what replaced the one that was left out was sent.
    { sent: payment.id, around: a.voidPayment },
    // The bank cancelled what was sent: its run goes on.
    { sent: payment.id, around: a.voidPayment, status: 'CANCELLED' },
    // What was left out came after what was sent.
    { sent: a.voidPayment, around: LAST, leftOut: { id: LAST }, next: payment.id },
  ].map(({ sent, around, status = 'FAILED', leftOut, next = LAST }, n): Guard => ({
    name: `what was sent last is replaced, and no other branch of its chain (${n + 1})`,
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_successor_around_another',
    says: 'last_sent_is_replaced',
    given: [
      insertion('payment', { ...LEFT_OUT, ...leftOut }),
      insertion('payment', {
        ...payment,
        id: NEXT,
        row_no: 4,
        status,
        live: false,
        replaces_payment_id: sent,
      }),
    ],
    lawful: insertion('payment', { ...payment, id: next, row_no: 5, replaces_payment_id: NEXT }),
    forbidden: insertion('payment', { ...payment, id: next, row_no: 5, replaces_payment_id: around }),
  })),
  {
    name: 'only a payment that replaces another says why',
    kind: 'constraint',
    on: 'payment',
    object: 'payment_check3',
    lawful: insertion('payment', { ...payment, replaces_reason: 'her account was closed' }),
    forbidden: insertion('payment', {
      ...payment,
      replaces_payment_id: null,
      replaces_reason: 'her account was closed',
    }),
  },
  {
    name: 'a payment moves only as the domain allows',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_illegal_payment_move',
    says: 'legal_moves_only',
    lawful: payments({ status: 'SUBMITTED' }),
    forbidden: payments({ status: 'SETTLED' }),
  },
  {
    name: 'a payment is in no state but a known one',
    kind: 'constraint',
    on: 'payment',
    object: 'payment_status_check',
    lawful: insertion('payment', { ...payment, status: 'CANCELLED', live: false }),
    forbidden: insertion('payment', { ...payment, status: 'PAID', live: false }),
  },
  {
    name: 'a final payment never changes',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_illegal_payment_move',
    says: 'legal_moves_only',
    given: [payments({ status: 'SUBMITTED' }), payments({ status: 'SETTLED' })],
    lawful: payments({ status: 'SETTLED', settled_on: '2026-11-27' }),
    forbidden: payments({ status: 'SUBMITTED' }),
  },
  {
    name: 'a payment that may still pay counts as live',
    kind: 'constraint',
    on: 'payment',
    object: 'payment_check',
    lawful: UNPAID.join('; '),
    forbidden: payments({ status: 'SUBMITTED', live: false }),
  },
  {
    name: 'an excluded payment says why',
    kind: 'constraint',
    on: 'payment',
    object: 'payment_check1',
    given: [ofInstruction('ABANDONED'), payments({ status: 'APPROVED' })],
    lawful: payments({ status: 'EXCLUDED', live: false, excluded_reason: 'she left' }),
    forbidden: payments({ status: 'EXCLUDED', live: false }),
  },
  ...['SUBMIT_INTENT', 'VERIFIED', 'BUILDING', 'SUBMITTED', 'SUBMIT_UNKNOWN', 'SUBMIT_REFUSED'].flatMap(
    (status): Guard[] =>
      (<[string, Row, string][]>[
        ['given back', { status: 'APPROVED' }, 'ABANDONED'],
        ['void', { status: 'VOID', live: false }, 'RELEASED'],
      ]).map(([becomes, change, ended]) => ({
        ...BY_INSTRUCTION,
        name: `a payment is not ${becomes} while its instruction is ${status}`,
        given: [ofInstruction(status)],
        lawful: `${ofInstruction(ended)}; ${payments(change)}`,
        forbidden: payments(change),
      })),
  ),
  {
    ...BY_INSTRUCTION,
    name: 'a payment is not given back once its instruction was declared void',
    given: [ofInstruction('VOID')],
    lawful: payments({ status: 'VOID', live: false }),
    forbidden: payments({ status: 'APPROVED' }),
  },
  ...(<{ name: string; since: string; action?: Row }[]>[
    { name: 'were asked about it before the bank went on with it', since: '-' },
    { name: 'only know that', since: '+', action: { action: 'ACKNOWLEDGE' } },
    { name: 'did not agree', since: '+', action: { confirmed_by: null, confirmed_at: null } },
  ]).map(({ name, since, action = {} }): Guard => {
    const ended = (sign: string, of: Row) =>
      `${declaredEnded(sign, of)}; ${payments({ status: 'VOID', live: false })}`;
    return {
      name: `a payment of an instruction that was ended is not void by two people who ${name}`,
      kind: 'trigger',
      on: 'payment',
      object: 'refuse_end_of_what_went_on',
      says: 'void_is_asked_since',
      given: [
        payments({ status: 'SUBMITTED' }),
        `SET LOCAL session_replication_role = replica; DELETE FROM payment_decision;
         UPDATE instruction SET status = 'SUBMITTED', went_on_at = now() WHERE id = '${a.instruction[0]}';
         SET LOCAL session_replication_role = origin`,
      ],
      lawful: ended('+', {}),
      forbidden: ended(since, action),
    };
  }),
  {
    name: 'only a settled payment is returned',
    kind: 'constraint',
    on: 'payment',
    object: 'payment_check2',
    given: [payments({ status: 'SUBMITTED' })],
    lawful: payments({ status: 'SETTLED', returned_at: '2026-11-28' }),
    forbidden: payments({ returned_at: '2026-11-28' }),
  },
  ...[0, -1, 100_000_000_000].map((amount): Guard => ({
    name: `nobody is paid ${amount} cents`,
    kind: 'constraint',
    on: 'payment',
    object: 'payment_amount_minor_check',
    lawful: insertion('payment', { ...payment, amount_minor: 99_999_999_999 }),
    forbidden: insertion('payment', { ...payment, amount_minor: amount }),
  })),
  {
    name: 'a payment is in euros',
    kind: 'constraint',
    on: 'payment',
    object: 'payment_currency_check',
    lawful: insertion('payment', payment),
    forbidden: insertion('payment', { ...payment, currency: 'USD' }),
  },
  {
    name: 'a run holds a row once',
    kind: 'constraint',
    on: 'payment',
    object: 'one_payment_per_row_of_a_run',
    lawful: insertion('payment', payment),
    forbidden: insertion('payment', { ...payment, row_no: 1 }),
  },
  {
    name: 'a payment keeps the key by which others refer to it',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_change_of_a_key',
    says: 'keys_never_change',
    given: [insertion('payment', payment)],
    lawful: `UPDATE payment SET id = id WHERE id = '${payment.id}'`,
    forbidden: `UPDATE payment SET id = '${NEXT}' WHERE id = '${payment.id}'`,
  },
  {
    name: 'a payment is never deleted, since payments of the bank refer to it',
    kind: 'trigger',
    on: 'payment',
    object: 'never_deleted',
    given: [insertion('payment', payment)],
    lawful: `UPDATE payment SET id = id WHERE id = '${payment.id}'`,
    forbidden: `DELETE FROM payment WHERE id = '${payment.id}'`,
  },
];
