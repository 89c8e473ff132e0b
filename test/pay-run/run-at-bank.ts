import { EmployerTransaction } from '../../src/database/database';
import { BANK_LADDER, readBankStatus, TERMINAL_RANK } from '../../src/domain/bank-status';
import { PaymentStatus } from '../../src/domain/payment';
import { approve } from '../../src/pay-run/approval';
import { Instruction, PlannedInstruction } from '../../src/pay-run/instruction.entity';
import {
  endUnsubmitted,
  moveInstruction,
  planAttempt,
  plannedInstructions,
  planOf,
} from '../../src/pay-run/instruction.store';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { lockRun, moveRun } from '../../src/pay-run/pay-run.store';
import { Payment } from '../../src/pay-run/payment.entity';
import { movePayments, movePaymentSet } from '../../src/pay-run/payment.store';
import { newId } from '../../src/database/new-id';
import { Company, PayOffice } from './pay-office';

/** What the bank says of a payment in the end, and what we make of it. */
export const FATES = {
  EXCHANGED: 'SUBMITTED',
  WAREHOUSED: 'SUBMITTED',
  NEVER_HEARD_OF: 'SUBMITTED',
  SETTLED: 'SETTLED',
  RETURNED: 'SETTLED',
  PRO_ROUTING_FAILED: 'FAILED',
  EXT_REFUSED: 'REJECTED',
  CANCELLED: 'CANCELLED',
} as const satisfies Record<string, PaymentStatus>;
export type Fate = keyof typeof FATES;

/** What the bank shows as its charge of a payment that ended, paid or not, in cents. */
export const CHARGE_MINOR = 15n;

/** Takes a run through the record's own functions as the workers do, without a bank. */
export class RunAtBank {
  private constructor(
    private readonly office: PayOffice,
    private readonly company: Company,
    readonly run: PayRun,
  ) {}

  static async approved(office: PayOffice, company: Company, run: PayRun): Promise<RunAtBank> {
    await office.in(company, async (tx) => {
      const locked = await lockRun(tx, run.id);
      const rootHash = locked.rootHash?.toString('hex') ?? '';
      await approve(tx, office.personal, locked, company.approver.personId, {
        rootHash,
        totalMinor: locked.totalMinor,
      });
    });
    return new RunAtBank(office, company, run);
  }

  /** Takes a run of one instruction to its end: the fates in row order, SETTLED for the rest. */
  static async ended(
    office: PayOffice,
    company: Company,
    run: PayRun,
    inOrder: readonly Fate[] = [],
  ): Promise<PayRun> {
    const atBank = await RunAtBank.followed(office, company, run, inOrder);
    await atBank.move(inOrder.some((fate) => fate !== 'SETTLED') ? 'PARTLY_SETTLED' : 'SETTLED');
    return run;
  }

  /** The one instruction of a run, and the ids of its payments in row order. */
  static instructionOf(
    office: PayOffice,
    company: Company,
    { id: payRunId }: PayRun,
  ): Promise<{ instruction: Instruction; ids: string[] }> {
    return office.in(company, async ({ manager }) => {
      const instruction = await manager.findOneByOrFail(Instruction, { payRunId });
      const payments = await manager.find(Payment, { where: { payRunId }, order: { rowNo: 'ASC' } });
      return { instruction, ids: payments.map(({ id }) => id) };
    });
  }

  /** The same, while the run is FOLLOWING. */
  static async followed(
    office: PayOffice,
    company: Company,
    run: PayRun,
    inOrder: readonly Fate[] = [],
  ): Promise<RunAtBank> {
    const atBank = await RunAtBank.approved(office, company, run);
    await atBank.start();
    await atBank.build(1);
    await atBank.move('VERIFIED', 'SUBMITTING');
    await atBank.instruction(1, 'SUBMIT_INTENT', 'SUBMITTED');
    await atBank.fates(await atBank.submitted(inOrder));
    await atBank.move('FOLLOWING');
    return atBank;
  }

  /** Plans an instruction for every part of the standing version. */
  start(): Promise<void> {
    return this.work(async (tx, run) => {
      await moveRun(tx, run, 'BUILDING', 'service');
      for (const planned of await plannedInstructions(tx, run)) await planAttempt(tx, planned, 1);
    });
  }

  /** Builds the n-th instruction (from 1): the first `added` of its rows, or all and VERIFIED. */
  build(ordinal: number, added?: number): Promise<void> {
    return this.work(async (tx, run) => {
      const { instruction, planned } = await live(tx, run, ordinal);
      await moveInstruction(tx, instruction, 'BUILDING', 'service', { bankInstructionId: newId() });
      await movePaymentSet(tx, {
        payRunId: run.id,
        planned,
        from: 'APPROVED',
        to: 'AT_BANK',
        actor: 'service',
      });
      await tx.query(
        `INSERT INTO bank_payment (employer_id, instruction_id, row_no, payment_id, bank_payment_id, add_outcome,
           bank_status)
         SELECT employer_id, $2, row_no, id, gen_random_uuid(), 'ADDED', 'INITIATED' FROM payment
         WHERE employer_id = $1 AND pay_run_id = $3 AND row_no BETWEEN $4 AND $5 AND status = 'AT_BANK'
         ORDER BY row_no LIMIT $6`,
        [tx.employerId, instruction.id, run.id, planned.firstRow, planned.lastRow, added ?? null],
      );
      if (added === undefined)
        await moveInstruction(tx, instruction, 'VERIFIED', 'service', { verifiedAt: new Date() });
    });
  }

  /** Abandons the n-th instruction and plans its next attempt. */
  rebuild(ordinal: number): Promise<void> {
    return this.work(async (tx, run) => {
      const { instruction, planned } = await live(tx, run, ordinal);
      await endUnsubmitted(tx, instruction, 'service', 'an add was in doubt');
      await planAttempt(tx, planned, instruction.attempt + 1);
    });
  }

  move(...path: PayRun['status'][]): Promise<void> {
    return this.work(async (tx, run) => {
      for (const status of path) await moveRun(tx, run, status, 'service');
    });
  }

  /** Takes the n-th instruction along: its payments follow when it is submitted, void or released. */
  instruction(ordinal: number, ...path: Instruction['status'][]): Promise<void> {
    return this.work(async (tx, run) => {
      const { instruction, planned } = await live(tx, run, ordinal);
      for (const status of path) {
        if (status === 'VOID') await this.declared(tx, instruction);
        await moveInstruction(tx, instruction, status, 'service');
      }
      const last = path.at(-1);
      const to =
        last === 'SUBMITTED' ? 'SUBMITTED' : last === 'VOID' || last === 'RELEASED' ? 'VOID' : undefined;
      if (to) await movePaymentSet(tx, { payRunId: run.id, planned, from: 'AT_BANK', to, actor: 'service' });
    });
  }

  /** What the bank says of submitted payments, by row number. */
  fates(byRow: ReadonlyMap<number, Fate>): Promise<void> {
    return this.work(async (tx, run) => {
      for (const [rowNo, fate] of byRow) {
        await tx.query(
          `UPDATE bank_payment b SET bank_status = $3, bank_rank = $4, bank_status_at = now() FROM instruction i
           WHERE b.employer_id = $1 AND i.employer_id = b.employer_id AND i.id = b.instruction_id
             AND i.pay_run_id = $2 AND i.status = 'SUBMITTED' AND b.row_no = $5`,
          [tx.employerId, run.id, fate, rankOf(fate), rowNo],
        );
        const { id } = await tx.manager.findOneByOrFail(Payment, { payRunId: run.id, rowNo });
        const to = FATES[fate];
        const settledOn = to === 'SETTLED' ? '2026-11-27' : undefined;
        if (to !== 'SUBMITTED') {
          await movePayments(
            tx,
            run.id,
            'SUBMITTED',
            [{ paymentId: id, to, settledOn, chargesMinor: CHARGE_MINOR }],
            'service',
          );
        }
        if (fate === 'RETURNED') await tx.query('UPDATE payment SET returned_at = now() WHERE id = $1', [id]);
      }
    });
  }

  /** Of fates in row order, those of rows that were submitted. */
  async submitted(inOrder: readonly Fate[]): Promise<Map<number, Fate>> {
    const rows = await this.office.query<{ row_no: number }>(
      this.company,
      `SELECT row_no FROM payment WHERE pay_run_id = $1 AND status = 'SUBMITTED' ORDER BY row_no`,
      [this.run.id],
    );
    return new Map(rows.map(({ row_no: rowNo }) => [rowNo, inOrder[rowNo - 1] ?? 'SETTLED']));
  }

  /** Two people say that its submit was not executed. */
  private async declared(tx: EmployerTransaction, { id, payRunId }: Instruction): Promise<void> {
    const attentionId = newId();
    await tx.query(
      `INSERT INTO attention (employer_id, id, kind, pay_run_id, instruction_id, subject_id, happened, certain,
         ask_bank, resolved_at, resolution)
       VALUES ($1, $2, 'SUBMIT_UNKNOWN', $3, $4, $4, 'no answer', 'nothing', 'whether', now(), 'NOT_EXECUTED')`,
      [tx.employerId, attentionId, payRunId, id],
    );
    await tx.query(
      `INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by,
         confirmed_at) VALUES ($1, $2, $3, 'NOT_EXECUTED', 'the bank says so', $4, $5, now())`,
      [tx.employerId, newId(), attentionId, this.company.preparer.personId, this.company.approver.personId],
    );
  }

  private work(work: (tx: EmployerTransaction, run: PayRun) => Promise<void>): Promise<void> {
    return this.office.in(this.company, async (tx) => work(tx, await lockRun(tx, this.run.id)));
  }
}

async function live(
  tx: EmployerTransaction,
  run: PayRun,
  ordinal: number,
): Promise<{ instruction: Instruction; planned: PlannedInstruction }> {
  const all = await tx.manager.findBy(Instruction, { employerId: tx.employerId, payRunId: run.id });
  for (const instruction of all.filter(({ status }) => status !== 'ABANDONED')) {
    const planned = await planOf(tx, instruction);
    if (planned.ordinal === ordinal && planned.runVersion === run.runVersion) return { instruction, planned };
  }
  throw new Error(`no live instruction ${ordinal}`);
}

function rankOf(status: string): number {
  const reading = readBankStatus(status);
  if (reading.kind === 'progress') return reading.rank;
  return reading.kind === 'terminal' || reading.kind === 'returned' ? TERMINAL_RANK : BANK_LADDER.SUBMITTED;
}
