import { Injectable } from '@nestjs/common';
import { isNotShown, NotFound, ReadFails } from '../bank/errors';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { NOT_PROCESSABLE, readBankStatus, standingOf } from '../domain/bank-status';
import { DomainError } from '../domain/errors';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { sumMinor } from '../domain/money';
import { PAY_RUN_SUBMITTED, PayRunStatus } from '../domain/pay-run';
import type { CountAndSum } from '../domain/reconciliation';
import { readToDecide } from '../employer/bank-problem';
import type { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { clear, raiseNaming } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { lockInstruction } from '../pay-run/instruction.store';
import { lockRun } from '../pay-run/pay-run.store';
import { Forgotten, Look, RestoreAdoption } from './restore-adoption';

/** Of runs that are neither approved nor cancelled any more people are asked about what is not taken back. */
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

  /** Reads at the bank what an attention is about. @throws Problem 503 while the bank cannot be read */
  async read(employerId: string, attention: Attention): Promise<Unrecorded[]> {
    const all = await this.database.inEmployer(employerId, (tx) => subjectsOf(tx, attention));
    const read: Unrecorded[] = [];
    for (const forgotten of all) read.push({ forgotten, look: await this.lookAt(employerId, forgotten) });
    return read;
  }

  private lookAt(employerId: string, forgotten: Forgotten): Promise<Unrecorded['look']> {
    return readToDecide(() =>
      this.adoption.look(employerId, forgotten).catch((error: unknown) => {
        if (error instanceof NotFound) return 'the bank does not show it';
        if (isNotShown(error) || error instanceof ReadFails) return 'the bank does not let it be read';
        throw error;
      }),
    );
  }

  /**
   * Takes over what the bank shows as it was approved. Otherwise the bank's written reference is needed: with it what was
   * verified before is followed all the same and everything stops, and of the rest it is written down that it was executed,
   * and how much where the bank shows how every payment ended, so that its run ends at the cut-off and pays nobody of it again.
   * @throws DomainError NOT_AS_APPROVED, which says what differs
   */
  async takeOver(
    tx: EmployerTransaction,
    attention: Attention,
    action: AttentionActionRow,
    all: readonly Unrecorded[],
  ): Promise<void> {
    // As everything locks them: whoever reads at this moment that it moved asks before this is decided, or sees that it was.
    if (attention.payRunId !== null) await lockRun(tx, attention.payRunId);
    if (attention.instructionId !== null) await lockInstruction(tx, attention.instructionId);
    const refused: Refused[] = [];
    for (const one of all) {
      const why = await this.takeOne(tx, action, one, attention.instructionId !== null);
      const id = one.forgotten.bankInstructionId;
      if (why !== undefined) refused.push({ id, why, executed: executedOf(one.look) });
    }
    if (refused.length === 0) return;
    if (action.evidence === null) throw notAsApproved(refused);
    if (attention.instructionId !== null) for (const { forgotten } of all) await keep(tx, action, forgotten);
    await countExecuted(tx, action, refused);
    if (attention.payRunId !== null) wake(tx, 'RUN', tx.employerId, [attention.payRunId]);
  }

  /** @returns why it is not taken over */
  private async takeOne(
    tx: EmployerTransaction,
    action: AttentionActionRow,
    { forgotten, look }: Unrecorded,
    byOthers: boolean,
  ): Promise<string | undefined> {
    if (look === undefined || typeof look === 'string') return look;
    const { submitted } = look.evidence;
    if (byOthers) await keep(tx, action, forgotten, submitted);
    return this.adoption.record(tx, look, {
      evidence: `two people: ${action.reason}`,
      cause: 'It was submitted without a submit in the record',
      mayDiffer: action.evidence !== null,
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
  { instructionId, payRunId, happened }: Attention,
): Promise<Forgotten[]> {
  if (instructionId !== null) {
    const { employerId } = tx;
    const own = await tx.manager.findOneByOrFail(Instruction, { employerId, id: instructionId });
    const bankInstructionId = own.bankInstructionId ?? '';
    return [{ bankInstructionId, instructionId, payRunId: own.payRunId, reference: undefined }];
  }
  const rows = await tx.query<{ id: string; instruction: string | null; reference: string | null }>(
    `SELECT bank_instruction_id AS id, instruction_id AS instruction, reference FROM forgotten_instruction
     WHERE employer_id = $1 AND pay_run_id = $2 AND adopted_at IS NULL AND action_id IS NULL ORDER BY found_at, bank_instruction_id`,
    [tx.employerId, payRunId],
  );
  const told = rows.filter(({ id }) => happened.includes(quoted(id)));
  return told.map(({ id, instruction, reference }) => ({
    bankInstructionId: id,
    instructionId: instruction ?? undefined,
    payRunId: payRunId ?? '',
    reference: reference ?? undefined,
  }));
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

const OVER =
  'The run goes on no more, and nobody whom it paid is paid again by itself. Once this is decided on the written word of the bank, what it executed is counted beside the payments of the run where it shows each as it was approved, and as settled or ended unpaid; else it stays a doubt of its report.';

/**
 * After submits of runs were, or were not, taken back: people are asked about what is left of a run that can only go on, or
 * is over, and about the others no more.
 */
export async function tellUnrecorded(tx: EmployerTransaction, payRunIds: readonly string[]): Promise<void> {
  const runs = await tx.query<{
    id: string;
    going_on: boolean;
    payments: number;
    minor: string;
    left: string[];
  }>(
    `SELECT r.id, r.status = 'SUBMITTING' AS going_on, r.row_count AS payments, r.total_minor AS minor,
       array_agg(f.bank_instruction_id ORDER BY f.found_at, f.bank_instruction_id) AS left
     FROM forgotten_instruction f JOIN pay_run r ON r.employer_id = f.employer_id AND r.id = f.pay_run_id
     WHERE f.employer_id = $1 AND f.pay_run_id = ANY ($2) AND f.adopted_at IS NULL AND f.action_id IS NULL
       AND r.status = ANY ($3) GROUP BY r.id, r.status, r.row_count, r.total_minor`,
    [tx.employerId, payRunIds, ASKED_OF],
  );
  for (const { id, going_on: isGoingOn, payments, minor, left } of runs) {
    const named = left.map(quoted);
    const alarm = {
      kind: 'UNRECORDED_SUBMIT',
      subjectId: id,
      payRunId: id,
      happened: `The bank shows ${named.join(', ')} as submitted. A restored database had forgotten that, and it could not be taken back. ${isGoingOn ? 'The run is not sent on, and does not end, before this is decided.' : OVER}`,
      bankReference: left.join(', '),
      payments,
      amountMinor: BigInt(minor),
    } as const;
    await raiseNaming(tx, alarm, named);
  }
  const taken = await tx.query<{ id: string }>(
    `SELECT a.subject_id AS id FROM attention a
     LEFT JOIN instruction i ON i.employer_id = a.employer_id AND i.id = a.instruction_id
     WHERE a.employer_id = $1 AND a.kind = 'UNRECORDED_SUBMIT' AND a.resolved_at IS NULL AND a.pay_run_id = ANY ($2)
       AND CASE WHEN i.id IS NULL THEN a.subject_id <> ALL ($3) ELSE i.status <> ALL ($4) END`,
    [tx.employerId, payRunIds, runs.map(({ id }) => id), INSTRUCTION_UNSENT],
  );
  const ids = taken.map(({ id }) => id);
  await clear(tx, ['UNRECORDED_SUBMIT'], ids, 'it was taken back into the record');
}
