import { IsNull, Not } from 'typeorm';
import { EmployerTransaction } from '../database/database';
import { wakeAll } from '../database/leases';
import { Attention } from './attention.entity';
import { raise } from './attention.store';
import type { AttentionKind } from './attention-words';
import { Instruction, PlannedInstruction } from './instruction.entity';

/** Throws the switch that stops every submit of every employer. */
export async function stopEverything(tx: EmployerTransaction, reason: string): Promise<void> {
  await tx.query(
    `UPDATE service_switch SET submits_off = true, reason = $1, changed_at = clock_timestamp() WHERE NOT submits_off`,
    [reason],
  );
}

/** A submitted instruction holds something else than was approved: everything stops and a person is told. */
export async function totalsDiffer(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
): Promise<void> {
  await raise(tx, {
    kind: 'TOTAL_MISMATCH_AFTER_SUBMIT',
    subjectId: instruction.id,
    payRunId: instruction.payRunId,
    instructionId: instruction.id,
    bankReference: instruction.bankInstructionId,
    payments: planned.rowCount,
    amountMinor: planned.totalMinor,
    happened: 'After the submit the bank shows another count or sum than was approved.',
  });
  await stopEverything(tx, 'TOTAL_MISMATCH_AFTER_SUBMIT');
}

/** The kinds of attention that throw the switch of everything; the switch names the kind as its reason. */
const STOPS_EVERYTHING: readonly AttentionKind[] = [
  'INVARIANT_BREACH',
  'TOTAL_MISMATCH_AFTER_SUBMIT',
  'FOREIGN_RECORD',
];

/**
 * Takes back the stop that an attention threw, and no other: of its run, and, when it is the last open one of its kind,
 * of its employer and of everything.
 */
export async function resumeAfter(
  tx: EmployerTransaction,
  attention: Pick<Attention, 'id' | 'kind' | 'payRunId'>,
): Promise<void> {
  await tx.query(
    `UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, attention.payRunId],
  );
  wakeAll(tx, tx.employerId);
  const others = await tx.manager.countBy(Attention, {
    employerId: tx.employerId,
    kind: attention.kind,
    resolvedAt: IsNull(),
    id: Not(attention.id),
  });
  if (others > 0) return;
  await tx.query(
    `UPDATE employer SET stopped_at = NULL, stopped_reason = NULL WHERE id = $1 AND stopped_reason = $2`,
    [tx.employerId, attention.kind],
  );
  if (!STOPS_EVERYTHING.includes(attention.kind)) return;
  await tx.query(
    `UPDATE service_switch SET submits_off = false, reason = NULL, changed_at = clock_timestamp()
     WHERE submits_off AND reason = $1`,
    [attention.kind],
  );
}
