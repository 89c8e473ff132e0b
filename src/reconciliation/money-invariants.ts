import { PATHS } from '../bank/types';
import { words } from '../database/words';
import { INSTRUCTION_FOLLOWED, INSTRUCTION_IN_DOUBT, InstructionStatus } from '../domain/instruction';
import { PAYMENT_ENDED_BY_BANK, PaymentStatus } from '../domain/payment';
import { inSql, Invariant } from './invariant';

const DEAD: readonly InstructionStatus[] = ['ABANDONED', 'CANCELLED', 'RELEASED', 'VOID'];
/** The states that only a submit attempt leads to. */
const ATTEMPTED: readonly InstructionStatus[] = [...INSTRUCTION_IN_DOUBT, 'VOID', ...INSTRUCTION_FOLLOWED];
const MOVED: readonly PaymentStatus[] = ['SUBMITTED', 'SETTLED', 'FAILED', 'REJECTED'];

/** The record of calls may be archived by month: what is older is not held against them. */
export const CALLS_KEPT = `interval '30 days'`;

/** A server's clock may be set back, or another server take over, by less than this. */
const CLOCK_MARGIN = `interval '1 minute'`;

/** What holds of money that has moved, or may have: a breach stops every employer. */
export const MONEY_INVARIANTS: readonly Invariant[] = [
  inSql(
    {
      name: 'rows-are-submitted-once',
      sentence: 'No row is in two submits that are not proven unsent.',
      scope: 'money moved',
    },
    `SELECT pay_run_id, NULL::uuid, count(*) FROM (
       SELECT p.pay_run_id, p.first_row <= max(p.last_row) OVER (PARTITION BY p.pay_run_id
         ORDER BY p.first_row, s.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS again
       FROM standing s JOIN plan p ON p.id = s.planned_instruction_id
       UNION ALL
       SELECT i.pay_run_id, count(*) > 1
       FROM standing s
       JOIN ins i ON i.id = s.instruction_id
       JOIN at_bank b ON b.instruction_id = i.id AND b.add_outcome <> 'REFUSED'
       GROUP BY i.pay_run_id, b.payment_id) AS submitted
     WHERE again GROUP BY pay_run_id`,
  ),
  inSql(
    {
      name: 'submitted-as-planned',
      sentence:
        'A submitted instruction has the count and the sum that were planned, in our rows and at the bank.',
      scope: 'money moved',
    },
    `SELECT p.pay_run_id, s.instruction_id, greatest(1,
       abs(coalesce(ours.rows, 0) - p.row_count) + abs(coalesce(theirs.rows, 0) - p.row_count))
     FROM standing s
     JOIN plan p ON p.id = s.planned_instruction_id
     LEFT JOIN (
       SELECT plan_id, count(*) AS rows, sum(amount_minor) AS minor FROM planned_row GROUP BY plan_id) ours
       ON ours.plan_id = p.id
     LEFT JOIN (
       SELECT b.instruction_id, count(*) AS rows, sum(m.amount_minor) AS minor
       FROM at_bank b JOIN paid m ON m.id = b.payment_id
       WHERE b.bank_payment_id IS NOT NULL GROUP BY b.instruction_id) theirs ON theirs.instruction_id = s.instruction_id
     WHERE (ours.rows, ours.minor, theirs.rows, theirs.minor)
       IS DISTINCT FROM (p.row_count::bigint, p.total_minor::numeric, p.row_count::bigint, p.total_minor::numeric)`,
  ),
  inSql(
    {
      name: 'submits-have-intents',
      sentence: 'Every submit was written down before it was sent, once as an attempt and once as a call.',
      scope: 'money moved',
    },
    `SELECT i.pay_run_id, i.id, greatest(1, abs(coalesce(a.n, 0) - coalesce(c.n, 0)))
     FROM ins i
     LEFT JOIN (
       SELECT instruction_id, count(*) AS n, min(attempted_at) AS since,
         bool_or(outcome IS DISTINCT FROM 'PROVEN_UNSENT') AS stands,
         bool_or(finished_at < attempted_at - ${CLOCK_MARGIN}) AS reversed
       FROM attempt GROUP BY instruction_id) a ON a.instruction_id = i.id
     LEFT JOIN (
       SELECT c.instruction_id, count(*) AS n,
         bool_or(c.body_hash <> sha256('') OR c.target <> ${submitTo('t.bank_instruction_id')}
           OR c.finished_at < c.intended_at - ${CLOCK_MARGIN}) AS wrong
       FROM call c JOIN ins t ON t.id = c.instruction_id
       WHERE c.operation = 'submit' GROUP BY c.instruction_id) c ON c.instruction_id = i.id
     WHERE a.reversed OR c.wrong
       OR coalesce(a.n, 0) <> coalesce(c.n, 0) AND coalesce(a.since, now()) > now() - ${CALLS_KEPT}
       OR i.status IN (${words(ATTEMPTED)}) AND a.stands IS NOT TRUE`,
  ),
  inSql(
    {
      name: 'paid-as-approved',
      sentence:
        'What was submitted is of the standing version, has the approved hash, and somebody who prepared neither it nor a left-out row that it copies nor a kept-back one approved it.',
      scope: 'money moved',
    },
    // Once for each approval: to tell who prepared may take all rows of a run, and it has many submits.
    `WITH approved AS MATERIALIZED (
       SELECT r.id FROM run r
       JOIN standing_approval a ON a.pay_run_id = r.id AND a.run_version = r.run_version AND a.root_hash = r.root_hash
       WHERE NOT has_prepared($1, r.id, a.approver_id))
     SELECT r.id, NULL::uuid, count(*)
     FROM standing s
     JOIN plan p ON p.id = s.planned_instruction_id
     JOIN run r ON r.id = p.pay_run_id
     LEFT JOIN version v ON v.pay_run_id = r.id AND v.run_version = r.run_version AND v.root_hash = r.root_hash
     WHERE v.pay_run_id IS NULL OR p.run_version <> r.run_version OR s.row_hash <> p.row_hash
       OR r.id NOT IN (SELECT id FROM approved)
     GROUP BY r.id`,
  ),
  inSql(
    {
      name: 'settled-by-match',
      sentence:
        'A settled payment is a payment at the bank, by its id there, of an instruction whose submit was executed.',
      scope: 'money moved',
    },
    `SELECT m.pay_run_id, NULL::uuid, count(*)
     FROM paid m
     LEFT JOIN (
       SELECT b.payment_id, b.row_no
       FROM at_bank b
       JOIN ins i ON i.id = b.instruction_id AND i.status IN (${words(INSTRUCTION_FOLLOWED)})
       JOIN standing s ON s.instruction_id = i.id AND s.outcome = 'EXECUTED'
       WHERE b.bank_payment_id IS NOT NULL) AS proof ON proof.payment_id = m.id AND proof.row_no = m.row_no
     WHERE m.status = 'SETTLED' AND proof.payment_id IS NULL GROUP BY m.pay_run_id`,
  ),
  inSql(
    {
      name: 'ended-payments-stay',
      sentence: 'What the history says the bank ended is as it ended.',
      scope: 'money moved',
    },
    `SELECT m.pay_run_id, NULL::uuid, count(*)
     FROM history h JOIN paid m ON m.id = h.subject_id
     WHERE h.subject = 'payment' AND h.to_status IN (${words(PAYMENT_ENDED_BY_BANK)}) AND h.to_status <> m.status
     GROUP BY m.pay_run_id`,
  ),
  inSql(
    {
      name: 'the-dead-never-move',
      sentence:
        'An abandoned, released or void instruction was not submitted, and no payment of it was submitted or settled.',
      scope: 'money moved',
    },
    `SELECT i.pay_run_id, i.id, 1
     FROM ins i
     LEFT JOIN standing s ON s.instruction_id = i.id
     WHERE i.status IN (${words(DEAD)}) AND (i.submitted_at IS NOT NULL OR i.closed_at IS NOT NULL
       OR s.id IS NOT NULL AND (i.status <> 'VOID' OR s.outcome = 'EXECUTED'))
     UNION ALL
     SELECT m.pay_run_id, l.id, count(*)
     FROM planned_row m
     LEFT JOIN live l ON l.planned_instruction_id = m.plan_id
     WHERE m.status IN (${words(MOVED)}) AND (l.status IN (${words(INSTRUCTION_FOLLOWED)})) IS NOT TRUE
     GROUP BY m.pay_run_id, l.id`,
  ),
];

/** The path of a submit in SQL, with the id as the client escapes it: like `encodeURIComponent`. */
function submitTo(bankInstructionId: string): string {
  const [before = '', after = ''] = PATHS.submit('{id}').split('{id}');
  return `(
    SELECT '${before}' || string_agg(CASE
        WHEN letter COLLATE "C" ~ '[A-Za-z0-9_.!~*''()-]' THEN letter
        ELSE regexp_replace(upper(encode(convert_to(letter, 'UTF8'), 'hex')), '..', '%\\&', 'g') END, '' ORDER BY place)
      || '${after}'
    FROM string_to_table(${bankInstructionId}, NULL) WITH ORDINALITY AS id(letter, place))`;
}
