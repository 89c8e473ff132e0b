import { words } from '../database/words';
import { INSTRUCTION_FOLLOWED, INSTRUCTION_GIVEN_UP } from '../domain/instruction';
import { inSql, Invariant } from './invariant';

/** What ended is watched for a day at least, whatever `WATCH_DAYS` says. */
const SURELY_WATCHED = `interval '1 day'`;

/** What holds of what the bank has shown since the submit: a breach stops its employer. */
export const FOLLOWING_INVARIANTS: readonly Invariant[] = [
  inSql(
    {
      name: 'returned-as-shown',
      sentence: 'A payment is said to have come back where the bank showed that it did, and nowhere else.',
      scope: 'internal',
    },
    `SELECT i.pay_run_id, i.id, count(*)
     FROM at_bank b
     JOIN ins i ON i.id = b.instruction_id AND i.status IN (${words(INSTRUCTION_FOLLOWED)})
     JOIN paid m ON m.id = b.payment_id
     WHERE (m.returned_at IS NOT NULL) <> (m.status = 'SETTLED' AND b.bank_status IS NOT DISTINCT FROM 'RETURNED')
     GROUP BY i.pay_run_id, i.id`,
  ),
  inSql(
    {
      name: 'differences-were-told',
      sentence:
        'What the bank shows of a payment otherwise than it is recorded, or in a status that no document names after its end, and what of one did not come back, people were told.',
      scope: 'internal',
    },
    `WITH told AS MATERIALIZED (
       SELECT kind, payment_id, instruction_id, happened, lacking_minor FROM attention
       WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND kind IN ('ECHO_MISMATCH', 'UNKNOWN_STATUS')),
     doubted AS MATERIALIZED (
       SELECT * FROM at_bank WHERE shown_otherwise IS NOT NULL OR shown_status IS NOT NULL)
     SELECT i.pay_run_id, i.id, count(*)
     FROM doubted b
     JOIN ins i ON i.id = b.instruction_id
     WHERE b.shown_otherwise IS NOT NULL AND NOT EXISTS (
         SELECT FROM told WHERE kind = 'ECHO_MISMATCH' AND payment_id = b.payment_id)
       OR b.shown_status IS NOT NULL AND NOT EXISTS (
         SELECT FROM told WHERE kind = 'UNKNOWN_STATUS' AND instruction_id = b.instruction_id
           AND strpos(happened, ' ' || b.shown_status || ' (') > 0)
     GROUP BY i.pay_run_id, i.id
     UNION ALL
     SELECT m.pay_run_id, NULL::uuid, count(*) FROM paid m
     WHERE m.returned_minor IS NOT NULL AND NOT EXISTS (SELECT FROM told
       WHERE kind = 'ECHO_MISMATCH' AND payment_id = m.id AND lacking_minor >= m.amount_minor - m.returned_minor)
     GROUP BY m.pay_run_id`,
  ),
  inSql(
    {
      name: 'ended-is-watched',
      sentence:
        'What ended within the last day is due to be read again, and what was given up at the bank was put among what is.',
      scope: 'internal',
    },
    `SELECT i.pay_run_id, i.id, 1
     FROM ins i
     LEFT JOIN (
       SELECT subject_id, leased_until IS NOT NULL OR wake_at < 'infinity' AS is_due FROM lease
       WHERE subject_id = ANY (ARRAY(SELECT id FROM ins)) AND kind = 'FOLLOW') AS watch ON watch.subject_id = i.id
     WHERE i.status = 'CLOSED' AND i.closed_at > now() - ${SURELY_WATCHED} AND watch.is_due IS NOT TRUE
       OR i.status IN (${words(INSTRUCTION_GIVEN_UP)}) AND i.bank_instruction_id IS NOT NULL AND watch.subject_id IS NULL`,
  ),
];
