/** Domain codes that say the request itself is at fault; what is not listed collides with a state: 409. */
const INVALID_INPUT: ReadonlySet<string> = new Set([
  'BANKING_DAYS_OUT_OF_RANGE',
  'DATE_INVALID',
  'EVIDENCE_REQUIRED',
  'LOCAL_TIME_INVALID',
  'NO_BANKING_DAY',
  'NOTHING_TO_PAY',
  'PAYMENT_NOT_IN_RUN',
  'PAYMENT_NOT_TO_TICK',
  'PAYMENT_NOT_WAITING',
  'PAY_DAY_INVALID',
  'PERIOD_INVALID',
  'PERSON_NAME_INVALID',
  'TIME_ZONE_UNKNOWN',
]);

/** HTTP status of a domain error's code. Total: a code that is not known is a conflict. */
export function statusOfDomainCode(code: string): 404 | 409 | 422 {
  if (code.endsWith('_NOT_FOUND')) return 404;
  return INVALID_INPUT.has(code) ? 422 : 409;
}

/** What breaking a named constraint of the schema means to a client. */
export interface ConstraintMeaning {
  readonly code: string;
  readonly detail: string;
  /** Without one it is a conflict: 409. */
  readonly status?: 403;
}

/** Constraints a client can run into; breaking any other one is our own defect. */
export const CONSTRAINTS: Readonly<Record<string, ConstraintMeaning>> = {
  account_is_attached: {
    code: 'ACCOUNT_DETACHED',
    detail: 'The account was detached: it pays nothing more.',
  },
  alike_rows_are_asked_about: {
    code: 'COMPARISON_OUTDATED',
    detail:
      'Rows of the run are those of another one, and nobody was asked about them: amend it, naming its execution date.',
  },
  approver_is_not_preparer: {
    code: 'APPROVER_IS_PREPARER',
    detail:
      'Who prepared a version of the run, or rows that it copies or that were kept back, may not approve it.',
  },
  comparison_is_of_now: {
    code: 'COMPARISON_OUTDATED',
    detail:
      'Other pay settled or came back since this version was compared: amend it, naming its execution date.',
  },
  employer_account_bank_account_id_key: {
    code: 'ACCOUNT_ALREADY_CONNECTED',
    detail: 'This account at the bank is connected already.',
  },
  employer_name_key: { code: 'EMPLOYER_NAME_TAKEN', detail: 'An employer with this name exists.' },
  ibans_are_ticked: {
    code: 'IBANS_NOT_TICKED',
    detail: 'New IBANs of this version were not looked at.',
  },
  last_of_the_chain_is_replaced: {
    code: 'SUCCESSOR_ENDED',
    detail: 'The payment was replaced already by one that ended unpaid: replace that one.',
  },
  last_sent_is_replaced: {
    code: 'SUCCESSOR_ENDED',
    detail: 'The payment was replaced already by one that ended unpaid: replace that one.',
  },
  legal_moves_only: { code: 'ILLEGAL_TRANSITION', detail: 'The current state does not allow this.' },
  no_approval_over_a_hold: {
    code: 'HOLDS_OPEN',
    detail: 'Each hold of the run is released, or its row left out, before the approval.',
  },
  one_active_schedule_per_kind_of_pay: {
    code: 'SCHEDULE_EXISTS',
    detail: 'This account has an active schedule for this kind of pay.',
  },
  one_live_instruction_per_planned_instruction: {
    code: 'INSTRUCTION_IS_LIVE',
    detail: 'An instruction for these rows is alive at the bank.',
  },
  one_live_instruction_per_row: {
    code: 'INSTRUCTION_IS_LIVE',
    detail: 'An instruction for these rows is alive at the bank.',
  },
  one_live_payment_per_employee_and_period: {
    code: 'POSSIBLE_DUPLICATE_PAY',
    detail: 'An employee has a live payment of this period and kind of pay.',
  },
  one_live_successor_per_payment: {
    code: 'PAYMENT_ALREADY_REPLACED',
    detail: 'A live payment replaces this one already.',
  },
  one_live_upload_of_a_file: { code: 'FILE_ALREADY_UPLOADED', detail: 'This file was uploaded before.' },
  one_open_action_per_attention: {
    code: 'ACTION_IS_PROPOSED',
    detail: 'An action is proposed and waits for a second person.',
  },
  one_open_amendment_per_run: { code: 'AMENDMENT_IS_OPEN', detail: 'An amendment of this run is open.' },
  one_profile_of_a_name: { code: 'PROFILE_NAME_TAKEN', detail: 'A profile of pay files has this name.' },
  one_run_per_schedule_period_and_sequence: {
    code: 'RUN_EXISTS_FOR_PERIOD',
    detail: 'The schedule has a run for this period.',
  },
  one_standing_approval_per_person: {
    code: 'ALREADY_APPROVED',
    detail: 'You approved this version already.',
  },
  one_submit_per_planned_instruction: {
    code: 'ALREADY_SUBMITTED',
    detail: 'A submit of this instruction was attempted and is not proven unsent.',
  },
  releaser_is_not_preparer: {
    code: 'RELEASER_IS_PREPARER',
    detail:
      'Who prepared a version of the run, or rows that it copies or that were kept back, may release none of its holds.',
  },
  replaced_is_not_contradicted: {
    code: 'PAYMENT_CONTRADICTED',
    detail: 'The bank has shown contradicting statuses of a payment that would be replaced: it never is.',
  },
  replaced_is_not_kept: {
    code: 'RETURNED_IN_PART',
    detail:
      'Less came back than was paid of a payment that would be replaced, and two people have not said that its payee kept nothing.',
  },
  replaced_is_not_paid_otherwise: {
    code: 'EMPLOYEE_PAID_OTHERWISE',
    detail:
      'Another payment may have been made in the stead of one that would be replaced: what is still owed is paid by a row that is uploaded with supplementOf.',
  },
  replaced_was_not_paid: {
    code: 'PAYMENT_NOT_FINISHED',
    detail: 'A payment that would be replaced may still be paid, or was.',
  },
  second_pay_is_released: {
    code: 'SECOND_PAY_NOT_RELEASED',
    detail: 'A second payment of a period needs a release with a reason.',
  },
  ticker_is_not_preparer: {
    code: 'TICKER_IS_PREPARER',
    detail:
      'Who prepared a version of the run, or rows that it copies or that were kept back, may not tick its IBANs.',
  },
  two_people: { code: 'SECOND_PERSON_REQUIRED', detail: 'Who proposed an action may not confirm it.' },
  who_confirms_may: {
    code: 'ROLE_REQUIRED',
    detail: 'Who confirms the action holds no role any more that may.',
    status: 403,
  },
};

const INTEGRITY_VIOLATION = /^23[0-9A-Z]{3}$/;

/** The meaning of an integrity violation, or undefined when it is none, or none that a client can cause. */
export function meaningOfViolation(
  sqlState: string,
  constraint: string | undefined,
): ConstraintMeaning | undefined {
  if (!INTEGRITY_VIOLATION.test(sqlState) || constraint === undefined) return undefined;
  return Object.hasOwn(CONSTRAINTS, constraint) ? CONSTRAINTS[constraint] : undefined;
}

/**
 * Connection lost (08), resources (53), shutdown (57P0x), a session ended for idling (25P03), a standby that takes no
 * writes (25006), the server's disk (58), lock or statement time-out, deadlock, serialization.
 */
const TRANSIENT_SQL_STATE =
  /^(08[0-9A-Z]{3}|53[0-9A-Z]{3}|58[0-9A-Z]{3}|57P0[0-9]|25P03|25006|57014|55P03|40001|40P01)$/;

/** Whether the same request may succeed a little later, going by PostgreSQL's SQLSTATE. */
export function isTransient(sqlState: string): boolean {
  return TRANSIENT_SQL_STATE.test(sqlState);
}
