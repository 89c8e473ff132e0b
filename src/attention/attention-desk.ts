import { Injectable } from '@nestjs/common';
import { append } from '../audit/audit';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { DomainError } from '../domain/errors';
import { showId } from '../http/prefixed-id';
import { amend } from '../pay-run/amendment';
import { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { MEANINGS } from '../pay-run/attention-actions';
import { lockInstruction } from '../pay-run/instruction.store';
import { lockRun, raiseRevision } from '../pay-run/pay-run.store';
import { readContradicted } from '../pay-run/paid-already';
import { resumeAfter } from '../pay-run/stop';
import { Burial } from '../submission/burial';
import { lapseHidden } from '../restore/restored-approvals';
import { assertReconciled } from '../restore/pending-restores';
import { recordExecuted } from '../submission/submit-record';
import { Unrecorded, UnrecordedSubmits } from '../restore/unrecorded-submits';
import { requireWork } from '../submission/work';
import { EndedInstruction } from './ended-instruction';
import { ExecutedWord } from './executed-word';
import { lockOpen, requireAction, resolve } from './open-attention';
import {
  assertMayConfirm,
  assertMayPropose,
  assertProposerMay,
  markConfirmed,
  type ProposedAction,
  readProposed,
} from './proposed-action';
import { StatusMeaning } from './status-meaning';
import { TryAgain } from './try-again';
import { UnseenWord } from './unseen-word';

/** What the bank showed before an action is carried out, where it rests on that. */
interface Proven {
  unseen: Awaited<ReturnType<UnseenWord['prove']>>;
  shown: readonly Unrecorded[];
}

/** The attention desk: one person proposes, another confirms, and only then something is done. */
@Injectable()
export class AttentionDesk {
  /** Who confirms about the same attention takes turns: a second click must not change anything at the bank beside the first. */
  private readonly turns = new Map<string, Promise<void>>();

  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly burial: Burial,
    private readonly ended: EndedInstruction,
    private readonly execution: ExecutedWord,
    private readonly unrecorded: UnrecordedSubmits,
    private readonly meaning: StatusMeaning,
    private readonly word: UnseenWord,
    private readonly again: TryAgain,
    private readonly clock: Clock,
  ) {}

  /**
   * @throws DomainError ATTENTION_NOT_FOUND, ATTENTION_IS_RESOLVED, ACTION_NOT_OFFERED, EVIDENCE_REQUIRED,
   * ACTION_IS_PROPOSED, and those of the meaning of a status
   */
  propose(
    employerId: string,
    attentionId: string,
    personId: string,
    proposed: ProposedAction,
  ): Promise<AttentionActionRow> {
    return this.database.inEmployer(employerId, async (tx) => {
      const attention = await lockOpen(tx, attentionId);
      await assertMayPropose(tx, attention, personId, proposed);
      const decidesOn = await this.paymentsOf(tx, attention, proposed);
      const row = tx.manager.create(AttentionActionRow, {
        employerId,
        id: newId(),
        attentionId,
        action: proposed.action,
        reason: proposed.reason,
        evidence: proposed.evidence ?? null,
        ...decidesOn,
        proposedBy: personId,
        proposedAt: this.clock.now(),
        confirmedBy: null,
        confirmedAt: null,
        withdrawnAt: null,
      });
      await tx.manager.insert(AttentionActionRow, row);
      await this.audit(tx, personId, 'proposed', attention, row);
      return row;
    });
  }

  /** Takes an unconfirmed proposal back. @throws DomainError ACTION_NOT_FOUND */
  withdraw(employerId: string, attentionId: string, personId: string): Promise<void> {
    return this.database.inEmployer(employerId, async (tx) => {
      const attention = await lockOpen(tx, attentionId);
      const action = await requireAction(tx, attentionId);
      await tx.manager.update(
        AttentionActionRow,
        { employerId, id: action.id },
        { withdrawnAt: this.clock.now() },
      );
      await this.audit(tx, personId, 'withdrawn', attention, action);
    });
  }

  /**
   * The second person's word: the action is carried out and the attention resolved, in one transaction.
   * @param actionId which action the person read
   * @throws DomainError ACTION_CHANGED, SECOND_PERSON_REQUIRED, PROPOSER_NOT_ENTITLED, ACTION_NOT_FOUND,
   * ATTENTION_IS_RESOLVED, and those of the action itself; Problem 403 ROLE_REQUIRED
   */
  async confirm(employerId: string, attentionId: string, personId: string, actionId: string): Promise<void> {
    const before = this.turns.get(attentionId) ?? Promise.resolve();
    const mine = before.then(() => this.decide(employerId, attentionId, personId, actionId));
    const over = mine.catch(() => undefined);
    this.turns.set(attentionId, over);
    try {
      await mine;
    } finally {
      if (this.turns.get(attentionId) === over) this.turns.delete(attentionId);
    }
  }

  private async decide(
    employerId: string,
    attentionId: string,
    personId: string,
    actionId: string,
  ): Promise<void> {
    const read = () =>
      this.database.inEmployer(employerId, (tx) => readProposed(tx, attentionId, personId, actionId));
    const { attention, action } = await read();
    const proven = await this.proveAtBank(employerId, attention, action).catch(async (error: unknown) => {
      // What another replica has carried out meanwhile is decided, and lacks no proof.
      if (error instanceof DomainError && error.code === 'NOT_PROVEN_DEAD') await read();
      throw error;
    });
    await this.database.inEmployer(employerId, async (tx) => {
      // Once more: the bank may have been read for long.
      await assertProposerMay(tx, action);
      await assertMayConfirm(tx, personId);
      await markConfirmed(tx, action, personId);
      // After it is confirmed: the database asks for two people.
      if (isOfUnseen(attention)) await this.word.decide(tx, attention, action, proven.unseen);
      else await this.carryOut(tx, attention, action, proven.shown);
      await resolve(tx, attention, action);
      await this.audit(tx, personId, 'confirmed', attention, action);
    });
    crashPoint('desk.confirmed');
  }

  /** Reads at the bank whether the action may be carried out still. @returns what it rests on */
  private async proveAtBank(
    employerId: string,
    attention: Attention,
    action: AttentionActionRow,
  ): Promise<Proven> {
    if (action.action === 'NOT_EXECUTED')
      await this.declaring(attention).prove(employerId, attention, action.evidence);
    if (action.action === 'EXECUTED' && attention.kind !== 'UNRECORDED_SUBMIT')
      await this.execution.prove(employerId, attention, action.evidence);
    if (MEANINGS.includes(action.action) && !isOfUnseen(attention))
      await this.meaning.prove(employerId, attention, action);
    if (action.action === 'TRY_AGAIN') await this.again.prove(employerId, attention, action);
    return {
      unseen: isOfUnseen(attention) ? await this.word.prove(employerId, attention, action) : [],
      shown: attention.kind === 'UNRECORDED_SUBMIT' ? await this.unrecorded.read(employerId, attention) : [],
    };
  }

  private async carryOut(
    tx: EmployerTransaction,
    attention: Attention,
    action: AttentionActionRow,
    shown: readonly Unrecorded[],
  ): Promise<void> {
    switch (action.action) {
      case 'ACKNOWLEDGE':
        // While it was open it kept its run stopped, whatever had stopped that.
        return attention.kind === 'ECHO_MISMATCH' ? resumeAfter(tx, attention) : undefined;
      case 'EXECUTED':
        return attention.kind === 'UNRECORDED_SUBMIT'
          ? this.unrecorded.takeOver(tx, attention, action, shown)
          : this.executed(tx, attention, action);
      case 'NOT_EXECUTED':
        return this.declaring(attention).bury(tx, attention, action);
      case 'PAID':
      case 'NOT_PAID':
        return this.meaning.decide(tx, attention, action);
      case 'EXCLUDE_PAYMENT':
        return this.exclude(tx, attention, action);
      case 'TRY_AGAIN':
        return this.again.carryOut(tx, attention, action);
      case 'GO_ON':
        return wake(tx, 'RUN', [attention.subjectId]);
      case 'RESUME':
        if (attention.kind === 'RESTORED') {
          await assertReconciled(tx, attention.subjectId, action.evidence);
          await lapseHidden(tx, attention.subjectId);
        }
        await resumeAfter(tx, attention);
        if (attention.payRunId !== null) await readContradicted(tx, attention.payRunId);
    }
  }

  /** By what an instruction is declared not executed: one that was submitted, or one whose submit is in doubt. */
  private declaring({ kind }: Attention): EndedInstruction | Burial {
    return kind === 'ENDED_BY_BANK' ? this.ended : this.burial;
  }

  /** Which payments a proposed meaning is of, and of which status of theirs where it is one. */
  private async paymentsOf(
    tx: EmployerTransaction,
    attention: Attention,
    proposed: ProposedAction,
  ): Promise<Pick<AttentionActionRow, 'paymentIds' | 'paymentStatuses'>> {
    if (!MEANINGS.includes(proposed.action)) return { paymentIds: null, paymentStatuses: null };
    if (!isOfUnseen(attention)) return this.meaning.paymentsOf(tx, attention, proposed);
    return { paymentIds: await this.word.paymentsOf(tx, attention, proposed), paymentStatuses: null };
  }

  private async executed(
    tx: EmployerTransaction,
    attention: Attention,
    action: AttentionActionRow,
  ): Promise<void> {
    const work = await requireWork(tx, attention);
    const instruction = await lockInstruction(tx, work.instruction.id);
    await recordExecuted(tx, work, instruction, undefined, {
      evidence: `two people: ${action.reason}`,
      at: this.clock.now(),
    });
  }

  private async exclude(
    tx: EmployerTransaction,
    attention: Attention,
    action: AttentionActionRow,
  ): Promise<void> {
    const run = await lockRun(tx, attention.payRunId ?? '');
    const { revision } = run;
    await amend(tx, this.personal, run, action.proposedBy, {
      excludePaymentIds: attention.paymentId === null ? [] : [attention.paymentId],
      reason: action.reason,
    });
    await raiseRevision(tx, run, revision);
  }

  private async audit(
    tx: EmployerTransaction,
    personId: string,
    what: 'proposed' | 'withdrawn' | 'confirmed',
    attention: Attention,
    action: AttentionActionRow,
  ): Promise<void> {
    await append(tx, {
      personId,
      action: `attention.${what}`,
      subject: showId('att', attention.id),
      detail: {
        kind: attention.kind,
        action: action.action,
        reason: action.reason,
        evidence: action.evidence,
        ...(action.paymentIds && { payments: action.paymentIds.length }),
      },
    });
  }
}

/** Whether it is about payments that are paid again and that the bank does not show. */
function isOfUnseen({ kind }: Attention): boolean {
  return kind === 'REPLACED_UNSEEN';
}
