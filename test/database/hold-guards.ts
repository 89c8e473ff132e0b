import { COPY_OF_LEFT_OUT, COPY_OF_VOID, COPYING_RUN } from './copied-rows';
import { Guard, unguarded } from './guard';
import { firstRows, hashOf, idsOf, insertion, NOW, OTHER, PREPARER, Row, secondRows } from './two-employers';

const a = idsOf(1);
const [HELD, NEXT, LAST] = a.fresh;
/** The run of `COPYING_RUN`. */
const COPIES = HELD;
const second = secondRows(1);
const { pay_hold: hold, payment, approval } = second;

const OPEN: Row = { outcome: null, reason: null, decided_by: null, decided_at: null };
/** Keeps back the whole run. */
const ofRun = (run: string, run_version = 1) =>
  insertion('pay_hold', {
    ...hold,
    ...OPEN,
    run_version,
    pay_run_id: run,
    row_no: 0,
    payment_id: null,
    code: 'RUN_ABOVE_LIMIT',
  });
const OF_RUN = ofRun(a.run);
/** A held payment of an employee whose earlier payment is void. */
const HELD_PAYMENT: Row = { ...payment, id: HELD, status: 'HELD', live: false, replaces_payment_id: null };
const OF_PAYMENT = insertion('pay_hold', { ...hold, ...OPEN, row_no: 3, payment_id: HELD });

const released = (by: string, rowNo: number, run: string = a.run) =>
  `UPDATE pay_hold SET outcome = 'RELEASED', reason = 'both are owed', decided_by = '${by}', decided_at = '${NOW}'
   WHERE pay_run_id = '${run}' AND row_no = ${rowNo}`;
/** One that was released. */
const RELEASED = insertion('pay_hold', { ...hold, row_no: 3, payment_id: HELD });
const JOINS = `UPDATE payment SET status = 'READY', live = true WHERE id = '${HELD}'`;
const becomes = (status: string) => `UPDATE payment SET status = '${status}' WHERE id = '${HELD}'`;
const takes = (sequence: number, id: string = HELD) =>
  `UPDATE payment SET release_sequence = ${sequence} WHERE id = '${id}'`;
/** A hold of the whole run that an amendment ended. */
const AMENDED: Row = {
  ...hold,
  row_no: 0,
  payment_id: null,
  code: 'ROWS_OF_ANOTHER_RUN',
  outcome: 'AMENDED',
  beside_run_id: a.spareRun,
};
/** What the other run pays somebody else. */
const beside = (change: Row = {}) =>
  insertion('payment', {
    ...payment,
    id: NEXT,
    pay_run_id: a.spareRun,
    row_no: 1,
    employee_id: 'E9',
    replaces_payment_id: null,
    ...change,
  });
const APPROVAL = insertion('approval', approval);
/** What the other run pays the same employee, who alone gets that amount by the run. */
const besideOwn = (change: Row) => `${beside({ employee_id: 'E1', ...change })};
  ${unguarded(`UPDATE payment SET amount_minor = 999 WHERE id = '${a.secondPayment}'`)}`;
/** As `besideOwn`, for the next month, on a day. */
const forNextMonth = (day: string) => `${besideOwn({ period: '2026-12' })};
  ${unguarded(`UPDATE pay_run SET period = '2026-12', execution_date = '${day}' WHERE id = '${a.spareRun}'`)}`;
/** That the whole run was released beside a third one first, and the other. */
const RELEASED_BESIDE_BOTH = insertion('pay_hold', {
  ...AMENDED,
  run_version: 2,
  outcome: 'RELEASED',
  beside_run_id: a.run,
  also_beside_run_ids: `{${a.spareRun}}`,
});
const inState = (status: string) =>
  unguarded(`UPDATE pay_run SET status = '${status}' WHERE id = '${a.run}'`);
/** That the other run's row was released beside its own run, and others. */
const besideReleased = (also: string[]) =>
  insertion('pay_hold', {
    ...hold,
    pay_run_id: a.spareRun,
    payment_id: NEXT,
    beside_run_id: a.spareRun,
    also_beside_run_ids: `{${also.join()}}`,
  });
/** That nobody was asked about rows of the run, once they were hidden. */
const unasked = (name: string, lawful: string, forbidden: string): Guard => ({
  name,
  kind: 'trigger',
  on: 'approval',
  object: 'refuse_approval_of_unasked_rows',
  says: 'alike_rows_are_asked_about',
  given: [insertion('pay_hold', AMENDED), inState('READY')],
  lawful,
  forbidden,
});
const RELEASE = insertion('pay_release', { ...firstRows(1).pay_release, employee_id: 'E2' });

/** Of holds: what is held is decided once, by somebody else, and until then neither approved nor sent. */
export const HOLD_GUARDS: Guard[] = [
  {
    name: 'a run with an open hold is not approved',
    kind: 'trigger',
    on: 'approval',
    object: 'refuse_approval_over_a_hold',
    says: 'no_approval_over_a_hold',
    given: [OF_RUN],
    lawful: `${released(OTHER, 0)}; ${insertion('approval', approval)}`,
    forbidden: insertion('approval', approval),
  },
  {
    name: 'a run that pays nobody is not approved',
    kind: 'trigger',
    on: 'approval',
    object: 'refuse_approval_over_a_hold',
    says: 'approval_is_of_payments',
    given: [insertion('pay_run_version', { ...second.pay_run_version, row_count: 0, total_minor: 0 })],
    lawful: insertion('approval', approval),
    forbidden: insertion('approval', { ...approval, run_version: 2, root_hash: hashOf(2) }),
  },
  unasked(
    'a run with rows of another one is not approved once an amendment ended what it was held for',
    `${beside({ amount_minor: 101 })}; ${APPROVAL}`,
    `${beside()}; ${APPROVAL}`,
  ),
  unasked(
    'nor is one with rows that another one holds',
    `${beside({ status: 'VOID', live: false })}; ${APPROVAL}`,
    `${beside({ status: 'HELD', live: false })}; ${APPROVAL}`,
  ),
  unasked(
    'nor is one that was released beside a third run',
    `${beside()}; ${insertion('pay_hold', { ...AMENDED, run_version: 2, outcome: 'RELEASED' })}; ${APPROVAL}`,
    `${beside()}; ${insertion('pay_hold', { ...AMENDED, run_version: 2, outcome: 'RELEASED', beside_run_id: a.run })}; ${APPROVAL}`,
  ),
  unasked(
    'nor is one with rows that were released there beside others',
    `${beside()}; ${besideReleased([a.run])}; ${APPROVAL}`,
    `${beside()}; ${besideReleased([])}; ${APPROVAL}`,
  ),
  unasked(
    'nor is one with rows that another one pays the same people as another kind of pay',
    `${besideOwn({ status: 'HELD', live: false })}; ${APPROVAL}`,
    `${besideOwn({ kind_of_pay: 'BONUS' })}; ${APPROVAL}`,
  ),
  unasked(
    'nor for another month, about the same day',
    `${forNextMonth('2026-12-12')}; ${APPROVAL}`,
    `${forNextMonth('2026-12-11')}; ${APPROVAL}`,
  ),
  unasked(
    'unless it was released beside that one and a third, but for what is paid as that of others',
    `${besideOwn({ kind_of_pay: 'BONUS' })}; ${RELEASED_BESIDE_BOTH}; ${APPROVAL}`,
    `${beside()}; ${RELEASED_BESIDE_BOTH}; ${APPROVAL}`,
  ),
  unasked(
    'but what is being submitted is, as it was once',
    `${beside()}; ${inState('SUBMITTING')}; ${APPROVAL}`,
    `${beside()}; ${inState('VERIFIED')}; ${APPROVAL}`,
  ),
  {
    name: 'who prepared a run releases none of its holds',
    kind: 'trigger',
    on: 'pay_hold',
    object: 'refuse_release_by_a_preparer',
    says: 'releaser_is_not_preparer',
    given: [OF_RUN],
    lawful: released(OTHER, 0),
    forbidden: released(PREPARER, 0),
  },
  {
    name: 'who prepared what was left out of its run and is copied releases no hold of the copies',
    kind: 'trigger',
    on: 'pay_hold',
    object: 'refuse_release_by_a_preparer',
    says: 'releaser_is_not_preparer',
    given: [...COPYING_RUN, ofRun(COPIES)],
    lawful: `${COPY_OF_VOID}; ${released(PREPARER, 0, COPIES)}`,
    forbidden: `${COPY_OF_LEFT_OUT}; ${released(PREPARER, 0, COPIES)}`,
  },
  {
    name: 'a hold is decided once',
    kind: 'trigger',
    on: 'pay_hold',
    object: 'refuse_change_of_a_decided_hold',
    says: 'hold_is_decided_once',
    given: [OF_RUN],
    lawful: released(OTHER, 0),
    forbidden: `UPDATE pay_hold SET reason = 'another' WHERE pay_run_id = '${a.run}' AND row_no = 1`,
  },
  {
    name: 'a row is held once for one thing',
    kind: 'constraint',
    on: 'pay_hold',
    object: 'pay_hold_pkey',
    lawful: insertion('pay_hold', hold),
    forbidden: insertion('pay_hold', { ...hold, code: 'EMPLOYEE_ALREADY_PAID' }),
  },
  ...[{ row_no: 0 }, { payment_id: null }].map((change): Guard => ({
    name: `a hold is of a row or of the run, not with ${Object.keys(change).join()} of the other`,
    kind: 'constraint',
    on: 'pay_hold',
    object: 'hold_is_of_a_row_or_the_run',
    lawful: insertion('pay_hold', { ...hold, row_no: 0, payment_id: null }),
    forbidden: insertion('pay_hold', { ...hold, ...change }),
  })),
  {
    name: 'only what is held of the whole run ends by an amendment',
    kind: 'constraint',
    on: 'pay_hold',
    object: 'pay_hold_outcome_check',
    lawful: insertion('pay_hold', { ...hold, row_no: 0, payment_id: null, outcome: 'AMENDED' }),
    forbidden: insertion('pay_hold', { ...hold, outcome: 'AMENDED' }),
  },
  {
    name: 'a run is held once for one thing by each of its versions',
    kind: 'constraint',
    on: 'pay_hold',
    object: 'pay_hold_pkey',
    given: [OF_RUN],
    lawful: ofRun(a.run, 2),
    forbidden: OF_RUN,
  },
  {
    name: 'a hold is open or decided at some time',
    kind: 'constraint',
    on: 'pay_hold',
    object: 'hold_is_open_or_decided',
    lawful: insertion('pay_hold', { ...hold, ...OPEN }),
    forbidden: insertion('pay_hold', { ...hold, decided_at: null }),
  },
  ...[{ decided_by: null }, { reason: null }, { outcome: 'CANCELLED' }].map((change): Guard => ({
    name: `a decision has its person and reason: no ${Object.entries(change).join()}`,
    kind: 'constraint',
    on: 'pay_hold',
    object: 'decision_has_person_and_reason',
    lawful: insertion('pay_hold', { ...hold, outcome: 'CANCELLED', decided_by: null, reason: null }),
    forbidden: insertion('pay_hold', { ...hold, ...change }),
  })),
  {
    name: 'a held payment is not live',
    kind: 'constraint',
    on: 'payment',
    object: 'payment_check',
    lawful: insertion('payment', HELD_PAYMENT),
    forbidden: insertion('payment', { ...HELD_PAYMENT, live: true }),
  },
  {
    name: 'a payment with an open hold stays held',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_payment_on_hold',
    says: 'held_until_released',
    given: [insertion('payment', HELD_PAYMENT), OF_PAYMENT],
    lawful: `${released(OTHER, 3)}; ${JOINS}`,
    forbidden: JOINS,
  },
  {
    name: 'a payment stays held when its holds end otherwise than released',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_payment_on_hold',
    says: 'held_until_released',
    given: [insertion('payment', HELD_PAYMENT), OF_PAYMENT],
    lawful: `${released(OTHER, 3)}; ${JOINS}`,
    forbidden: `UPDATE pay_hold SET outcome = 'CANCELLED', decided_at = '${NOW}' WHERE row_no = 3; ${JOINS}`,
  },
  ...['APPROVED', 'AT_BANK'].map((status): Guard => ({
    name: `a held payment is not ${status}`,
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_illegal_payment_move',
    says: 'legal_moves_only',
    given: [insertion('payment', HELD_PAYMENT), RELEASED],
    lawful: JOINS,
    forbidden: `UPDATE payment SET status = '${status}', live = true WHERE id = '${HELD}'`,
  })),
  {
    name: 'a held payment joins only if nobody else holds its place',
    kind: 'index',
    on: 'payment',
    object: 'one_live_payment_per_employee_and_period',
    given: [insertion('payment', { ...HELD_PAYMENT, employee_id: 'E1' }), RELEASED],
    lawful: `${takes(1)}; ${JOINS}`,
    forbidden: JOINS,
  },
  {
    name: 'a held payment replaces none that was replaced by one that was sent',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_unlawful_successor_on_release',
    says: 'last_of_the_chain_is_replaced',
    given: [insertion('payment', { ...HELD_PAYMENT, replaces_payment_id: a.voidPayment }), RELEASED],
    lawful: JOINS,
    forbidden: `${insertion('payment', { ...payment, id: NEXT, row_no: 4, status: 'FAILED', live: false })};
      ${JOINS}`,
  },
  {
    name: 'a held payment replaces none around what was sent in the stead of the same one',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_successor_around_another_on_release',
    says: 'last_sent_is_replaced',
    given: [
      insertion('payment', {
        ...payment,
        id: NEXT,
        row_no: 4,
        status: 'EXCLUDED',
        live: false,
        excluded_reason: 'sent twice',
      }),
      insertion('payment', { ...HELD_PAYMENT, replaces_payment_id: NEXT }),
      RELEASED,
    ],
    lawful: JOINS,
    forbidden: `${insertion('payment', { ...payment, id: LAST, row_no: 5, status: 'FAILED', live: false })};
      ${JOINS}`,
  },
  {
    name: 'only a held payment takes a release',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_new_place_of_a_payment',
    says: 'release_is_taken_while_held',
    given: [insertion('payment', HELD_PAYMENT), RELEASE],
    lawful: takes(1),
    forbidden: takes(1, a.payment),
  },
  {
    name: 'a held payment takes a release that was given',
    kind: 'trigger',
    on: 'payment',
    object: 'refuse_unreleased_second_pay_on_release',
    says: 'second_pay_is_released',
    given: [insertion('payment', HELD_PAYMENT), RELEASE],
    lawful: takes(1),
    forbidden: takes(2),
  },
  {
    name: 'an instruction that holds a held payment is not submitted',
    kind: 'trigger',
    on: 'submit_attempt',
    object: 'refuse_submit_of_a_held_payment',
    says: 'no_submit_of_a_held_payment',
    given: [
      insertion('payment', HELD_PAYMENT),
      RELEASED,
      insertion('bank_payment', { ...second.bank_payment, payment_id: HELD }),
    ],
    lawful: `${JOINS}; ${becomes('APPROVED')}; ${becomes('AT_BANK')}; ${insertion('submit_attempt', second.submit_attempt)}`,
    forbidden: insertion('submit_attempt', second.submit_attempt),
  },
];
