import { answered } from '../bank/errors';
import type { Outcome } from '../bank/outcome';
import type { BankInstruction } from '../bank/records';
import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { isPastSubmit } from '../domain/bank-status';
import { clear } from '../pay-run/attention.store';
import { Instruction, SubmitAttempt } from '../pay-run/instruction.entity';
import { moveInstruction } from '../pay-run/instruction.store';
import { judgeSubmitted, totalsOf } from '../pay-run/match';
import { movePaymentSet } from '../pay-run/payment.store';
import { groupsDiffer } from '../pay-run/stop';
import { TURNED_AWAY } from './decision';
import type { Work } from './work';

/** Writes down what is known of the one standing submit attempt of an instruction. */
export async function finishAttempt(
  tx: EmployerTransaction,
  instruction: Instruction,
  outcome: NonNullable<SubmitAttempt['outcome']>,
  detail: string,
): Promise<void> {
  await tx.query(
    `UPDATE submit_attempt SET outcome = $3, outcome_detail = $4, finished_at = clock_timestamp()
     WHERE employer_id = $1 AND instruction_id = $2 AND outcome IS DISTINCT FROM 'PROVEN_UNSENT'`,
    [tx.employerId, instruction.id, outcome, detail],
    'kept',
  );
}

/** How often the submit of these rows was turned away and armed again: a bank that never takes it is a person's. */
export async function timesTurnedAway(
  tx: EmployerTransaction,
  { plannedInstructionId }: { plannedInstructionId: string },
): Promise<number> {
  const [row] = await tx.query<{ times: number }>(
    `SELECT count(*)::int AS times FROM submit_attempt
     WHERE employer_id = $1 AND planned_instruction_id = $2 AND outcome = 'PROVEN_UNSENT'
       AND starts_with(outcome_detail, $3)`,
    [tx.employerId, plannedInstructionId, TURNED_AWAY],
  );
  return row?.times ?? 0;
}

/**
 * Whether the database was restored since the standing submit attempt of an instruction: that it was proven unsent, and sent
 * again, may be forgotten, so that it never is.
 */
export async function isOlderThanARestore(
  tx: EmployerTransaction,
  { id, plannedInstructionId }: Pick<Instruction, 'id' | 'plannedInstructionId'>,
): Promise<boolean> {
  const older = await tx.query(
    `SELECT FROM submit_attempt s
     WHERE s.employer_id = $1 AND s.planned_instruction_id = $2 AND s.instruction_id = $3
       AND s.outcome IS DISTINCT FROM 'PROVEN_UNSENT'
       AND s.known_restores < known_restores()`,
    [tx.employerId, plannedInstructionId, id],
  );
  return older.length > 0;
}

/**
 * Whether an answer to a submit, once it is written down, says that our access is refused (Authentication 2 and 4): a 403,
 * or a second 401 of the employer, in whatever run, with no submit executed in between. One alone may be a token that ended
 * early.
 */
export async function refusesOurAccess(tx: EmployerTransaction, outcome: Outcome<unknown>): Promise<boolean> {
  if (outcome.kind !== 'no') return false;
  if (outcome.reason !== 'unauthorised') return outcome.reason === 'forbidden';
  // Of two that are written down at one time the later sees the other.
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('refused access ' || $1, 0))`, [
    tx.employerId,
  ]);
  // What a read, or people, found executed was let in when it was sent.
  const turnedAway = await tx.query(
    `SELECT FROM bank_call c
     WHERE c.employer_id = $1 AND c.operation = 'submit' AND c.outcome = 'NO' AND starts_with(c.outcome_detail, $2)
       AND c.finished_at >= coalesce(greatest(
         (SELECT max(y.finished_at) FROM bank_call y
          WHERE y.employer_id = $1 AND y.operation = 'submit' AND y.outcome = 'YES'),
         (SELECT max(s.attempted_at) FROM submit_attempt s
          WHERE s.employer_id = $1 AND s.outcome = 'EXECUTED')), '-infinity')
       AND NOT EXISTS (SELECT FROM submit_attempt s WHERE s.employer_id = $1 AND s.instruction_id = c.instruction_id
         AND s.outcome = 'EXECUTED')
     LIMIT 2`,
    [tx.employerId, answered(401)],
  );
  return turnedAway.length > 1;
}

/** What people are told of a submit that was turned away so often before. */
export function sentAgain(turnedAway: number): string {
  return `The submit was sent ${turnedAway + 1} times: by its own word the bank turned all but the last away before it executed anything.`;
}

/**
 * A submit is known to be executed: the check of its totals and the change of state are this one transaction
 * (rule 9). Totals the bank does not show yet are polled; a mismatch stops everything.
 * @param readInMs when its payments are read first where its totals are known to be right; at once otherwise
 */
export async function recordExecuted(
  tx: EmployerTransaction,
  work: Pick<Work, 'planned'>,
  instruction: Instruction,
  shown: BankInstruction | undefined,
  { evidence, at, readInMs = 0 }: { evidence: string; at: Date; readInMs?: number },
): Promise<void> {
  const { planned } = work;
  const all = totalsOf(planned);
  const totals = judgeSubmitted(all, shown ?? {});
  const isEqual = totals.kind === 'equal';
  await finishAttempt(tx, instruction, 'EXECUTED', evidence);
  await moveInstruction(tx, instruction, 'SUBMITTED', 'service', {
    submittedAt: at,
    bankStatus: shown?.status ?? instruction.bankStatus,
    totalsCheckedAt: isEqual ? at : null,
  });
  await movePaymentSet(tx, {
    payRunId: instruction.payRunId,
    planned,
    from: 'AT_BANK',
    to: 'SUBMITTED',
    actor: 'service',
  });
  if (totals.kind === 'different') await groupsDiffer(tx, instruction, all, totals.shown);
  await clear(tx, ['ROW_UNSEEN'], instruction.id, 'it was submitted');
  wake(tx, 'FOLLOW', [instruction.id], isEqual ? readInMs : 0);
  wake(tx, 'RUN', [instruction.payRunId]);
}

/**
 * As `recordExecuted`, of a submit in doubt that a read showed executed, whoever read it and what for: the bank need not show
 * it again (rule 10). What people were asked about that submit is closed.
 */
export async function recordShownExecuted(
  tx: EmployerTransaction,
  work: Pick<Work, 'planned'>,
  instruction: Instruction,
  shown: BankInstruction | undefined,
  at: Date,
): Promise<void> {
  // An older status than that of its payments is not written down with them.
  const past = shown && isPastSubmit(shown.status) ? shown : undefined;
  await recordExecuted(tx, work, instruction, past, { evidence: 'a later read of the bank', at });
  await clear(
    tx,
    ['SUBMIT_UNKNOWN', 'SUBMIT_REFUSED'],
    instruction.id,
    'a later read of the bank showed that the submit was executed',
  );
}
