import { COPY_OF_LEFT_OUT, COPY_OF_VOID, COPYING_AGAIN, COPYING_RUN } from './copied-rows';
import { Guard, GuardObject } from './guard';
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
const [FRESH, NEXT, LAST] = a.fresh;
const { pay_run: firstRun, payment: firstPayment, schedule_period: firstPeriod } = firstRows(1);
const second = secondRows(1);
const { pay_run: supplement, approval } = second;

const PREPARER_TRIGGER: GuardObject = {
  kind: 'trigger',
  on: 'approval',
  object: 'refuse_approval_by_a_preparer',
};
const PREPARER_CHECK: GuardObject = {
  kind: 'constraint',
  on: 'approval',
  object: 'approver_is_not_preparer',
};

/** Of the run with copies, by who prepared the run that they are of. */
const approvalOfCopies: Row = {
  ...approval,
  pay_run_id: FRESH,
  approver_id: PREPARER,
  prepared_by: OTHER,
};

/** Makes the run with copies one that another person uploaded, or sent as corrections. */
const FILE_OF_OTHER = insertion('pay_file', { ...second.pay_file, pay_run_id: FRESH, uploaded_by: OTHER });
const CORRECTING_RUN = [
  ...COPYING_RUN,
  FILE_OF_OTHER,
  insertion('payment', {
    ...second.payment,
    id: LAST,
    pay_run_id: FRESH,
    row_no: 1,
    replaces_payment_id: null,
  }),
];

/** The row that the preparer wrote, kept back of the first run and corrected by a payment of that of another person. */
function correctedRow(changes: Row = {}): string {
  return insertion('faulty_row', { ...second.faulty_row, payment_id: LAST, ...changes });
}

/** Of approvals: by somebody else, once, over a hash that exists. */
const APPROVAL_GUARDS: Guard[] = [
  {
    name: 'an approver did not prepare what is approved',
    ...PREPARER_CHECK,
    lawful: insertion('approval', approval),
    forbidden: insertion('approval', { ...approval, approver_id: PREPARER }),
    also: [PREPARER_TRIGGER],
  },
  {
    name: 'an approval does not become the preparer’s',
    ...PREPARER_CHECK,
    lawful: `UPDATE approval SET approver_id = '${OTHER}' WHERE id = '${a.approval}'`,
    forbidden: `UPDATE approval SET approver_id = '${PREPARER}' WHERE id = '${a.approval}'`,
  },
  {
    name: 'an approver is no preparer of any version',
    ...PREPARER_TRIGGER,
    says: 'approver_is_not_preparer',
    given: [insertion('pay_run_version', { ...second.pay_run_version, prepared_by: OTHER })],
    lawful: insertion('approval', { ...approvalOfSecond(), approver_id: APPROVER }),
    forbidden: insertion('approval', { ...approvalOfSecond(), approver_id: PREPARER }),
  },
  {
    name: 'an approver did not prepare what was left out of its run and is copied',
    ...PREPARER_TRIGGER,
    says: 'approver_is_not_preparer',
    given: COPYING_RUN,
    lawful: `${COPY_OF_VOID}; ${insertion('approval', approvalOfCopies)}`,
    forbidden: `${COPY_OF_LEFT_OUT}; ${insertion('approval', approvalOfCopies)}`,
  },
  {
    name: 'an approver did not prepare what was left out twice and is copied',
    ...PREPARER_TRIGGER,
    says: 'approver_is_not_preparer',
    given: [...COPYING_RUN, ...COPYING_AGAIN],
    lawful: insertion('approval', { ...approvalOfCopies, pay_run_id: NEXT, approver_id: APPROVER }),
    forbidden: insertion('approval', { ...approvalOfCopies, pay_run_id: NEXT }),
  },
  {
    name: 'an approver did not prepare what was left out and is copied, not uploaded by another person',
    ...PREPARER_TRIGGER,
    says: 'approver_is_not_preparer',
    given: [...COPYING_RUN, COPY_OF_LEFT_OUT],
    lawful: `${FILE_OF_OTHER}; ${insertion('approval', approvalOfCopies)}`,
    forbidden: insertion('approval', approvalOfCopies),
  },
  {
    name: 'an approver did not write what was kept back and another person corrected',
    ...PREPARER_TRIGGER,
    says: 'approver_is_not_preparer',
    given: CORRECTING_RUN,
    lawful: insertion('approval', approvalOfCopies),
    forbidden: `${correctedRow()}; ${insertion('approval', approvalOfCopies)}`,
  },
  {
    name: 'an approver did not change what was kept back before another person corrected it',
    ...PREPARER_TRIGGER,
    says: 'approver_is_not_preparer',
    given: CORRECTING_RUN,
    lawful: `${correctedRow()}; ${insertion('approval', { ...approvalOfCopies, approver_id: APPROVER })}`,
    forbidden: `${correctedRow({ rewritten_by: `{${APPROVER}}` })};
      ${insertion('approval', { ...approvalOfCopies, approver_id: APPROVER })}`,
  },
  {
    name: 'an approver did not write what was kept back, corrected, left out and is copied',
    ...PREPARER_TRIGGER,
    says: 'approver_is_not_preparer',
    given: [...COPYING_RUN, FILE_OF_OTHER, ...COPYING_AGAIN],
    lawful: insertion('approval', { ...approvalOfCopies, pay_run_id: NEXT }),
    forbidden: `${correctedRow()}; ${insertion('approval', { ...approvalOfCopies, pay_run_id: NEXT })}`,
  },
  {
    name: 'a person approves a version once',
    kind: 'index',
    on: 'approval',
    object: 'one_standing_approval_per_person',
    lawful: `UPDATE approval SET voided_at = now(), voided_reason = 'amended' WHERE id = '${a.approval}';
      ${insertion('approval', { ...approval, approver_id: APPROVER })}`,
    forbidden: insertion('approval', { ...approval, approver_id: APPROVER }),
  },
  ...[
    { what: 'a hash that exists', change: { root_hash: hashOf(99) } },
    { what: 'a version that exists', change: { run_version: 2 } },
    { what: 'who prepared it', change: { prepared_by: APPROVER } },
  ].map(({ what, change }): Guard => ({
    name: `an approval names ${what}`,
    kind: 'constraint',
    on: 'approval',
    object: 'approval_employer_id_pay_run_id_run_version_root_hash_prep_fkey',
    lawful: insertion('approval', approval),
    forbidden: insertion('approval', { ...approval, ...change }),
  })),
  {
    name: 'a void approval says why',
    kind: 'constraint',
    on: 'approval',
    object: 'approval_check',
    lawful: `UPDATE approval SET voided_at = now(), voided_reason = 'amended'`,
    forbidden: `UPDATE approval SET voided_at = now()`,
  },
  ...[
    { what: 'stands again', change: 'voided_at = NULL, voided_reason = NULL' },
    { what: 'was taken back for another reason', change: `voided_reason = 'another'` },
  ].map(({ what, change }): Guard => ({
    name: `an approval that was taken back never ${what}`,
    kind: 'trigger',
    on: 'approval',
    object: 'refuse_change_of_a_voided_approval',
    says: 'voided_for_good',
    given: [`UPDATE approval SET voided_at = now(), voided_reason = 'amended' WHERE id = '${a.approval}'`],
    lawful: insertion('approval', { ...approval, approver_id: APPROVER }),
    forbidden: `UPDATE approval SET ${change} WHERE id = '${a.approval}'`,
  })),
  {
    name: 'a version is written once',
    kind: 'constraint',
    on: 'pay_run_version',
    object: 'pay_run_version_pkey',
    lawful: insertion('pay_run_version', second.pay_run_version),
    forbidden: insertion('pay_run_version', { ...second.pay_run_version, run_version: 1 }),
  },
  {
    name: 'a run has one open amendment',
    kind: 'index',
    on: 'amendment',
    object: 'one_open_amendment_per_run',
    given: [insertion('amendment', second.amendment)],
    lawful: `UPDATE amendment SET applied_as_version = 2 WHERE id = '${FRESH}';
      ${insertion('amendment', { ...second.amendment, id: NEXT })}`,
    forbidden: insertion('amendment', { ...second.amendment, id: NEXT }),
  },
];

/** Of runs: one for each period of a schedule, from one file, stopped for a reason. */
const RUN_GUARDS: Guard[] = [
  {
    name: 'a run moves only as the domain allows',
    kind: 'trigger',
    on: 'pay_run',
    object: 'refuse_illegal_move',
    says: 'legal_moves_only',
    lawful: `UPDATE pay_run SET status = 'FOLLOWING' WHERE id = '${a.run}'`,
    forbidden: `UPDATE pay_run SET status = 'CANCELLING' WHERE id = '${a.run}'`,
  },
  {
    name: 'a schedule has one run for a period and sequence',
    kind: 'index',
    on: 'pay_run',
    object: 'one_run_per_schedule_period_and_sequence',
    lawful: insertion('pay_run', supplement),
    forbidden: insertion('pay_run', { ...firstRun, id: FRESH }),
  },
  {
    name: 'a period of a schedule takes a new run only when the old one was cancelled',
    kind: 'index',
    on: 'pay_run',
    object: 'one_run_per_schedule_period_and_sequence',
    given: [insertion('pay_run', { ...supplement, status: 'CANCELLED' })],
    lawful: insertion('pay_run', { ...supplement, id: NEXT }),
    forbidden: insertion('pay_run', { ...supplement, id: NEXT, sequence: 0 }),
  },
  {
    name: 'a supplement names the run it adds to',
    kind: 'constraint',
    on: 'pay_run',
    object: 'pay_run_check',
    lawful: insertion('pay_run', supplement),
    forbidden: insertion('pay_run', { ...supplement, parent_run_id: null }),
  },
  {
    name: 'a stopped run says why',
    kind: 'constraint',
    on: 'pay_run',
    object: 'pay_run_check1',
    lawful: `UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a doubt'`,
    forbidden: `UPDATE pay_run SET stopped_at = now()`,
  },
  {
    name: 'when a run is submitted changes only together with what is approved anew',
    kind: 'trigger',
    on: 'pay_run',
    object: 'refuse_other_submit_time',
    says: 'submit_time_is_of_a_draft',
    given: [insertion('pay_run', { ...supplement, status: 'DRAFT' })],
    lawful: `UPDATE pay_run SET submit_at = now() WHERE id = '${FRESH}'`,
    forbidden: `UPDATE pay_run SET submit_at = now() WHERE id = '${a.run}'`,
  },
  {
    name: 'a run that is to be approved waits for nothing that an approval lacked before',
    kind: 'constraint',
    on: 'pay_run',
    object: 'lapse_is_over_once_ready',
    lawful: insertion('pay_run', { ...supplement, status: 'BUILDING', lapse_reason: 'the cut-off passed' }),
    forbidden: insertion('pay_run', { ...supplement, status: 'READY', lapse_reason: 'the cut-off passed' }),
  },
  {
    name: 'a run is in euros',
    kind: 'constraint',
    on: 'pay_run',
    object: 'pay_run_currency_check',
    lawful: insertion('pay_run', supplement),
    forbidden: insertion('pay_run', { ...supplement, currency: 'CHF' }),
  },
  {
    name: 'an amount of a run is in cents',
    kind: 'constraint',
    on: 'pay_run',
    object: 'pay_run_exponent_check',
    lawful: insertion('pay_run', { ...supplement, exponent: 2 }),
    forbidden: insertion('pay_run', { ...supplement, exponent: 0 }),
  },
  {
    name: 'a total is never negative',
    kind: 'domain',
    on: 'amount_minor',
    object: 'amount_minor_check',
    lawful: insertion('pay_run', { ...supplement, total_minor: 0 }),
    forbidden: insertion('pay_run', { ...supplement, total_minor: -1 }),
  },
  {
    name: 'a period of a schedule is made once',
    kind: 'constraint',
    on: 'schedule_period',
    object: 'schedule_period_pkey',
    lawful: insertion('schedule_period', second.schedule_period),
    forbidden: insertion('schedule_period', { ...second.schedule_period, period: '2026-11' }),
  },
  {
    name: 'a run serves one period',
    kind: 'constraint',
    on: 'schedule_period',
    object: 'schedule_period_employer_id_pay_run_id_key',
    lawful: insertion('schedule_period', second.schedule_period),
    forbidden: insertion('schedule_period', {
      ...second.schedule_period,
      pay_run_id: firstPeriod.pay_run_id,
    }),
  },
  {
    name: 'an account has one active schedule for a kind of pay',
    kind: 'index',
    on: 'pay_schedule',
    object: 'one_active_schedule_per_kind_of_pay',
    lawful: insertion('pay_schedule', { ...second.pay_schedule, kind_of_pay: 'SALARY', active: false }),
    forbidden: insertion('pay_schedule', { ...second.pay_schedule, kind_of_pay: 'SALARY' }),
  },
  {
    name: 'a file is uploaded once',
    kind: 'index',
    on: 'pay_file',
    object: 'one_live_upload_of_a_file',
    lawful: `UPDATE pay_file SET replayable = false WHERE id = '${a.file}';
      ${insertion('pay_file', { ...second.pay_file, sha256: hashOf(1) })}`,
    forbidden: insertion('pay_file', { ...second.pay_file, sha256: hashOf(1) }),
  },
  {
    name: 'a run comes from one file',
    kind: 'constraint',
    on: 'pay_file',
    object: 'pay_file_employer_id_pay_run_id_key',
    lawful: insertion('pay_file', second.pay_file),
    forbidden: insertion('pay_file', { ...second.pay_file, pay_run_id: firstPayment.pay_run_id }),
  },
];

export const PAY_RUN_GUARDS: Guard[] = [...APPROVAL_GUARDS, ...RUN_GUARDS];

function approvalOfSecond(): Row {
  return { ...approval, run_version: 2, root_hash: hashOf(2), prepared_by: OTHER };
}
