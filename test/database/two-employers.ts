import { escapeLiteral } from 'pg';

export type Value = string | number | boolean | null;
export type Row = Readonly<Record<string, Value>>;

/** The statement that inserts one row. */
export function insertion(table: string, row: Row): string {
  const values = Object.values(row).map((value) =>
    typeof value === 'string' ? escapeLiteral(value) : String(value),
  );
  return `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')})`;
}

/** What an UPDATE sets. */
export function assignments(changes: Row): string {
  return Object.entries(changes)
    .map(([column, value]) => `${column} = ${typeof value === 'string' ? `'${value}'` : String(value)}`)
    .join(', ');
}

export function uuid(n: number): string {
  return `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`;
}

export const PREPARER = uuid(1);
export const APPROVER = uuid(2);
export const OTHER = uuid(3);
export const NOBODY = uuid(999_999);
export const NOW = '2026-11-20T08:00:00Z';

export function hashOf(n: number): string {
  return `\\x${n.toString(16).padStart(2, '0').repeat(32)}`;
}

const PEOPLE: [string, Row][] = [PREPARER, APPROVER, OTHER].map((id) => ['person', { id, name: id }]);

/** Restores that everybody was told of. */
export const [RESTORE, EARLIER_RESTORE] = [uuid(8), uuid(9)] as const;
const RESTORES: [string, Row][] = [RESTORE, EARLIER_RESTORE].map((id) => [
  'database_restore',
  { id, what: 'another timeline', noticed_at: '2020-01-01T08:00:00Z', told_at: NOW },
]);

/** The ids of what one employer has more than one of in the world. */
export function idsOf(n: number) {
  const id = (k: number) => uuid(n * 1000 + k);
  return {
    employer: id(0),
    account: id(1),
    schedule: id(2),
    run: id(3),
    spareRun: id(4),
    file: id(5),
    amendment: id(6),
    approval: id(7),
    /** Rows 1, 2 and 3 of the run; the third has no instruction. */
    planned: [id(11), id(12), id(13)] as const,
    /** Both in SUBMIT_INTENT; the first has a submit attempt. */
    instruction: [id(21), id(22)] as const,
    /** Earlier attempts of the first; nothing of the second has moved. */
    abandoned: id(23),
    unmoved: id(24),
    attempt: id(31),
    payment: id(41),
    voidPayment: id(42),
    release: id(43),
    call: id(44),
    attention: id(45),
    action: id(46),
    breach: id(47),
    profile: id(48),
    faultyFile: id(49),
    /** Of what is paid again and not shown. */
    wordAttention: id(50),
    wordAction: id(51),
    /** In the same instruction as the first. */
    secondPayment: id(52),
    /** Free ids. */
    fresh: [id(91), id(92), id(93)] as const,
  };
}

/** One row of every table of an employer, lawful together. */
export function firstRows(n: number) {
  const ids = idsOf(n);
  const employer_id = ids.employer;
  const pay = { period: '2026-11', kind_of_pay: 'SALARY' };
  return {
    employer: { id: ids.employer, name: `Employer ${n}`, time_zone: 'Europe/Paris', tick_ibans: false },
    person_role: { employer_id, person_id: PREPARER, role: 'preparer' },
    employer_account: {
      employer_id,
      id: ids.account,
      bank_account_id: `account-${n}`,
      bank_user_id: `user-${n}`,
      debtor_name: `Employer ${n}`,
      iban_sealed: '0:DE70999900000000001001',
      iban_hash: hashOf(1),
      currency: 'EUR',
      bank_status: 'OPENED',
      unit_confirmed: 'minor',
      unit_confirmed_at: NOW,
      unit_confirmed_by: OTHER,
    },
    bank_hook: { employer_id, bank_hook_id: `hook-${n}`, bank_identity_id: '1' },
    pay_schedule: {
      employer_id,
      id: ids.schedule,
      account_id: ids.account,
      kind_of_pay: 'SALARY',
      when_closed: 'PREVIOUS',
      submit_days_before: 1,
      submit_time: '10:00',
      time_zone: 'Europe/Paris',
      first_period: '2026-01',
      created_by: PREPARER,
    },
    pay_run: {
      employer_id,
      id: ids.run,
      account_id: ids.account,
      ...pay,
      execution_date: '2026-11-27',
      schedule_id: ids.schedule,
      sequence: 0,
      parent_run_id: null,
      status: 'SUBMITTING',
      row_count: 3,
      total_minor: 300,
      currency: 'EUR',
      root_hash: hashOf(1),
      created_by: PREPARER,
    },
    schedule_period: {
      employer_id,
      schedule_id: ids.schedule,
      period: '2026-11',
      execution_date: '2026-11-27',
      submit_at: NOW,
      pay_run_id: ids.run,
    },
    pay_file_profile: {
      employer_id,
      id: ids.profile,
      name: 'Payroll system',
      definition: '{}',
      created_by: PREPARER,
    },
    pay_file: {
      employer_id,
      id: ids.file,
      sha256: hashOf(1),
      size_bytes: 10,
      content: '\\x00',
      content_codec: 'gzip',
      ...pay,
      execution_date: '2026-11-27',
      account_id: ids.account,
      row_count: 3,
      total_minor: 300,
      pay_run_id: ids.run,
      uploaded_by: PREPARER,
      profile_id: ids.profile,
    },
    pay_run_version: {
      employer_id,
      pay_run_id: ids.run,
      run_version: 1,
      root_hash: hashOf(1),
      row_count: 3,
      total_minor: 300,
      execution_date: '2026-11-27',
      prepared_by: PREPARER,
    },
    amendment: {
      employer_id,
      id: ids.amendment,
      pay_run_id: ids.run,
      reason: 'it was wrong',
      proposed_by: PREPARER,
      applied_as_version: 1,
    },
    approval: {
      employer_id,
      id: ids.approval,
      pay_run_id: ids.run,
      run_version: 1,
      approver_id: APPROVER,
      prepared_by: PREPARER,
      root_hash: hashOf(1),
    },
    planned_instruction: {
      employer_id,
      id: ids.planned[0],
      pay_run_id: ids.run,
      run_version: 1,
      ordinal: 1,
      first_row: 1,
      last_row: 1,
      row_count: 1,
      total_minor: 100,
      row_hash: hashOf(1),
    },
    pay_release: {
      employer_id,
      id: ids.release,
      ...pay,
      employee_id: 'E1',
      sequence: 1,
      reason: 'a correction',
      released_by: APPROVER,
    },
    payment: {
      employer_id,
      id: ids.payment,
      pay_run_id: ids.run,
      row_no: 1,
      line: 2,
      ...pay,
      employee_id: 'E1',
      name_sealed: '0:A',
      name_hash: hashOf(1),
      iban_sealed: '0:B',
      iban_hash: hashOf(1),
      amount_minor: 100,
      currency: 'EUR',
      row_hash: hashOf(1),
      status: 'AT_BANK',
      live: true,
      release_sequence: 0,
      replaces_payment_id: null,
    },
    run_comparison: {
      employer_id,
      pay_run_id: ids.run,
      run_version: 1,
      before_period: '2026-10',
      before_run_ids: `{${ids.spareRun}}`,
      before_count: 1,
      before_minor: 100,
      net_change_basis_points: 2000,
    },
    run_difference: {
      employer_id,
      pay_run_id: ids.run,
      run_version: 1,
      kind: 'IBAN_CHANGED',
      n: 1,
      payment_id: ids.payment,
      before_payment_id: ids.payment,
      amount_minor: 100,
      before_minor: 100,
    },
    iban_tick: {
      employer_id,
      pay_run_id: ids.run,
      run_version: 1,
      payment_id: ids.payment,
      reason: null,
      ticked_by: APPROVER,
    },
    faulty_file: {
      employer_id,
      id: ids.faultyFile,
      pay_run_id: ids.run,
      sha256: hashOf(1),
      layout: '{}',
      row_count: 2,
      fault_count: 2,
      read_rows: 5,
      uploaded_by: PREPARER,
      expires_at: null,
    },
    faulty_row: {
      employer_id,
      faulty_file_id: ids.faultyFile,
      line: 5,
      row_no: 4,
      cells_sealed: '0:[]',
      faults_sealed: '0:[]',
      fault_count: 1,
      payment_id: ids.payment,
    },
    pay_hold: {
      employer_id,
      pay_run_id: ids.run,
      row_no: 1,
      code: 'EMPLOYEE_ALREADY_PAID',
      payment_id: ids.payment,
      beside_run_id: ids.run,
      beside_line: 2,
      outcome: 'RELEASED',
      reason: 'both are owed',
      decided_by: APPROVER,
      decided_at: NOW,
    },
    instruction: {
      employer_id,
      id: ids.instruction[0],
      pay_run_id: ids.run,
      planned_instruction_id: ids.planned[0],
      attempt: 1,
      status: 'SUBMIT_INTENT',
      bank_instruction_id: `bank-${n}-1`,
      bank_rank: 40,
      outcome: null,
    },
    submit_attempt: {
      employer_id,
      id: ids.attempt,
      planned_instruction_id: ids.planned[0],
      instruction_id: ids.instruction[0],
      bank_instruction_id: `bank-${n}-1`,
      row_hash: hashOf(1),
      epoch: 1,
    },
    add_intent: {
      employer_id,
      instruction_id: ids.instruction[0],
      batch: 1,
      row_nos: '{1}',
      body_hashes: hashOf(1),
      epoch: 1,
    },
    bank_payment: {
      employer_id,
      instruction_id: ids.instruction[0],
      row_no: 1,
      payment_id: ids.payment,
      bank_payment_id: `bank-payment-${n}-1`,
      add_outcome: 'ADDED',
      bank_rank: 40,
    },
    fact_sequence: { employer_id, last_seq: 1 },
    state_change: {
      employer_id,
      seq: 1,
      subject: 'pay_run',
      subject_id: ids.run,
      pay_run_id: ids.run,
      from_status: 'VERIFIED',
      to_status: 'SUBMITTING',
      actor: 'service',
    },
    bank_call: {
      employer_id,
      id: ids.call,
      operation: 'initiate',
      instruction_id: ids.instruction[0],
      target: '/',
      body_hash: hashOf(1),
      attempt: 1,
      epoch: 1,
    },
    attention: {
      employer_id,
      id: ids.attention,
      kind: 'UNKNOWN_STATUS',
      pay_run_id: ids.run,
      instruction_id: ids.instruction[0],
      payment_id: ids.payment,
      subject_id: ids.instruction[0],
      happened: 'this: PRO_ODD (rows 1, 2)',
      certain: 'that',
      ask_bank: 'whether',
    },
    attention_action: {
      employer_id,
      id: ids.action,
      attention_id: ids.attention,
      action: 'PAID',
      reason: 'the bank said so',
      evidence: 'a letter',
      payment_ids: `{${ids.payment},${ids.secondPayment},${ids.voidPayment}}`,
      proposed_by: PREPARER,
      confirmed_by: APPROVER,
      confirmed_at: NOW,
    },
    payment_decision: {
      employer_id,
      instruction_id: ids.instruction[0],
      row_no: 1,
      payment_id: ids.payment,
      action_id: ids.action,
      bank_status: 'PRO_ODD',
    },
    invariant_breach: {
      employer_id,
      invariant: 'never-stuck',
      subject_id: ids.run,
      id: ids.breach,
      found: 1,
      pay_run_id: ids.run,
    },
    reconciler_pass: { employer_id, position: '{}' },
    restore_check: { employer_id, restore_id: RESTORE, passed_at: NOW },
    forgotten_instruction: {
      employer_id,
      bank_instruction_id: 'forgotten-1',
      restore_id: RESTORE,
      pay_run_id: ids.run,
      bank_status: 'SETTLED',
      adopted_at: NOW,
    },
    idempotency_key: { employer_id, person_id: PREPARER, key: 'key-1', fingerprint: hashOf(1) },
    lease: { subject_id: ids.run, kind: 'RUN', employer_id, wake_at: NOW },
    audit_head: { chain_id: ids.employer, last_seq: 1, last_hash: hashOf(1) },
    audit_entry: {
      chain_id: ids.employer,
      seq: 1,
      at: NOW,
      person_id: PREPARER,
      action: 'approve',
      subject: 'run',
      detail: '{}',
      previous_hash: hashOf(0),
      entry_hash: hashOf(1),
    },
  };
}

/** A second row of a table, each lawful by itself beside the world. */
export function secondRows(n: number) {
  const ids = idsOf(n);
  const first = firstRows(n);
  const [id] = ids.fresh;
  return {
    employer: { ...first.employer, id, name: `Employer ${n} too` },
    person_role: { ...first.person_role, role: 'finance' },
    employer_account: { ...first.employer_account, id, bank_account_id: `account-${n}-2` },
    bank_hook: { ...first.bank_hook, bank_identity_id: '2' },
    pay_schedule: { ...first.pay_schedule, id, kind_of_pay: 'BONUS' },
    pay_run: { ...first.pay_run, id, sequence: 1, parent_run_id: ids.run },
    schedule_period: { ...first.schedule_period, period: '2026-12', pay_run_id: ids.spareRun },
    pay_file_profile: { ...first.pay_file_profile, id, name: 'Another system' },
    pay_file: { ...first.pay_file, id, sha256: hashOf(2), pay_run_id: ids.spareRun },
    pay_run_version: { ...first.pay_run_version, run_version: 2, root_hash: hashOf(2) },
    amendment: { ...first.amendment, id, applied_as_version: null },
    approval: { ...first.approval, id, approver_id: OTHER },
    planned_instruction: { ...first.planned_instruction, id, ordinal: 4, first_row: 4, last_row: 4 },
    pay_release: {
      ...first.pay_release,
      id,
      sequence: 2,
      withdrawn_at: NOW,
      withdrawn_by: PREPARER,
      withdrawn_reason: 'a mistake',
    },
    payment: { ...first.payment, id, row_no: 3, employee_id: 'E2', replaces_payment_id: ids.voidPayment },
    run_comparison: { ...first.run_comparison, pay_run_id: ids.spareRun },
    run_difference: { ...first.run_difference, kind: 'NET_CHANGED' },
    iban_tick: { ...first.iban_tick, payment_id: ids.voidPayment },
    faulty_file: { ...first.faulty_file, id, pay_run_id: ids.spareRun },
    faulty_row: { ...first.faulty_row, line: 6, row_no: 5, payment_id: ids.voidPayment },
    pay_hold: { ...first.pay_hold, code: 'IBAN_AND_AMOUNT_TWICE' },
    instruction: {
      ...first.instruction,
      id,
      planned_instruction_id: ids.planned[2],
      bank_instruction_id: `bank-${n}-3`,
    },
    submit_attempt: {
      ...first.submit_attempt,
      id,
      planned_instruction_id: ids.planned[1],
      instruction_id: ids.instruction[1],
      bank_instruction_id: `bank-${n}-2`,
      row_hash: hashOf(2),
    },
    add_intent: { ...first.add_intent, batch: 2, row_nos: '{2}' },
    bank_payment: {
      ...first.bank_payment,
      instruction_id: ids.instruction[1],
      row_no: 2,
      payment_id: ids.voidPayment,
      bank_payment_id: `bank-payment-${n}-2`,
    },
    state_change: { ...first.state_change, seq: 2 },
    bank_call: { ...first.bank_call, id },
    attention: { ...first.attention, id, kind: 'CONTRADICTION' },
    attention_action: { ...first.attention_action, id },
    payment_decision: { ...first.payment_decision, row_no: 2, payment_id: ids.secondPayment },
    unseen_decision: { ...wordOf(n), row_no: 3 },
    invariant_breach: { ...first.invariant_breach, id, invariant: 'conservation' },
    restore_check: { ...first.restore_check, restore_id: EARLIER_RESTORE },
    forgotten_instruction: { ...first.forgotten_instruction, bank_instruction_id: 'forgotten-2' },
    moved_instruction: {
      employer_id: first.instruction.employer_id,
      instruction_id: ids.instruction[0],
      bank_status: 'SETTLED',
    },
    moved_payment: sightedOf(n, ids.instruction[0]),
    idempotency_key: { ...first.idempotency_key, key: 'key-2' },
    lease: { ...first.lease, subject_id: id },
    audit_entry: { ...first.audit_entry, seq: 2, previous_hash: hashOf(1), entry_hash: hashOf(2) },
  };
}

function wordOf(n: number): Row {
  const { employer, unmoved, voidPayment, wordAction } = idsOf(n);
  return {
    employer_id: employer,
    instruction_id: unmoved,
    row_no: 2,
    payment_id: voidPayment,
    action_id: wordAction,
  };
}

/** What a look showed of the first payment, in one of the instructions that held it. */
function sightedOf(n: number, instruction: string): Row {
  return {
    employer_id: idsOf(n).employer,
    instruction_id: instruction,
    row_no: 1,
    bank_status: 'EXCHANGED',
    is_elsewhere: false,
  };
}

function moreRows(n: number): [string, Row][] {
  const ids = idsOf(n);
  const first = firstRows(n);
  const planned = (k: 1 | 2): Row => ({
    ...first.planned_instruction,
    id: ids.planned[k],
    ordinal: k + 1,
    first_row: k + 1,
    last_row: k + 1,
    row_hash: hashOf(k + 1),
  });
  return [
    ['pay_run', { ...first.pay_run, id: ids.spareRun, schedule_id: null, status: 'READY' }],
    ['pay_run_version', { ...first.pay_run_version, pay_run_id: ids.spareRun }],
    ['planned_instruction', planned(1)],
    ['planned_instruction', planned(2)],
    [
      'instruction',
      {
        ...first.instruction,
        id: ids.instruction[1],
        planned_instruction_id: ids.planned[1],
        bank_instruction_id: `bank-${n}-2`,
      },
    ],
    [
      'payment',
      { ...first.payment, id: ids.voidPayment, row_no: 2, employee_id: 'E2', status: 'VOID', live: false },
    ],
    ['payment', { ...first.payment, id: ids.secondPayment, row_no: 9, employee_id: 'E7' }],
    [
      'bank_payment',
      {
        ...first.bank_payment,
        row_no: 2,
        payment_id: ids.secondPayment,
        bank_payment_id: `bank-payment-${n}-1-2`,
      },
    ],
    ...[ids.abandoned, ids.unmoved].map((id, index): [string, Row] => [
      'instruction',
      {
        ...first.instruction,
        id,
        attempt: 9 + index,
        status: 'ABANDONED',
        bank_instruction_id: `bank-${n}-${9 + index}`,
      },
    ]),
    ...[ids.payment, ids.voidPayment, ids.voidPayment].map((payment, index): [string, Row] => [
      'bank_payment',
      {
        ...first.bank_payment,
        instruction_id: ids.unmoved,
        row_no: index + 1,
        payment_id: payment,
        bank_payment_id: `bank-payment-${n}-10-${index + 1}`,
      },
    ]),
    [
      'moved_instruction',
      { employer_id: ids.employer, instruction_id: ids.abandoned, bank_status: 'SETTLED' },
    ],
    [
      'attention',
      { ...first.attention, id: ids.wordAttention, kind: 'REPLACED_UNSEEN', subject_id: ids.run },
    ],
    [
      'attention_action',
      { ...first.attention_action, id: ids.wordAction, attention_id: ids.wordAttention, action: 'NOT_PAID' },
    ],
    ['unseen_decision', wordOf(n)],
    ['moved_payment', sightedOf(n, ids.unmoved)],
  ];
}

/** The statements that make two employers, each with a row in every table of an employer. To be run as superuser. */
export function twoEmployers(): string {
  const rows = [1, 2].flatMap((n) => [...Object.entries<Row>(firstRows(n)), ...moreRows(n)]);
  return [...PEOPLE, ...RESTORES, ...rows].map(([table, row]) => insertion(table, row)).join(';\n');
}
