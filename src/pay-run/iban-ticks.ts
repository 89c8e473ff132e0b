import { EmployerTransaction } from '../database/database';
import { DomainError } from '../domain/errors';
import { TICKED_KINDS } from '../domain/difference';
import { Employer } from '../employer/employer.entity';
import { readBefore, readComparison } from './comparison.reads';
import { assertAllAmong } from './named-payments';
import { PayRun } from './pay-run.entity';
import { assertAwaitsApproval, currentVersion } from './pay-run.store';

/** New IBANs a person looked at in the version with this root hash: those of payments, or else all for a reason. */
export interface Ticks {
  rootHash: string;
  paymentIds?: readonly string[];
  reason?: string;
}

/**
 * Notes that a person looked at IBANs of the standing version, whoever else did: it counts while they may approve. Each
 * further version is looked at anew, as it is approved anew. The database refuses a person who prepared any version of the
 * run, or a row left out elsewhere that it copies (`ticker_is_not_preparer`).
 * @returns how many ticks of that person were new
 * @throws DomainError NOT_AWAITING_APPROVAL, TICKS_OF_ANOTHER_VERSION, PAYMENT_NOT_TO_TICK, EVERY_IBAN_IS_NEW
 */
export async function tickIbans(
  tx: EmployerTransaction,
  run: PayRun,
  personId: string,
  ticks: Ticks,
): Promise<number> {
  await assertAwaitsApproval(tx, run);
  const { rootHash } = await currentVersion(tx, run);
  if (rootHash.toString('hex') !== ticks.rootHash) {
    const message = 'The run is not what you looked at: its hash differs. Read it again before you tick.';
    throw new DomainError('TICKS_OF_ANOTHER_VERSION', message);
  }
  if (ticks.paymentIds) await assertToTick(tx, run, ticks.paymentIds);
  const inserted = await tx.query(
    `INSERT INTO iban_tick (employer_id, pay_run_id, run_version, payment_id, reason, ticked_by)
     SELECT $1, $2, $3, payment_id, $5, $6 FROM unnest($4::uuid[]) AS t(payment_id)
     ON CONFLICT DO NOTHING RETURNING 1`,
    [tx.employerId, run.id, run.runVersion, ticks.paymentIds ?? [null], ticks.reason ?? null, personId],
  );
  return inserted.length;
}

async function assertToTick(
  tx: EmployerTransaction,
  run: PayRun,
  paymentIds: readonly string[],
): Promise<void> {
  if (!(await readBefore(tx, run))) {
    const message = 'No earlier pay tells which IBANs are new: decide on all of them at once, with a reason.';
    throw new DomainError('EVERY_IBAN_IS_NEW', message);
  }
  const found = await tx.query<{ id: string }>(
    `SELECT payment_id AS id FROM run_difference
     WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3 AND payment_id = ANY ($4) AND kind = ANY ($5)`,
    [tx.employerId, run.id, run.runVersion, paymentIds, TICKED_KINDS],
  );
  const toTick = new Set(found.map(({ id }) => id));
  const not = 'Not every payment to tick is one of the run with a new IBAN';
  assertAllAmong(paymentIds, toTick, { code: 'PAYMENT_NOT_TO_TICK', not });
}

/**
 * Refuses the approval of a version with IBANs that nobody looked at who may approve it, where the employer asks for it; the
 * database does too (`ibans_are_ticked`). Who prepared the run is refused as that instead.
 * So is one that the pay before it, as it is now, makes further IBANs of new (`comparison_is_of_now`), but for a run that
 * is being submitted, which can be compared no more: whoever approved it before that pay settled is not asked again.
 * @throws DomainError COMPARISON_OUTDATED, IBANS_NOT_TICKED with how many are missing
 */
export async function assertTicked(tx: EmployerTransaction, run: PayRun, personId: string): Promise<void> {
  const { tickIbans: required } = await tx.manager.findOneByOrFail(Employer, { id: tx.employerId });
  if (!required || (await hasPrepared(tx, run, personId))) return;
  if (run.status !== 'SUBMITTING' && (await hasUnseenIban(tx, run))) {
    const message =
      'Other pay settled or came back since the run was compared: held against that, it has new IBANs that nobody was shown. Have it amended, naming its execution date (POST …/amendments): that compares it anew, and its new IBANs are ticked then.';
    throw new DomainError('COMPARISON_OUTDATED', message);
  }
  const { toTick, ticked, decision } = await readComparison(tx, run);
  const missing = toTick - ticked;
  if (decision || missing === 0) return;
  const message = `${missing} of ${toTick} new IBANs were not looked at: tick them, or decide on all of them with a reason.`;
  throw new DomainError('IBANS_NOT_TICKED', message, { missing, toTick });
}

async function hasUnseenIban(tx: EmployerTransaction, run: PayRun): Promise<boolean> {
  const [found] = await tx.query<{ unseen: boolean }>('SELECT has_unseen_iban($1, $2, $3) AS unseen', [
    tx.employerId,
    run.id,
    run.runVersion,
  ]);
  return found?.unseen ?? true;
}

async function hasPrepared(tx: EmployerTransaction, run: PayRun, personId: string): Promise<boolean> {
  const [found] = await tx.query<{ prepared: boolean }>('SELECT has_prepared($1, $2, $3) AS prepared', [
    tx.employerId,
    run.id,
    personId,
  ]);
  return found?.prepared === true;
}
