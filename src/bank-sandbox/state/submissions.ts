import { conflict } from '../refusal';
import type { Variants } from '../variants';
import type { Agenda } from './agenda';
import type { Instructions } from './instructions';
import type { Processing } from './processing';
import type { InstructionInput, InstructionRecord, PaymentInput, PaymentRecord } from './records';
import {
  DIRECT_PASSED,
  FAILURES,
  INSTRUCTION_PASSED,
  instructionValid,
  WAITING_FOR,
} from './status-sequences';

/** What happens to an instruction from its submit until its payments are processed. */
export class Submissions {
  constructor(
    private readonly agenda: Agenda,
    private readonly instructions: Instructions,
    private readonly processing: Processing,
    private readonly variants: Pick<
      Variants,
      'submitRuns' | 'submitWaitsFor' | 'refusalEnds' | 'subIsValidRepeats'
    >,
  ) {}

  /** Accepts a submit; throws a refusal and changes nothing otherwise. */
  submit(instruction: InstructionRecord, atMs: number): InstructionRecord {
    const repeated = this.instructions.submit(instruction, atMs);
    if (repeated) this.processing.startAgain(instruction, atMs);
    else if (this.variants.submitRuns === 'at-once') this.check(instruction, atMs);
    else this.checkLater(instruction, atMs + this.agenda.stepMs);
    return instruction;
  }

  /** Accepts one instruction with one payment as a submit; throws a refusal and keeps nothing of it otherwise. */
  submitDirectly(
    input: { instruction: InstructionInput; payment: PaymentInput },
    atMs: number,
  ): PaymentRecord {
    const payment = this.instructions.submitDirectly(input.instruction, input.payment, atMs);
    if (payment.instruction) this.waitOrPass(payment.instruction, atMs);
    return payment;
  }

  /** Whoever was asked has agreed: the instruction goes on. Throws a 409 refusal when it does not wait. */
  release(instruction: InstructionRecord, atMs: number): InstructionRecord {
    requireWaiting(instruction);
    this.pass(instruction, atMs);
    return instruction;
  }

  /** Whoever was asked has not agreed: nothing of it is paid. Throws a 409 refusal when it does not wait. */
  refuse(instruction: InstructionRecord, atMs: number): InstructionRecord {
    requireWaiting(instruction);
    instruction.history.record('C_INSTRUCTION_SUB_NOT_PASSED', atMs);
    instruction.checkedAtMs = atMs;
    if (this.variants.refusalEnds === 'itself') return instruction;
    for (const { history } of instruction.payments)
      if (!FAILURES.has(history.current)) history.record('P_INSTRUCTION_SUB_NOT_PASSED', atMs);
    return instruction;
  }

  private checkLater(instruction: InstructionRecord, dueAtMs: number): void {
    const { account, payments } = instruction;
    this.agenda.add({
      dueAtMs,
      accountId: account.id,
      size: payments.length,
      run: () => this.check(instruction, dueAtMs),
    });
  }

  private check(instruction: InstructionRecord, atMs: number): void {
    instruction.history.recordAll(instructionValid(this.variants.subIsValidRepeats), atMs);
    this.waitOrPass(instruction, atMs);
  }

  private waitOrPass(instruction: InstructionRecord, atMs: number): void {
    const { submitWaitsFor } = this.variants;
    if (submitWaitsFor === 'nothing') this.pass(instruction, atMs);
    else instruction.history.record(WAITING_FOR[submitWaitsFor], atMs);
  }

  private pass(instruction: InstructionRecord, atMs: number): void {
    const { direct, history, payments } = instruction;
    history.recordAll(direct ? DIRECT_PASSED.instruction : INSTRUCTION_PASSED, atMs);
    if (direct) for (const payment of payments) payment.history.recordAll(DIRECT_PASSED.payment, atMs);
    instruction.checkedAtMs = atMs;
    this.processing.start(instruction, payments, atMs);
  }
}

const WAITING: ReadonlySet<string> = new Set(Object.values(WAITING_FOR));

function requireWaiting({ history }: InstructionRecord): void {
  if (!WAITING.has(history.current))
    throw conflict('INSTRUCTION_NOT_WAITING', 'the customer instruction waits for nobody');
}
