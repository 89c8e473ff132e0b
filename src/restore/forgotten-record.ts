import type { BankGateway } from '../bank/gateway';
import type { BankInstruction } from '../bank/records';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { SubmitAttempt } from '../pay-run/instruction.entity';
import { moveInstruction } from '../pay-run/instruction.store';
import type { SeenPayment } from '../pay-run/match';
import { movePaymentSet } from '../pay-run/payment.store';
import { resumeRepayingRun } from '../pay-run/stop';
import { intendAdds } from '../submission/add-record';
import { BATCH_ROWS } from '../submission/add-window';
import { addOf, initiateOf, referenceOf } from '../submission/prepared-calls';
import { recordExecuted } from '../submission/submit-record';
import { RowsChanged } from '../submission/tampering';
import type { PayableRow, Work } from '../submission/work';

/**
 * Writes down what was sent without a record of it, as the bank shows it: each call with the bytes it must have had, and
 * each move of a state, in the order they once happened. Nothing is sent.
 */
export class ForgottenRecord {
  constructor(
    private readonly tx: EmployerTransaction,
    private readonly gateway: BankGateway,
    private readonly personal: PersonalData,
    private readonly work: Work,
    /** Beside every line that is written after the fact. */
    private readonly evidence: string,
  ) {}

  /** Up to VERIFIED. The rows are matched each with the payment the bank shows of it. */
  async build(
    bank: { bankInstructionId: string; reference: string | undefined },
    rows: readonly PayableRow[],
    matched: ReadonlyMap<number, SeenPayment>,
    at: Date,
  ): Promise<void> {
    const { tx, work } = this;
    const { instruction, planned, run } = work;
    if (instruction.status === 'PLANNED') {
      await moveInstruction(tx, instruction, 'BUILDING', 'service', {}, this.evidence);
      const set = { payRunId: run.id, planned, from: 'APPROVED', to: 'AT_BANK', actor: 'service' } as const;
      if ((await movePaymentSet(tx, set)).count !== planned.rowCount) throw new RowsChanged();
    }
    if (instruction.bankInstructionId === null) await this.initiated(bank);
    await tx.query(
      `UPDATE add_intent SET finished_at = clock_timestamp()
       WHERE employer_id = $1 AND instruction_id = $2 AND finished_at IS NULL`,
      [tx.employerId, instruction.id],
    );
    await this.added(
      rows.filter(({ bankPaymentId }) => bankPaymentId === null),
      matched,
    );
    if (instruction.status === 'BUILDING')
      await moveInstruction(tx, instruction, 'VERIFIED', 'service', { verifiedAt: at }, this.evidence);
  }

  /** VERIFIED to SUBMITTED; the run must be in SUBMITTING. */
  async submit(shown: BankInstruction | undefined, at: Date): Promise<void> {
    const { tx, work } = this;
    const { instruction, planned } = work;
    const prepared = this.gateway.prepareSubmit(instruction.bankInstructionId ?? '');
    await moveInstruction(tx, instruction, 'SUBMIT_INTENT', 'service', {}, this.evidence);
    await tx.manager.insert(SubmitAttempt, {
      employerId: tx.employerId,
      id: newId(),
      plannedInstructionId: planned.id,
      instructionId: instruction.id,
      bankInstructionId: prepared.bankInstructionId,
      rowHash: planned.rowHash,
      epoch: 0n,
      outcome: 'EXECUTED',
      outcomeDetail: this.evidence,
    });
    await this.called('submit', prepared.path, prepared.bodyHash);
    await tx.query(
      `UPDATE forgotten_instruction SET adopted_at = clock_timestamp()
       WHERE employer_id = $1 AND bank_instruction_id = $2`,
      [tx.employerId, prepared.bankInstructionId],
    );
    await recordExecuted(tx, work, instruction, shown, { evidence: this.evidence, at });
    await resumeRepayingRun(tx, work.run.id);
  }

  private async initiated(bank: { bankInstructionId: string; reference: string | undefined }): Promise<void> {
    const { tx, gateway, personal, work } = this;
    const { instruction } = work;
    const reference = bank.reference?.toLowerCase() ?? referenceOf(work, 1);
    const { path, bodyHash } = initiateOf(gateway, personal, work, reference);
    await this.called('initiate', path, bodyHash);
    await tx.query(`UPDATE instruction SET bank_instruction_id = $3 WHERE employer_id = $1 AND id = $2`, [
      tx.employerId,
      instruction.id,
      bank.bankInstructionId,
    ]);
    instruction.bankInstructionId = bank.bankInstructionId;
  }

  private async added(rows: readonly PayableRow[], matched: ReadonlyMap<number, SeenPayment>): Promise<void> {
    for (let from = 0; from < rows.length; from += BATCH_ROWS)
      await this.addedTogether(rows.slice(from, from + BATCH_ROWS), matched);
  }

  /** Not how far the bank has got with them: that is left to those who follow them, each status with its move. */
  private async addedTogether(
    rows: readonly PayableRow[],
    matched: ReadonlyMap<number, SeenPayment>,
  ): Promise<void> {
    const { tx, work } = this;
    const prepared = rows.map((row) => addOf(this.gateway, work, row));
    await intendAdds(tx, work, rows, prepared, { epoch: '0', finished: true });
    const rowNos = rows.map(({ rowNo }) => rowNo);
    const seen = rowNos.map((rowNo) => matched.get(rowNo));
    await tx.query(
      `INSERT INTO bank_payment AS b (employer_id, instruction_id, row_no, payment_id, bank_payment_id,
         bank_transaction_id, add_outcome, last_seen_at)
       SELECT $1, $2, r.row_no, r.payment_id, r.bank_payment_id, r.bank_transaction_id, 'ADOPTED', clock_timestamp()
       FROM unnest($3::int[], $4::uuid[], $5::text[], $6::text[])
         AS r(row_no, payment_id, bank_payment_id, bank_transaction_id)
       ON CONFLICT (employer_id, instruction_id, row_no) DO UPDATE SET add_outcome = 'ADOPTED',
         bank_payment_id = excluded.bank_payment_id, bank_transaction_id = excluded.bank_transaction_id,
         last_seen_at = excluded.last_seen_at`,
      [
        tx.employerId,
        work.instruction.id,
        rowNos,
        rows.map(({ paymentId }) => paymentId),
        seen.map((one) => one?.bankPaymentId ?? null),
        seen.map((one) => one?.ids[1] ?? null),
      ],
    );
  }

  private async called(operation: 'initiate' | 'submit', target: string, bodyHash: Buffer): Promise<void> {
    await this.tx.query(
      `INSERT INTO bank_call (employer_id, id, operation, instruction_id, target, body_hash, attempt, epoch,
         outcome, outcome_detail, finished_at)
       VALUES ($1, $2, $3, $4, $5, $6, 1, 0, 'YES', $7, clock_timestamp())`,
      [this.tx.employerId, newId(), operation, this.work.instruction.id, target, bodyHash, this.evidence],
    );
  }
}
