import { Injectable } from '@nestjs/common';
import { isNotToBeRead, NotFound, unless } from '../bank/errors';
import { Database, EmployerTransaction } from '../database/database';
import { isUndocumented, NOT_PROCESSABLE, readBankStatus, shownAs, standingOf } from '../domain/bank-status';
import { DomainError } from '../domain/errors';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { sumMinor } from '../domain/money';
import { PAY_RUN_SUBMITTED, PayRunStatus } from '../domain/pay-run';
import type { CountAndSum } from '../domain/reconciliation';
import { readToDecide } from '../employer/bank-problem';
import { OTHER_UNIT } from '../employer/readiness';
import type { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { raiseNaming } from '../pay-run/attention.store';
import { WAS_IT_SUBMITTED } from '../pay-run/attention-words';
import { Instruction } from '../pay-run/instruction.entity';
import { lockInstruction } from '../pay-run/instruction.store';
import { tellWhereReleasedSince } from '../pay-run/moved-instruction';
import { subjectOfForgotten } from '../pay-run/named-subject';
import { lockRun } from '../pay-run/pay-run.store';
import { wakeUnsent } from '../pay-run/unsent';
import { Problem } from '../http/problem';
import { Forgotten, Look, RestoreAdoption } from './restore-adoption';

/** Of runs that can be neither approved nor cancelled any more people are asked about what is not taken back. */
export const ASKED_OF: readonly PayRunStatus[] = [...PAY_RUN_SUBMITTED, 'CANCELLED'];

/** A submit that is not in the record, with what the bank shows of it; in words where that cannot be taken over. */
export interface Unrecorded {
  forgotten: Forgotten;
  look: Look | string | undefined;
}

/**
 * What two people do about submits that the bank shows and the record lacks, in a run that can only go on, or is over:
 * somebody else submitted an instruction of it, or a restored database has forgotten that it was submitted. What is as it was
 * approved is taken over and followed while the run goes on; of the rest nothing is paid again.
 */
@Injectable()
export class UnrecordedSubmits {
  constructor(
    private readonly database: Database,
    private readonly adoption: RestoreAdoption,
  ) {}

  /** Reads at the bank what an attention is about. @throws Problem 503 while the bank cannot be read, or not in this unit */
  async read(employerId: string, attention: Attention): Promise<Unrecorded[]> {
    const all = await this.database.inEmployer(employerId, (tx) => subjectsOf(tx, attention));
    const read: Unrecorded[] = [];
    for (const forgotten of all) read.push({ forgotten, look: await this.lookAt(employerId, forgotten) });
    return read;
  }

  private async lookAt(employerId: string, forgotten: Forgotten): Promise<Unrecorded['look']> {
    const look = await readToDecide(() =>
      this.adoption.look(employerId, forgotten).catch((error: unknown) => {
        if (error instanceof NotFound) return 'the bank does not show it';
        if (isNotToBeRead(error)) return 'the bank does not let it be read';
        throw error;
      }),
    );
    if (look === OTHER_UNIT) throw new Problem(503, 'BANK_UNREADABLE', UNREAD);
    return look;
  }

  /**
   * Takes over what the bank shows as it was approved. Otherwise the bank's written reference is needed: with it what was
   * verified before is followed all the same and everything stops, and of the rest it is written down that it was executed,
   * and how much as soon as the bank shows how every payment ended, so that its run ends at the cut-off and pays nobody of it again.
   * @throws DomainError NOT_AS_APPROVED, which says what differs
   */
  async takeOver(
    tx: EmployerTransaction,
    attention: Attention,
    action: AttentionActionRow,
    all: readonly Unrecorded[],
  ): Promise<void> {
    // As everything locks them: whoever reads at this moment that it moved asks before this is decided, or sees that it was.
    const run = attention.payRunId === null ? undefined : await lockRun(tx, attention.payRunId);
    if (attention.instructionId !== null) await lockInstruction(tx, attention.instructionId);
    const refused: Refused[] = [];
    for (const one of all) {
      const why = await this.takeOne(tx, action, one, attention.instructionId !== null);
      const id = one.forgotten.bankInstructionId;
      if (why !== undefined) refused.push({ id, why, executed: executedOf(one.look) });
    }
    if (refused.length > 0) {
      if (action.evidence === null) throw notAsApproved(refused);
      if (attention.instructionId !== null)
        for (const { forgotten } of all) await keep(tx, action, forgotten);
      await countExecuted(tx, action, refused);
    }
    if (run === undefined) return;
    for (const { forgotten } of all) await tellWhereReleasedSince(tx, forgotten.bankInstructionId, run);
    await clearSettled(tx, [run.id], await askedOf(tx, [run.id]), attention.id);
    if (refused.length > 0) await wakeUnsent(tx, [run.id]);
  }

  /**
   * Counts what two people have decided before the bank showed how each payment ended, once it does; what it shows otherwise
   * than approved, or lets nobody read, stays a doubt. @throws BankClientError that may pass
   */
  async count(employerId: string, forgotten: Forgotten): Promise<void> {
    const look = await unless(isNotToBeRead, this.adoption.look(employerId, forgotten));
    const executed = executedOf(look);
    if (executed === undefined) return;
    await this.database.inEmployer(employerId, async (tx) => {
      await lockRun(tx, forgotten.payRunId);
      await tx.query(
        `UPDATE forgotten_instruction SET executed_payments = $3, executed_minor = $4
         WHERE employer_id = $1 AND bank_instruction_id = $2 AND adopted_at IS NULL AND action_id IS NOT NULL
           AND executed_payments IS NULL`,
        [employerId, forgotten.bankInstructionId, executed.count, executed.amountMinor],
      );
    });
  }

  /** @returns why it is not taken over */
  private async takeOne(
    tx: EmployerTransaction,
    action: AttentionActionRow,
    { forgotten, look }: Unrecorded,
    byOthers: boolean,
  ): Promise<string | undefined> {
    if (look === undefined || typeof look === 'string') return look;
    if (byOthers) await keep(tx, action, forgotten, look.evidence.status);
    return this.adoption.record(tx, look, {
      evidence: `two people: ${action.reason}`,
      cause: 'It was submitted without a submit in the record',
      mayDiffer: action.evidence !== null,
      isSaid: action.evidence !== null,
    });
  }
}

/** A submit that is not taken over, and what of it the bank has executed. */
interface Refused {
  id: string;
  why: string;
  executed: CountAndSum | undefined;
}

/**
 * Known where the bank shows every payment as it was approved, and how it ended: one left as not processable has, once
 * another shows that the rest was executed.
 */
function executedOf(look: Unrecorded['look']): Refused['executed'] {
  if (typeof look !== 'object' || look.evidence.differs !== undefined) return undefined;
  const { rows, matched, isUnsettled } = look.evidence;
  const ends = rows.map(({ rowNo, amountMinor }) => {
    const seen = matched.get(rowNo);
    const status = seen === undefined ? '' : standingOf(seen);
    return { amountMinor, status, ...readBankStatus(status) };
  });
  if (isUnsettled || ends.some(({ kind }) => kind !== 'terminal')) return undefined;
  const settled = ends.filter((one) => one.kind === 'terminal' && one.outcome === 'SETTLED');
  if (settled.length === 0 && ends.some(({ status }) => status === NOT_PROCESSABLE)) return undefined;
  return { count: settled.length, amountMinor: sumMinor(settled.map(({ amountMinor }) => amountMinor)) };
}

async function countExecuted(
  tx: EmployerTransaction,
  action: AttentionActionRow,
  refused: readonly Refused[],
): Promise<void> {
  await tx.query(
    `UPDATE forgotten_instruction f SET action_id = $3, executed_payments = e.payments, executed_minor = e.minor
     FROM unnest($2::text[], $4::int[], $5::bigint[]) AS e(id, payments, minor)
     WHERE f.employer_id = $1 AND f.bank_instruction_id = e.id AND f.adopted_at IS NULL AND f.action_id IS NULL`,
    [
      tx.employerId,
      refused.map(({ id }) => id),
      action.id,
      refused.map(({ executed }) => executed?.count ?? null),
      refused.map(({ executed }) => executed?.amountMinor ?? null),
    ],
  );
}

/** The instruction that others submitted, or what people have read that a restored database forgot of a run. */
async function subjectsOf(
  tx: EmployerTransaction,
  { instructionId, payRunId, subjectId, happened }: Attention,
): Promise<Forgotten[]> {
  if (instructionId !== null) {
    const { employerId } = tx;
    const own = await tx.manager.findOneByOrFail(Instruction, { employerId, id: instructionId });
    const bankInstructionId = own.bankInstructionId ?? '';
    const asked = { bankInstructionId, instructionId, payRunId: own.payRunId, reference: undefined };
    return [{ ...asked, isSaidExecuted: false }];
  }
  const left = await leftOf(tx, payRunId === null ? [] : [payRunId]);
  return left
    .filter((one) => subjectOf(one) === subjectId && happened.includes(quoted(one.id)))
    .map((one) => ({
      bankInstructionId: one.id,
      instructionId: one.instruction ?? undefined,
      payRunId: one.run,
      reference: one.reference ?? undefined,
      isSaidExecuted: false,
    }));
}

/** What a restored database forgot of a run, and was neither taken back nor decided. */
interface Left {
  id: string;
  run: string;
  instruction: string | null;
  reference: string | null;
  /** As the check after the restore found it. */
  status: string;
  /** In which it was shown as submitted since, where no document names that. */
  submittedAs: string | null;
  runStatus: PayRunStatus;
  /** Of the instruction that was approved, where the record has it; of its run else. */
  payments: number;
  minor: string;
  ofRun: { payments: number; minor: string };
}

async function leftOf(tx: EmployerTransaction, payRunIds: readonly string[]): Promise<Left[]> {
  return tx.query<Left>(
    `SELECT f.bank_instruction_id AS id, r.id AS run, f.instruction_id AS instruction, f.reference,
       f.bank_status AS status, f.submitted_as AS "submittedAs", r.status AS "runStatus",
       coalesce(l.row_count, r.row_count) AS payments, coalesce(l.total_minor, r.total_minor) AS minor,
       jsonb_build_object('payments', r.row_count, 'minor', r.total_minor::text) AS "ofRun"
     FROM forgotten_instruction f JOIN pay_run r ON r.employer_id = f.employer_id AND r.id = f.pay_run_id
     LEFT JOIN instruction i ON i.employer_id = f.employer_id AND i.id = f.instruction_id
     LEFT JOIN planned_instruction l ON l.employer_id = i.employer_id AND l.id = i.planned_instruction_id
     WHERE f.employer_id = $1 AND f.pay_run_id = ANY ($2) AND f.adopted_at IS NULL AND f.action_id IS NULL
     ORDER BY f.found_at, f.bank_instruction_id`,
    [tx.employerId, payRunIds],
  );
}

/** What no document says was submitted is asked about by itself: the bank may say of one that it was, and not of another. */
function subjectOf({ id, run, status }: Left): string {
  return isUndocumented(status) ? subjectOfForgotten(id) : run;
}

/** What the record of a submit by others rests on; where a restore explains it, it rests on that. */
async function keep(
  tx: EmployerTransaction,
  action: AttentionActionRow,
  { bankInstructionId, instructionId, payRunId }: Forgotten,
  status?: string,
): Promise<void> {
  await tx.query(
    `INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, pay_run_id, instruction_id, bank_status, action_id)
     SELECT employer_id, $2, $3, id, coalesce($5, bank_status, 'not shown'), $6 FROM instruction
     WHERE employer_id = $1 AND id = $4 ON CONFLICT DO NOTHING`,
    [tx.employerId, bankInstructionId, payRunId, instructionId, status ?? null, action.id],
  );
}

function notAsApproved(refused: readonly { id: string; why: string }[]): DomainError {
  const shown = refused.map(({ id, why }) => `${id}: ${why}`).join('; ');
  const next = 'Have the bank say in writing what of it was executed, and give its reference as evidence.';
  return new DomainError('NOT_AS_APPROVED', `It is not taken over (${shown}). ${next}`);
}

/** So that no id is part of another. */
function quoted(bankInstructionId: string): string {
  return `"${bankInstructionId}"`;
}

const UNREAD = `The bank was not read: ${OTHER_UNIT}. Set it as it was, or check the unit of the account anew, and confirm again.`;

const SETTLED = 'it was taken back into the record, or two people have decided it';

const NOBODY_KNOWS =
  'Whether it was submitted nobody knows. Nothing is sent for the same rows, and its run is not paid again. EXECUTED takes the bank’s written word. Where that is that it was not, cancel the run as long as that can be, which takes that word once more in ROW_UNSEEN while the bank shows it so, and upload the rows of those who were not paid: each is held until an approver releases it. This stays open all the same: the bank may go on with it still.';

const SUBMITTED_SINCE =
  'People were asked before whether it was submitted, and may have gone on as if it was not. Nothing more is sent for the same rows. No run pays them but one in which an approver has released them since: stop that one.';

const NOT_SENT_ON = 'The run is not sent on before this is decided.';

const AS_SUBMITTED = ' as submitted';

const OVER =
  'The run goes on no more, and nobody whom it paid is paid again by itself. Once this is decided on the written word of the bank, what it executed is counted beside the payments of the run as soon as it shows each as it was approved, and as settled or ended unpaid: until then, and where one came back, it stays a doubt of its report, and only the bank is waited for: nobody decides it again.';

/**
 * After submits of runs were, or were not, taken back: people are asked about what is left of a run that can only go on, or
 * is over, and of any run about each that may not have been submitted; about the others no more.
 */
export async function tellUnrecorded(tx: EmployerTransaction, payRunIds: readonly string[]): Promise<void> {
  const asked = await askedOf(tx, payRunIds);
  const subjects = [...new Set(asked.map(subjectOf))];
  for (const subjectId of subjects)
    await raiseLeft(
      tx,
      subjectId,
      asked.filter((one) => subjectOf(one) === subjectId),
    );
  await clearSettled(tx, payRunIds, asked);
}

/** What is left of runs that people are to be asked about. */
async function askedOf(tx: EmployerTransaction, payRunIds: readonly string[]): Promise<Left[]> {
  const left = await leftOf(tx, payRunIds);
  return left.filter(({ runStatus, status }) => ASKED_OF.includes(runStatus) || isUndocumented(status));
}

/** Closes what people are asked about runs and is not left any more, but for one question. */
async function clearSettled(
  tx: EmployerTransaction,
  payRunIds: readonly string[],
  asked: readonly Left[],
  exceptId: string | null = null,
): Promise<void> {
  await tx.query(
    `UPDATE attention a SET resolved_at = clock_timestamp(), resolution = $6
     WHERE a.employer_id = $1 AND a.kind = 'UNRECORDED_SUBMIT' AND a.resolved_at IS NULL AND a.pay_run_id = ANY ($2)
       AND a.id IS DISTINCT FROM $5
       AND CASE WHEN a.instruction_id IS NULL THEN a.subject_id <> ALL ($3) ELSE EXISTS (SELECT FROM instruction i
         WHERE i.employer_id = $1 AND i.id = a.instruction_id AND (i.status <> ALL ($4)
           OR EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = $1 AND f.action_id IS NOT NULL
             AND f.adopted_at IS NULL AND f.bank_instruction_id = i.bank_instruction_id))) END`,
    [tx.employerId, payRunIds, asked.map(subjectOf), INSTRUCTION_UNSENT, exceptId, SETTLED],
  );
}

async function raiseLeft(tx: EmployerTransaction, subjectId: string, left: readonly Left[]): Promise<void> {
  const [one] = left;
  if (one === undefined) return;
  const ids = left.map(({ id }) => id);
  const named = ids.map(quoted);
  const isAlone = isUndocumented(one.status);
  const isOpen = isAlone && one.submittedAs === null;
  const { payments, minor } = isAlone ? one : one.ofRun;
  const isOver = ASKED_OF.includes(one.runStatus) && one.runStatus !== 'SUBMITTING';
  const alarm = {
    kind: 'UNRECORDED_SUBMIT',
    subjectId,
    payRunId: one.run,
    bankReference: ids.join(', '),
    payments,
    amountMinor: BigInt(minor),
    ...(isOpen ? undocumented(one, isOver) : { happened: submitted(named, one.runStatus, isOver) }),
    ...(isAlone && !isOpen && { certain: SUBMITTED_SINCE }),
  } as const;
  await raiseNaming(tx, alarm, [...named, isOpen ? shownAs(one.status) : AS_SUBMITTED]);
}

function submitted(named: readonly string[], status: PayRunStatus, isOver: boolean): string {
  return `The bank shows ${named.join(', ')}${AS_SUBMITTED}. A restored database had forgotten that, and it could not be taken back. ${isOver ? OVER : status === 'SUBMITTING' ? 'The run is not sent on, and does not end, before this is decided.' : NOT_SENT_ON}`;
}

function undocumented(
  { id, status }: Left,
  isOver: boolean,
): Record<'happened' | 'certain' | 'askBank', string> {
  return {
    happened: `This may have been submitted: the bank shows ${quoted(id)} ${shownAs(status)}. ${isOver ? OVER : NOT_SENT_ON}`,
    certain: NOBODY_KNOWS,
    askBank: WAS_IT_SUBMITTED,
  };
}
