import { Guard } from './guard';
import { EARLIER_RESTORE, firstRows, idsOf, insertion, NOW, secondRows } from './two-employers';

const a = idsOf(1);
const [FRESH] = a.fresh;
const {
  submit_attempt: attempt,
  forgotten_instruction: forgotten,
  restore_check: check,
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

const BY_RELEASE: Omit<Guard, 'name' | 'lawful' | 'forbidden'> = {
  kind: 'trigger',
  on: 'instruction',
  object: 'refuse_release_after_a_restore',
  says: 'forgotten_run_is_not_released',
  given: [insertion('instruction', { ...instruction, status: 'VERIFIED' })],
};
const release = `UPDATE instruction SET status = 'RELEASED' WHERE id = '${instruction.id}'`;

/** Of another run, whose employee has a live payment in the first. */
const ofCancelled = { id: FRESH, pay_run_id: a.spareRun, status: 'CANCELLED', live: false };

const stop = (id: string, subject: string) =>
  `INSERT INTO service_stop (id, employer_id, kind, subject_id) VALUES ('${id}', '${a.employer}', 'RESTORED', '${subject}')`;
const lift = `UPDATE service_stop SET lifted_at = now()`;

/** Of what a restored database may have forgotten. */
export const RESTORE_GUARDS: Guard[] = [
  {
    name: 'there is one database the service last ran on',
    kind: 'constraint',
    on: 'database_identity',
    object: 'database_identity_id_check',
    lawful: `INSERT INTO database_identity (database_oid, written_by) VALUES (1, '7')`,
    forbidden: `INSERT INTO database_identity (id, database_oid, written_by) VALUES (2, 1, '7')`,
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
  {
    name: 'nothing is released of a run of which a submit was forgotten',
    ...BY_RELEASE,
    lawful: `${insertion('forgotten_instruction', forgotten)}; ${release}`,
    forbidden: `${insertion('forgotten_instruction', { ...forgotten, adopted_at: null })}; ${release}`,
  },
  {
    name: 'nothing is released after a restore before people resumed',
    ...BY_RELEASE,
    lawful: release,
    forbidden: `${stop(FRESH, EARLIER_RESTORE)}; ${release}`,
  },
  {
    name: 'nothing is released on rows that were loaded from a dump',
    ...BY_RELEASE,
    lawful: release,
    forbidden: `INSERT INTO database_identity (system_identifier, timeline, database_oid, written_by)
      SELECT system_identifier, timeline, database_oid, '7' FROM read_database(); ${release}`,
  },
  {
    name: 'submits stay off after a restore until the bank was read',
    ...BY_READING,
    says: 'restore_is_reconciled',
    given: [stop(FRESH, EARLIER_RESTORE)],
    lawful: `${insertion('restore_check', check)}; ${lift}`,
    forbidden: `${insertion('restore_check', { ...check, passed_at: null })}; ${lift}`,
  },
];
