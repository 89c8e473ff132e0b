import { Inject, Injectable } from '@nestjs/common';
import { appendAll } from '../audit/audit';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { CONFIG } from '../config/env';
import { readById } from '../database/by-id';
import { Database, EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { DomainError } from '../domain/errors';
import { PAY_RUN_SUBMITTED } from '../domain/pay-run';
import { REPLACEMENT_REFUSALS, ReplacementRefusal, refusalOfReplacement } from '../domain/replacement';
import { assertCanPay } from '../employer/account.store';
import { EmployerAccount } from '../employer/employer.entity';
import { findEmployer } from '../employer/employer.store';
import { PayLimits } from '../employer/pay-limits';
import { assertIfMatch } from '../http/etag';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { clear, raiseNaming } from './attention.store';
import { SUCCESSOR_REFUSED } from './attention-actions';
import { finishDraft, openDraft } from './draft';
import { assertExecutionDate, assertSubmitInTime } from './execution-date';
import { mayBePaidByAnother } from './forgotten-pay';
import { leftOutWhileHeld } from './hold.store';
import { paidAsAnother } from './paid-as-another';
import { lockPayKey, nextSequence } from './pay-key';
import { PayRun } from './pay-run.entity';
import { readRun, RunRecord } from './pay-run.reads';
import { findRun } from './pay-run.store';
import { tellOfMoved } from './moved-payment';
import { Candidate, replaceCandidates } from './replaced.store';
import { Command } from './run-command';
import { releaseAction, withoutRelease } from './pay-release';
import { holdForSameRows } from './same-rows';
import { namesOfUnseen, questionOfUnseen, SecondLook } from './second-look';
import type { UnseenPayment } from './second-reading';
import { SendSettings } from './send-outlook';
import { copyPayments } from './successor.store';

/** What a preparer asks for: which payments, all that may be without their ids, and when they are paid. */
export interface SuccessorRequest {
  executionDate: string;
  submitAt?: Date;
  paymentIds?: readonly string[];
  reason?: string;
}

/** The run that was made, and how many payments that ended unpaid were left out of it, by why. */
export interface SuccessorMade {
  record: RunRecord;
  leftOut: { code: ReplacementRefusal; payments: number }[];
}

/** Judged in one piece and copied in parts; a run of more unpaid payments than this is paid by a supplement upload. */
export const MAX_REPLACED = 100_000;
/** Refusals told at once. */
const MAX_SHOWN = 1_000;

interface Selection {
  chosen: Candidate[];
  refused: { id: string; code: ReplacementRefusal }[];
}

/** Makes supplement runs that pay again what a run did not and can never pay. */
@Injectable()
export class Successors {
  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly secondLook: SecondLook,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: SendSettings,
  ) {}

  /**
   * Chooses, reads what was chosen at the bank again, and stores the run in one transaction that chooses once more: held
   * whole where runs near it, as of another month, pay most of its rows already.
   * @throws DomainError RUN_NOT_SUBMITTED; Problem 409 SUCCESSOR_REFUSED with the code of each refused payment,
   * NOTHING_TO_REPLACE, REPLACED_PAYMENT_MOVED, 422 TOO_MANY_TO_REPLACE, 503 BANK_UNREADABLE, and those of
   * `assertCanPay`, `assertExecutionDate` and `assertSubmitInTime`
   */
  async make(command: Command, request: SuccessorRequest): Promise<SuccessorMade> {
    const { employerId, payRunId } = command;
    const first = await this.database.inEmployer(employerId, async (tx) => {
      this.assertDate(request, await findEmployer(tx));
      const parent = await findParent(tx, payRunId);
      assertIfMatch(command.ifMatch, parent.revision);
      assertSubmitted(parent);
      return select(tx, parent, request);
    });
    await this.readAgain(command, first);
    return this.database.inEmployer(employerId, (tx) => this.store(tx, command, request, first));
  }

  private async store(
    tx: EmployerTransaction,
    { payRunId, personId }: Command,
    request: SuccessorRequest,
    first: Selection,
  ): Promise<SuccessorMade> {
    const parent = await findParent(tx, payRunId);
    await lockPayKey(tx, parent);
    const { chosen, refused } = await select(tx, parent, request);
    const read = new Set(first.chosen.map(({ id }) => id));
    if (chosen.some(({ id }) => !read.has(id))) {
      throw new Problem(409, 'RUN_IS_MOVING', 'The run has moved meanwhile: ask again.');
    }
    const id = newId();
    await openDraft(tx, {
      id,
      accountId: parent.accountId,
      period: parent.period,
      kindOfPay: parent.kindOfPay,
      executionDate: request.executionDate,
      submitAt: request.submitAt ?? null,
      scheduleId: parent.scheduleId,
      sequence: await nextSequence(tx, parent),
      parentRunId: parent.id,
      createdBy: personId,
    });
    const releases = await copyPayments(tx, this.personal, {
      payRunId: id,
      key: parent,
      replaced: chosen,
      personId,
      reason: request.reason,
    });
    const run = await finishDraft(tx, this.personal, id);
    await holdForSameRows(tx, run);
    await clear(tx, ['REPLACED_UNSEEN'], parent.id, 'a successor was made');
    const succeeded = {
      personId,
      action: 'pay-run.succeeded',
      subject: showId('run', parent.id),
      detail: {
        successor: showId('run', id),
        payments: run.rowCount,
        rootHash: run.rootHash?.toString('hex'),
        reason: request.reason,
      },
    };
    await appendAll(tx, [...releases.map(releaseAction), succeeded]);
    return { record: await readRun(tx, id, this.config, this.clock.now()), leftOut: countByCode(refused) };
  }

  /** Nothing is paid again on the strength of what was read some time ago. */
  private async readAgain({ employerId, payRunId }: Command, { chosen }: Selection): Promise<void> {
    const ids = chosen.map(({ id }) => id);
    const { moved, unseen } = await this.secondLook.ofPayments(employerId, ids);
    if (moved.length > 0) {
      const shown = await this.database.inEmployer(employerId, (tx) => tellOfMoved(tx, moved));
      throw new Problem(
        409,
        'REPLACED_PAYMENT_MOVED',
        `The bank shows ${shown} where the payments had ended unpaid. Nothing was stored. Try again, since the read may be from before their end: what it means else is told as attention, by then at the latest.`,
        { payments: moved.slice(0, MAX_SHOWN).map(({ paymentId }) => showId('pay', paymentId)) },
      );
    }
    if (unseen.length > 0) {
      await this.database.inEmployer(employerId, (tx) => tellOfUnseen(tx, payRunId, unseen));
      const hidden = [...new Set(unseen.map(({ paymentId }) => paymentId))];
      const others = hidden.length < ids.length ? ' The others are paid by a successor that names them.' : '';
      throw new Problem(
        503,
        'BANK_UNREADABLE',
        `The bank does not show ${unseen.length} of the payments as they ended now, or in a status that no document names: that proves nothing. Try again, or have its word in writing: REPLACED_UNSEEN asks for that.${others}`,
        { payments: hidden.slice(0, MAX_SHOWN).map((id) => showId('pay', id)) },
      );
    }
  }

  private assertDate(
    { executionDate, submitAt }: SuccessorRequest,
    limits: Pick<PayLimits, 'daysAheadLimit'>,
  ): void {
    const bank = { now: this.clock.now(), ...bankHours(this.config) };
    assertExecutionDate(executionDate, bank, limits);
    assertSubmitInTime(executionDate, submitAt ?? null, bank);
  }
}

/** The run whose account pays the successor too. */
async function findParent(tx: EmployerTransaction, payRunId: string): Promise<PayRun> {
  const parent = await findRun(tx, payRunId);
  const instead = 'upload the rows with supplementOf and another account of the employer';
  assertCanPay(await readById(tx, EmployerAccount, parent.accountId), instead);
  return parent;
}

/** Asked anew each time: somebody wants to pay it again now, whatever was decided before. */
async function tellOfUnseen(
  tx: EmployerTransaction,
  payRunId: string,
  unseen: readonly UnseenPayment[],
): Promise<void> {
  const [sum] = await tx.query<{ payments: number; minor: string }>(
    `SELECT count(*)::int AS payments, coalesce(sum(amount_minor), 0) AS minor FROM payment
     WHERE employer_id = $1 AND id = ANY ($2)`,
    [tx.employerId, unseen.map(({ paymentId }) => paymentId)],
  );
  const alarm = {
    kind: 'REPLACED_UNSEEN',
    subjectId: payRunId,
    payRunId,
    ...questionOfUnseen(
      `${SUCCESSOR_REFUSED}${showId('run', payRunId)} would pay again`,
      unseen,
      'Nothing was stored and nobody is paid again: what is not shown as it ended may have been paid after all. Ask for the successor again once the bank shows how each of these payments ended, or two people have its word.',
    ),
    payments: sum?.payments ?? 0,
    amountMinor: BigInt(sum?.minor ?? 0),
  } as const;
  await raiseNaming(tx, alarm, namesOfUnseen(unseen), 'over');
}

function assertSubmitted(parent: PayRun): void {
  if (PAY_RUN_SUBMITTED.includes(parent.status)) return;
  const message = `The run is ${parent.status} and nothing of it was submitted: amend it, or cancel it and upload its file again.`;
  throw new DomainError('RUN_NOT_SUBMITTED', message);
}

/** Whom the run can pay no more, by the one rule. Of payments that were named all may be replaced, or none is. */
async function select(
  tx: EmployerTransaction,
  parent: PayRun,
  request: SuccessorRequest,
): Promise<Selection> {
  const { paymentIds, reason } = request;
  const byId = paymentIds !== undefined;
  const candidates = await replaceCandidates(tx, parent.id, paymentIds, MAX_REPLACED + 1);
  if (candidates.length > MAX_REPLACED) {
    const detail = `A successor replaces at most ${MAX_REPLACED} payments: upload the rows with supplementOf.`;
    throw new Problem(422, 'TOO_MANY_TO_REPLACE', detail);
  }
  const choice = { byId, reason: reason !== undefined };
  const judged = await withoutHeld(
    tx,
    parent,
    candidates.map((candidate) => ({ candidate, code: refusalOfReplacement(candidate, choice) })),
  );
  const found = new Set(candidates.map(({ id }) => id));
  const unknown = (paymentIds ?? []).filter((id) => !found.has(id));
  const refused = [
    ...unknown.map((id) => ({ id, code: 'PAYMENT_NOT_IN_RUN' as const })),
    ...judged.flatMap(({ candidate: { id }, code }) => (code === undefined ? [] : [{ id, code }])),
  ];
  const chosen = judged.flatMap(({ candidate, code }) => (code === undefined ? [candidate] : []));
  if (byId && refused.length > 0) {
    throw refusal('SUCCESSOR_REFUSED', 'Nothing was stored; leave these payments out.', refused);
  }
  if (chosen.length === 0) {
    throw refusal('NOTHING_TO_REPLACE', 'No payment of the run can be paid by another.', refused);
  }
  return { chosen, refused };
}

interface Judged {
  candidate: Candidate;
  code: ReplacementRefusal | undefined;
}

/**
 * A successor holds no single row: who was held and left out, whom a restore leaves in doubt, and whose account was paid as
 * somebody else's, is paid by an upload, once a person released the row.
 */
async function withoutHeld(
  tx: EmployerTransaction,
  parent: PayRun,
  judged: readonly Judged[],
): Promise<Judged[]> {
  const free = judged.flatMap(({ candidate, code }) => (code === undefined ? [candidate.id] : []));
  const maybePaid = await mayBePaidByAnother(tx, free);
  const leftOut = await leftOutWhileHeld(tx, parent.id, free);
  const unreleased = await withoutRelease(tx, free);
  const asAnother = await paidAsAnother(tx, parent, free);
  return judged.map(({ candidate, code }) => {
    if (maybePaid.has(candidate.id)) return { candidate, code: 'EMPLOYEE_MAY_BE_PAID' };
    if (asAnother.has(candidate.id)) return { candidate, code: 'PAID_AS_ANOTHER' };
    const needsRelease = leftOut.has(candidate.id) || unreleased.has(candidate.id);
    return { candidate, code: needsRelease ? 'HOLD_NEEDS_RELEASE' : code };
  });
}

function refusal(code: string, detail: string, refused: Selection['refused']): Problem {
  return new Problem(409, code, detail, {
    refused: refused.length,
    payments: refused.slice(0, MAX_SHOWN).map((one) => ({
      id: showId('pay', one.id),
      code: one.code,
      detail: REPLACEMENT_REFUSALS[one.code],
    })),
  });
}

function countByCode(refused: Selection['refused']): SuccessorMade['leftOut'] {
  const codes = [...new Set(refused.map(({ code }) => code))].sort();
  return codes.map((code) => ({ code, payments: refused.filter((one) => one.code === code).length }));
}
