import { outcomeOf, type Outcome } from '../../src/bank/outcome';
import type { BankOutcome } from '../../src/domain/bank-status';
import { type SeenPayment, sumOf, type Totals } from '../../src/pay-run/match';
import type { ShownTotals } from '../../src/settlement/followed-totals';
import type { Random } from './random';
import { LAST_FAULT_MS, type Outside, type World } from './world';

/** The four calls that change something at the bank. */
export type Operation = 'initiate' | 'add' | 'submit' | 'delete';

/** A read that was not answered, or refused. */
export class Unreachable extends Error {}

export interface PaymentAtBank {
  id: string;
  messageId: string;
  amountMinor: bigint;
  iban: string;
  createdMs: number;
  ends: BankOutcome | 'PRO_DEBIT_HOLD_FAILED';
  /** How often its money moved. */
  moved: number;
}

export interface InstructionAtBank {
  id: string;
  createdMs: number;
  submittedMs: number | undefined;
  deletedMs: number | undefined;
  payments: PaymentAtBank[];
}

/** What a read of an instruction shows. */
export type SeenInstruction = ShownTotals & { calculatedCount: number; calculatedTotalMinor: bigint };

type Result<T> = { done: T } | { refused: number };
type Fault =
  | 'answer-lost'
  | 'request-lost'
  | 'late-commit'
  | '500-before'
  | '500-after'
  | 'redirect'
  | 'unsent'
  | '401'
  | '409'
  | '429'
  | '422'
  | '403';

const FAULTS: readonly [Fault, ...Fault[]] = [
  'answer-lost',
  'answer-lost',
  'answer-lost',
  'request-lost',
  'request-lost',
  'late-commit',
  'late-commit',
  'late-commit',
  '500-before',
  '500-after',
  '500-after',
  'redirect',
  'unsent',
  '401',
  '409',
  '429',
];
/** Refusals on purpose are rare: each asks for a person. */
const REFUSALS: readonly [Fault, ...Fault[]] = ['422', '403'];
const REFUSAL_SHARE = 0.03;
/** The bank stores or shows something else than it was sent in so many of the adds that go wrong. */
const ALTERED_SHARE = 0.05;
const LATEST_COMMIT_MS = 600;
const STEP_MS = 10;
const STEPS = ['SUB_STARTED', 'SUB_REQUIRED', 'SUBMITTED', 'READY_FOR_PROCESSING'] as const;
/** The bank shows the groups of a submitted instruction from this long after its submit. */
const GROUPS_AFTER_MS = 15;
/** Until then it puts the payments into their groups one by one. */
const GROUPED_AFTER_MS = 25;
const OTHER_IBAN = 'NL91ABNA0417164300';

/** The product's own reading of each answer that is not a yes; it depends on nothing else. */
const LOST = outcomeOf({ kind: 'failed', sent: true, why: 'reset' }, undefined, undefined);
const UNSENT = outcomeOf({ kind: 'failed', sent: false, why: 'refused' }, undefined, undefined);
const BY_STATUS = new Map(
  [307, 401, 403, 404, 409, 422, 429, 500].map((status) => [status, answered(status)] as const),
);

function answered(status: number): Outcome<never> {
  const header = () => undefined;
  return outcomeOf({ kind: 'answer', status, header, text: '' }, undefined, {
    retryAfterMs: 20,
  }) as Outcome<never>;
}

/** A bank that keeps what is assumed of it, unless the world says otherwise, over a network that keeps nothing. */
export class ModelBank {
  readonly instructions = new Map<string, InstructionAtBank>();
  private readonly late: { atMs: number; execute: () => unknown }[] = [];
  /** Adds that the network delivers once more after the submit of their instruction. */
  private readonly strays = new Map<string, (() => unknown)[]>();
  private readonly debits: { atMs: number; amountMinor: bigint }[] = [];
  private ids = 0;
  nowMs = 0;
  /** How often what the world's bank or network does outside the assumptions came about. */
  strayed = 0;

  constructor(
    private readonly random: Random,
    private readonly world: World,
  ) {}

  /** Lets what was delayed by the network arrive. */
  advance(nowMs: number): void {
    for (let n = 0; n < this.late.length; n += 1) {
      const one = this.late[n];
      if (!one || one.atMs > nowMs) continue;
      this.late.splice(n, 1);
      n -= 1;
      this.nowMs = Math.max(this.nowMs, one.atMs);
      one.execute();
    }
    this.nowMs = Math.max(this.nowMs, nowMs);
  }

  /** Whether a request is still on its way. */
  get expectsMore(): boolean {
    return this.late.length > 0;
  }

  initiate(): Outcome<string> {
    return this.call<string>('initiate', () => {
      const id = `c${(this.ids += 1)}`;
      const at = { createdMs: this.nowMs, submittedMs: undefined, deletedMs: undefined };
      this.instructions.set(id, { id, ...at, payments: [] });
      return { done: id };
    });
  }

  add(
    instructionId: string,
    sent: { messageId: string; amountMinor: bigint; iban: string },
  ): Outcome<PaymentAtBank> {
    const altered = this.faulty() && this.random.chance(ALTERED_SHARE) ? this.alter(sent) : sent;
    const execute = (): Result<PaymentAtBank> => {
      const instruction = this.instructions.get(instructionId);
      if (!instruction || instruction.deletedMs !== undefined) return { refused: 404 };
      const submitted = instruction.submittedMs !== undefined;
      if (submitted && this.world.outside !== 'add-after-submit') return { refused: 409 };
      const ends = this.end();
      const id = `p${(this.ids += 1)}`;
      const payment = { id, ...altered, createdMs: this.nowMs, ends, moved: 0 };
      instruction.payments.push(payment);
      if (submitted) {
        this.strayed += 1;
        this.move(payment);
      }
      return { done: payment };
    };
    if (this.strikes('add-after-submit'))
      this.strays.set(instructionId, [...(this.strays.get(instructionId) ?? []), execute]);
    return this.call('add', execute);
  }

  submit(instructionId: string): Outcome<SeenInstruction> {
    const execute = (): Result<SeenInstruction> => {
      const instruction = this.instructions.get(instructionId);
      if (!instruction || instruction.deletedMs !== undefined) return { refused: 404 };
      if (instruction.submittedMs !== undefined && !this.world.executesSecondSubmit) return { refused: 409 };
      if (instruction.submittedMs !== undefined) this.strayed += 1;
      instruction.submittedMs ??= this.nowMs;
      for (const payment of instruction.payments) this.move(payment);
      for (const stray of this.strays.get(instructionId) ?? []) this.later(stray);
      this.strays.delete(instructionId);
      return { done: this.seenAt(instruction, this.nowMs) };
    };
    if (this.strikes('second-submit')) this.later(execute);
    return this.call('submit', execute);
  }

  delete(instructionId: string): Outcome<true> {
    return this.call<true>('delete', () => {
      const instruction = this.instructions.get(instructionId);
      if (!instruction || instruction.deletedMs !== undefined) return { refused: 404 };
      if (instruction.submittedMs !== undefined) return { refused: 409 };
      instruction.deletedMs = this.nowMs;
      return { done: true };
    });
  }

  /** What it writes to people who ask whether an instruction is deleted for good. */
  writesOfDeath(instructionId: string): boolean {
    return this.instructions.get(instructionId)?.deletedMs !== undefined;
  }

  /** @throws Unreachable */
  readInstruction(instructionId: string): SeenInstruction | 'gone' {
    const atMs = this.readAt();
    const instruction = this.instructions.get(instructionId);
    if (!instruction || instruction.createdMs > atMs) return 'gone';
    if (instruction.deletedMs !== undefined && instruction.deletedMs <= atMs) return 'gone';
    return this.seenAt(instruction, atMs);
  }

  /** @throws Unreachable */
  readPayments(instructionId: string, knownIds: readonly string[]): (SeenPayment & { settled: boolean })[] {
    const atMs = this.readAt();
    const instruction = this.instructions.get(instructionId);
    if (!instruction) return [];
    const shown = instruction.payments.filter(
      ({ id, createdMs }) => createdMs <= atMs && (this.world.reads === 'all' || knownIds.includes(id)),
    );
    return shown.map((payment) => ({
      bankPaymentId: payment.id,
      ids: [payment.id],
      messageId: payment.messageId,
      amountMinor: payment.amountMinor,
      currency: 'EUR',
      iban: payment.iban,
      status: this.statusOf(instruction, payment, atMs),
      settled: payment.moved > 0,
    }));
  }

  /** What the account lost, as its balance shows it. @throws Unreachable */
  readLoss(): bigint {
    const atMs = this.readAt();
    return this.debits.reduce((sum, debit) => (debit.atMs <= atMs ? sum + debit.amountMinor : sum), 0n);
  }

  /** Of what two submits take, the balance shows nothing as long as as much may be on its way back. */
  private end(): PaymentAtBank['ends'] {
    if (this.random.chance(0.95)) return 'SETTLED';
    if (this.world.outside === 'second-submit') return 'PRO_DEBIT_HOLD_FAILED';
    return this.random.pick(['FAILED', 'REJECTED']);
  }

  private move(payment: PaymentAtBank): void {
    if (payment.ends !== 'SETTLED') return;
    payment.moved += 1;
    this.debits.push({ atMs: this.nowMs, amountMinor: payment.amountMinor });
  }

  private seenAt(instruction: InstructionAtBank, atMs: number): SeenInstruction {
    const payments = instruction.payments.filter(({ createdMs }) => createdMs <= atMs);
    const { count: calculatedCount, totalMinor: calculatedTotalMinor } = totalsOf(payments);
    const calculated = { calculatedCount, calculatedTotalMinor };
    const ageMs = instruction.submittedMs === undefined ? -1 : atMs - instruction.submittedMs;
    if (ageMs < 0) return { status: 'INITIATED', ...calculated };
    const status = ageMs < STEP_MS ? 'SUB_STARTED' : 'SUB_REQUIRED';
    if (ageMs < GROUPS_AFTER_MS) return { status, ...calculated };
    return { status, ...calculated, groups: [totalsOf(grouped(instruction, payments, ageMs))] };
  }

  private statusOf(instruction: InstructionAtBank, payment: PaymentAtBank, atMs: number): string {
    if (instruction.submittedMs === undefined || instruction.submittedMs > atMs) return 'INITIATED';
    const step = Math.floor((atMs - instruction.submittedMs) / STEP_MS);
    return STEPS[step] ?? payment.ends;
  }

  /** The moment a read shows. */
  private readAt(): number {
    if (this.faulty()) throw new Unreachable();
    return this.world.lagMs === 0 ? this.nowMs : this.nowMs - this.random.between(0, this.world.lagMs);
  }

  private faulty(): boolean {
    return this.nowMs < LAST_FAULT_MS && this.random.chance(this.world.faultRate);
  }

  private call<T>(operation: Operation, execute: () => Result<T>): Outcome<T> {
    if (this.strikes('doubled-post')) this.later(() => this.stray(execute()));
    if (!this.faulty()) return outcome(execute());
    const refused = operation !== 'delete' && this.random.chance(REFUSAL_SHARE);
    return this.fail(refused ? this.random.pick(REFUSALS) : this.random.pick(FAULTS), execute);
  }

  private fail<T>(fault: Fault, execute: () => Result<T>): Outcome<T> {
    switch (fault) {
      case 'answer-lost':
        execute();
        return LOST as Outcome<T>;
      case 'request-lost':
        return LOST as Outcome<T>;
      case 'late-commit':
        this.later(execute);
        return LOST as Outcome<T>;
      case '500-after':
        execute();
        return refusal(500);
      case '500-before':
        return refusal(500);
      case 'redirect':
        return refusal(307);
      case 'unsent':
        return UNSENT as Outcome<T>;
      case '401':
      case '403':
      case '422':
      case '429':
        return this.turnAway(Number(fault), execute);
      case '409':
        return refusal(409);
    }
  }

  /** A refusal may come after the call was executed, whatever the bank's word: a read tells. */
  private turnAway<T>(status: number, execute: () => Result<T>): Outcome<T> {
    if (this.random.chance(0.3)) execute();
    return refusal(status);
  }

  /** The network delivers a request twice in this world, the second one some time later. */
  private strikes(outside: Outside): boolean {
    return this.world.outside === outside && this.nowMs < LAST_FAULT_MS && this.random.chance(0.08);
  }

  private stray(result: Result<unknown>): void {
    if ('done' in result) this.strayed += 1;
  }

  private later(execute: () => unknown): void {
    this.late.push({ atMs: this.nowMs + this.random.between(1, LATEST_COMMIT_MS), execute });
  }

  private alter<T extends { amountMinor: bigint; iban: string }>(sent: T): T {
    return this.random.chance(0.5)
      ? { ...sent, amountMinor: sent.amountMinor + 1n }
      : { ...sent, iban: OTHER_IBAN };
  }
}

function totalsOf(payments: readonly PaymentAtBank[]): Totals {
  return sumOf(payments.map(({ amountMinor: totalMinor }) => ({ count: 1, totalMinor })));
}

/** Of every other instruction the bank takes out of its groups what has failed. */
function grouped(
  { id }: InstructionAtBank,
  payments: readonly PaymentAtBank[],
  ageMs: number,
): readonly PaymentAtBank[] {
  if (ageMs < GROUPED_AFTER_MS) return payments.slice(0, Math.ceil(payments.length / 2));
  const takesOut = Number(id.slice(1)) % 2 === 0 && ageMs >= STEP_MS * STEPS.length;
  return takesOut ? payments.filter(({ ends }) => ends === 'SETTLED') : payments;
}

function outcome<T>(result: Result<T>): Outcome<T> {
  return 'done' in result ? { kind: 'yes', value: result.done, status: 201 } : refusal(result.refused);
}

function refusal(status: number): Outcome<never> {
  const known = BY_STATUS.get(status);
  if (!known) throw new Error(`no answer ${status} in the model`);
  return known;
}
