import { Injectable } from '@nestjs/common';
import { isNotShown, NotFound, ReadFails } from '../bank/errors';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { DomainError } from '../domain/errors';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { readToDecide } from '../employer/bank-problem';
import type { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { clear, raiseUndecided } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { lockInstruction } from '../pay-run/instruction.store';
import { lockRun } from '../pay-run/pay-run.store';
import { Forgotten, Look, RestoreAdoption } from './restore-adoption';

/** A submit that is not in the record, with what the bank shows of it; in words where that cannot be taken over. */
export interface Unrecorded {
  forgotten: Forgotten;
  look: Look | string | undefined;
}

/**
 * What two people do about submits that the bank shows and the record lacks, in a run that can only go on: somebody else
 * submitted an instruction of it, or a restored database has forgotten that it was submitted. What is as it was approved
 * is taken over and followed; of the rest nothing is paid again.
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
   * so that its run ends at the cut-off and pays nobody of it again.
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
    const refused: { id: string; why: string }[] = [];
    for (const one of all) {
      const why = await this.takeOne(tx, action, one, attention.instructionId !== null);
      if (why !== undefined) refused.push({ id: one.forgotten.bankInstructionId, why });
    }
    if (refused.length === 0) return;
    if (action.evidence === null) throw notAsApproved(refused);
    if (attention.instructionId !== null) for (const { forgotten } of all) await keep(tx, action, forgotten);
    await tx.query(
      `UPDATE forgotten_instruction SET action_id = $3
       WHERE employer_id = $1 AND bank_instruction_id = ANY ($2) AND adopted_at IS NULL AND action_id IS NULL`,
      [tx.employerId, refused.map(({ id }) => id), action.id],
    );
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

/** The instruction that others submitted, or all that a restored database forgot of a run. */
async function subjectsOf(
  tx: EmployerTransaction,
  { instructionId, payRunId }: Attention,
): Promise<Forgotten[]> {
  if (instructionId !== null) {
    const { employerId } = tx;
    const own = await tx.manager.findOneByOrFail(Instruction, { employerId, id: instructionId });
    const bankInstructionId = own.bankInstructionId ?? '';
    return [{ bankInstructionId, instructionId, payRunId: own.payRunId, reference: undefined }];
  }
  const rows = await tx.query<{ id: string; instruction: string | null; reference: string | null }>(
    `SELECT bank_instruction_id AS id, instruction_id AS instruction, reference FROM forgotten_instruction
     WHERE employer_id = $1 AND pay_run_id = $2 AND adopted_at IS NULL ORDER BY found_at, bank_instruction_id`,
    [tx.employerId, payRunId],
  );
  return rows.map(({ id, instruction, reference }) => ({
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

/**
 * After submits of runs were, or were not, taken back: people are asked about what is left of a run that can only go on,
 * and about the others no more.
 */
export async function tellUnrecorded(tx: EmployerTransaction, payRunIds: readonly string[]): Promise<void> {
  const runs = await tx.query<{ id: string; payments: number; minor: string; left: string[] }>(
    `SELECT r.id, r.row_count AS payments, r.total_minor AS minor,
       array_agg(f.bank_instruction_id ORDER BY f.found_at, f.bank_instruction_id) AS left
     FROM forgotten_instruction f JOIN pay_run r ON r.employer_id = f.employer_id AND r.id = f.pay_run_id
     WHERE f.employer_id = $1 AND f.pay_run_id = ANY ($2) AND f.adopted_at IS NULL AND f.action_id IS NULL
       AND r.status = 'SUBMITTING' GROUP BY r.id, r.row_count, r.total_minor`,
    [tx.employerId, payRunIds],
  );
  for (const { id, payments, minor, left } of runs) {
    const ids = left.join(', ');
    await raiseUndecided(tx, {
      kind: 'UNRECORDED_SUBMIT',
      subjectId: id,
      payRunId: id,
      happened: `The bank shows ${ids} as submitted. A restored database had forgotten that, and it could not be taken back. The run is not sent on, and does not end, before this is decided.`,
      bankReference: ids,
      payments,
      amountMinor: BigInt(minor),
    });
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
