import { COPY_OF_LEFT_OUT, COPY_OF_VOID, COPYING_RUN } from './copied-rows';
import { Guard, GuardObject, unguarded } from './guard';
import {
  APPROVER,
  firstRows,
  hashOf,
  idsOf,
  insertion,
  OTHER,
  PREPARER,
  Row,
  secondRows,
} from './two-employers';

const a = idsOf(1);
const first = firstRows(1);
const second = secondRows(1);
const { run_comparison: comparison, run_difference: difference, iban_tick: tick, approval } = second;

const TICKED: GuardObject & { says: string } = {
  kind: 'trigger',
  on: 'approval',
  object: 'refuse_approval_of_unticked_ibans',
  says: 'ibans_are_ticked',
};
const TICKS_ASKED_FOR = `UPDATE employer SET tick_ibans = true WHERE id = '${a.employer}'`;
const role = (person_id: string, name: string): Row => ({ ...first.person_role, person_id, role: name });
const MAY_APPROVE = insertion('person_role', role(APPROVER, 'approver'));
const NEXT_VERSION = insertion('pay_run_version', { ...second.pay_run_version, prepared_by: OTHER });
const inState = (status: string) =>
  unguarded(`UPDATE pay_run SET status = '${status}' WHERE id = '${a.run}'`);
const unticked: Row = { ...difference, kind: 'IBAN_CHANGED', n: 2, payment_id: a.voidPayment };
const next: Row = {
  ...approval,
  approver_id: APPROVER,
  run_version: 2,
  root_hash: hashOf(2),
  prepared_by: OTHER,
};
const decision: Row = { ...tick, run_version: 2, payment_id: null, reason: 'the first run' };

const OF_NOW: GuardObject & { says: string } = {
  kind: 'trigger',
  on: 'approval',
  object: 'refuse_approval_by_an_old_comparison',
  says: 'comparison_is_of_now',
};
const IN_TIME = [TICKS_ASKED_FOR, MAY_APPROVE, inState('READY'), NEXT_VERSION];
const ANEW: Row = { ...first.run_comparison, run_version: 2 };
const COMPARED = insertion('run_comparison', ANEW);
const [EARLIER, WAS_PAID, WAS_PAID_TOO] = a.fresh;
/** Both of the next version were paid on the same IBANs the month before. */
const PAID_EARLIER = unguarded(
  insertion('pay_run', {
    ...second.pay_run,
    id: EARLIER,
    period: '2026-10',
    status: 'SETTLED',
    schedule_id: null,
  }),
  ...[
    { id: WAS_PAID, row_no: 1, employee_id: 'E1' },
    { id: WAS_PAID_TOO, row_no: 2, employee_id: 'E7' },
  ].map((change) =>
    insertion('payment', {
      ...first.payment,
      pay_run_id: EARLIER,
      period: '2026-10',
      status: 'SETTLED',
      ...change,
    }),
  ),
);
/** The IBAN of a payment is asked about in the next version, and ticked. */
const asked = (payment_id: string, change: Row = {}) =>
  [
    insertion('run_difference', { ...first.run_difference, run_version: 2, payment_id, ...change }),
    insertion('iban_tick', { ...first.iban_tick, run_version: 2, payment_id }),
  ].join('; ');

/** Of the run with copies, by who prepared the run that they are of. */
const tickOfCopies: Row = {
  ...tick,
  pay_run_id: a.fresh[0],
  payment_id: null,
  reason: 'they were looked at',
  ticked_by: PREPARER,
};

/** Of comparisons and ticks: nobody's IBAN is new unseen, and not the preparer says so. */
export const COMPARISON_GUARDS: Guard[] = [
  {
    name: 'an approval waits for the tick of each new IBAN',
    ...TICKED,
    given: [TICKS_ASKED_FOR, MAY_APPROVE],
    lawful: `${insertion('run_difference', unticked)}; ${insertion('iban_tick', tick)};
      ${insertion('approval', approval)}`,
    forbidden: `${insertion('run_difference', unticked)}; ${insertion('approval', approval)}`,
  },
  ...[
    { what: 'a tick', row: tick },
    { what: 'a decision', row: { ...tick, payment_id: null, reason: 'the first run' } },
  ].map(({ what, row }): Guard => ({
    name: `an approval waits for ${what} of somebody who may approve`,
    ...TICKED,
    given: [TICKS_ASKED_FOR, MAY_APPROVE, insertion('run_difference', unticked)],
    lawful: `${insertion('iban_tick', row)}; ${insertion('approval', approval)}`,
    forbidden: `${insertion('iban_tick', { ...row, ticked_by: OTHER })}; ${insertion('approval', approval)}`,
  })),
  ...[
    { whose: 'who has another role', by: OTHER, given: [insertion('person_role', role(OTHER, 'finance'))] },
    {
      whose: 'who may approve for another employer',
      by: OTHER,
      given: [insertion('person_role', { ...role(OTHER, 'approver'), employer_id: idsOf(2).employer })],
    },
    {
      whose: 'who prepared it',
      by: PREPARER,
      given: [
        insertion('person_role', role(PREPARER, 'approver')),
        'DROP TRIGGER refuse_tick_by_a_preparer ON iban_tick',
      ],
    },
    {
      whose: 'who left',
      by: OTHER,
      given: [
        insertion('person_role', role(OTHER, 'approver')),
        `UPDATE person SET disabled_at = now() WHERE id = '${OTHER}'`,
      ],
    },
  ].map(({ whose, by, given }): Guard => ({
    name: `an approval waits for the tick of another than one ${whose}`,
    ...TICKED,
    given: [TICKS_ASKED_FOR, MAY_APPROVE, insertion('run_difference', unticked), ...given],
    lawful: `${insertion('iban_tick', tick)}; ${insertion('approval', approval)}`,
    forbidden: `${insertion('iban_tick', { ...tick, ticked_by: by })}; ${insertion('approval', approval)}`,
  })),
  {
    name: 'an approval waits for the ticks of its own version',
    ...TICKED,
    given: [
      TICKS_ASKED_FOR,
      MAY_APPROVE,
      NEXT_VERSION,
      insertion('run_comparison', { ...first.run_comparison, run_version: 2 }),
      insertion('run_difference', { ...first.run_difference, run_version: 2 }),
    ],
    lawful: `${insertion('iban_tick', { ...first.iban_tick, run_version: 2 })}; ${insertion('approval', next)}`,
    forbidden: insertion('approval', next),
  },
  ...[
    { what: 'was never compared', given: [] },
    {
      what: 'had nothing to compare with',
      given: [
        insertion('run_comparison', {
          ...first.run_comparison,
          run_version: 2,
          before_period: null,
          before_run_ids: '{}',
        }),
      ],
    },
  ].map(({ what, given }): Guard => ({
    name: `an approval of what ${what} waits for a decision`,
    ...TICKED,
    given: [TICKS_ASKED_FOR, MAY_APPROVE, NEXT_VERSION, ...given],
    lawful: `${insertion('iban_tick', decision)}; ${insertion('approval', next)}`,
    forbidden: insertion('approval', next),
  })),
  ...[
    {
      what: 'a comparison with the pay before as it is now',
      lawful: [a.payment, a.secondPayment].map((id, index) => asked(id, { n: index + 1 })).join('; '),
    },
    { what: 'what is being submitted', lawful: inState('SUBMITTING') },
    {
      what: 'what an employer compares that asks for no ticks',
      lawful: `UPDATE employer SET tick_ibans = false WHERE id = '${a.employer}'`,
    },
  ].map(({ what, lawful }): Guard => ({
    name: `an approval is over ${what}`,
    ...OF_NOW,
    given: [...IN_TIME, COMPARED],
    lawful: `${lawful}; ${insertion('approval', next)}`,
    forbidden: insertion('approval', next),
  })),
  ...[
    { what: 'came back since', change: `UPDATE payment SET returned_at = now() WHERE id = '${WAS_PAID}'` },
    {
      what: 'is over since, and was not paid',
      change: `UPDATE payment SET status = 'VOID', live = false WHERE id = '${WAS_PAID}'`,
    },
    {
      what: 'was paid on another IBAN',
      change: `UPDATE payment SET iban_hash = '${hashOf(2)}' WHERE id = '${WAS_PAID}'`,
    },
    {
      what: 'was paid to another employee',
      change: `UPDATE payment SET employee_id = 'E3' WHERE id = '${WAS_PAID}'`,
    },
    {
      what: 'was paid as another kind of pay',
      change: `UPDATE pay_run SET kind_of_pay = 'BONUS' WHERE id = '${EARLIER}'`,
    },
    {
      what: 'was paid for a later month',
      change: `UPDATE pay_run SET period = '2026-12' WHERE id = '${EARLIER}'`,
    },
    {
      what: 'is being submitted still',
      change: `UPDATE pay_run SET status = 'SUBMITTING' WHERE id = '${EARLIER}'`,
    },
  ].map(({ what, change }): Guard => ({
    name: `an approval is not over an IBAN that nobody was asked about and that ${what}`,
    ...OF_NOW,
    given: [...IN_TIME, COMPARED, PAID_EARLIER],
    lawful: insertion('approval', next),
    forbidden: `${unguarded(change)}; ${insertion('approval', next)}`,
  })),
  ...[
    { what: 'of an earlier version', forbidden: '' },
    { what: 'as of pay that has changed', forbidden: asked(a.payment, { kind: 'NET_CHANGED' }) },
  ].map(({ what, forbidden }): Guard => ({
    name: `an IBAN was not asked about ${what}`,
    ...OF_NOW,
    given: [
      ...IN_TIME,
      COMPARED,
      PAID_EARLIER,
      unguarded(`UPDATE payment SET returned_at = now() WHERE id = '${WAS_PAID}'`),
    ],
    lawful: `${asked(a.payment)}; ${insertion('approval', next)}`,
    forbidden: `${forbidden}; ${insertion('approval', next)}`,
  })),
  ...[
    { what: 'that was never compared', lawful: '' },
    {
      what: 'that had nothing to compare with',
      lawful: insertion('run_comparison', { ...ANEW, before_period: null, before_run_ids: '{}' }),
    },
  ].map(({ what, lawful }): Guard => ({
    name: `an approval of all IBANs at once is over a version ${what}`,
    ...OF_NOW,
    given: [...IN_TIME, insertion('iban_tick', decision)],
    lawful: `${lawful}; ${insertion('approval', next)}`,
    forbidden: `${COMPARED}; ${insertion('approval', next)}`,
  })),
  {
    name: 'who ticks did not prepare any version',
    kind: 'trigger',
    on: 'iban_tick',
    object: 'refuse_tick_by_a_preparer',
    says: 'ticker_is_not_preparer',
    given: [NEXT_VERSION],
    lawful: insertion('iban_tick', { ...tick, run_version: 2 }),
    forbidden: insertion('iban_tick', { ...tick, run_version: 2, ticked_by: PREPARER }),
  },
  {
    name: 'who ticks did not prepare what was left out of its run and is copied',
    kind: 'trigger',
    on: 'iban_tick',
    object: 'refuse_tick_by_a_preparer',
    says: 'ticker_is_not_preparer',
    given: COPYING_RUN,
    lawful: `${COPY_OF_VOID}; ${insertion('iban_tick', tickOfCopies)}`,
    forbidden: `${COPY_OF_LEFT_OUT}; ${insertion('iban_tick', tickOfCopies)}`,
  },
  {
    name: 'all IBANs at once are ticked for a reason',
    kind: 'constraint',
    on: 'iban_tick',
    object: 'a_bulk_decision_says_why',
    lawful: insertion('iban_tick', { ...tick, payment_id: null, reason: 'the first run' }),
    forbidden: insertion('iban_tick', { ...tick, payment_id: null }),
  },
  ...[
    { what: 'an IBAN', row: tick },
    { what: 'all IBANs', row: { ...tick, payment_id: null, reason: 'the first run' } },
  ].map(({ what, row }): Guard => ({
    name: `a version has one tick of ${what} by a person`,
    kind: 'constraint',
    on: 'iban_tick',
    object: 'one_tick_per_iban_and_person',
    given: [insertion('iban_tick', row)],
    lawful: insertion('iban_tick', { ...row, ticked_by: OTHER }),
    forbidden: insertion('iban_tick', row),
  })),
  {
    name: 'a version is compared once',
    kind: 'constraint',
    on: 'run_comparison',
    object: 'run_comparison_pkey',
    lawful: insertion('run_comparison', comparison),
    forbidden: insertion('run_comparison', { ...first.run_comparison, before_count: 2 }),
  },
  {
    name: 'a difference has its place',
    kind: 'constraint',
    on: 'run_difference',
    object: 'run_difference_pkey',
    given: [insertion('run_difference', difference)],
    lawful: insertion('run_difference', { ...difference, n: 2 }),
    forbidden: insertion('run_difference', difference),
  },
  {
    name: 'an IBAN is new once',
    kind: 'index',
    on: 'run_difference',
    object: 'one_iban_to_tick_per_payment',
    lawful: insertion('run_difference', unticked),
    forbidden: insertion('run_difference', { ...unticked, payment_id: a.payment }),
  },
];
