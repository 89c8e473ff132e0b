import { assertInstructionMove, type InstructionStatus } from '../../src/domain/instruction';
import { assertPayRunMove, type PayRunStatus } from '../../src/domain/pay-run';
import { assertPaymentMove, type PaymentStatus } from '../../src/domain/payment';
import type { AttentionKind } from '../../src/pay-run/attention-words';
import type { Totals } from '../../src/pay-run/match';
import { TURNED_AWAY } from '../../src/submission/decision';
import { LEASE_MS } from './world';

export interface Payment {
  rowNo: number;
  /** As stored now; what was approved is beside it. */
  iban: string;
  amountMinor: bigint;
  approvedIban: string;
  approvedMinor: bigint;
  status: PaymentStatus;
  bankStatus: string | null;
  rank: number;
}

export interface AddRecord {
  outcome: 'ADDED' | 'IN_DOUBT' | 'ADOPTED' | 'REFUSED';
  bankPaymentId: string | undefined;
}

export interface Planned extends Totals {
  id: number;
  run: Run;
  payments: Payment[];
  approvedHash: string;
}

export interface Instruction {
  id: number;
  planned: Planned;
  attempt: number;
  status: InstructionStatus;
  bankId: string | null;
  bankStatus: string | null;
  lastAddMs: number;
  adds: Map<number, AddRecord>;
  /** Rows whose add was intended and has no outcome. */
  openIntents: Set<number>;
  initiates: number;
  submittedMs: number;
  closedMs: number | undefined;
  totalsCheckedMs: number | undefined;
}

export interface SubmitAttempt {
  planned: Planned;
  instruction: Instruction;
  /** When it was intended, or else when its outcome or the doubt was written down. */
  sinceMs: number;
  outcome: 'EXECUTED' | 'IN_DOUBT' | 'REFUSED' | 'PROVEN_UNSENT' | null;
  detail: string | null;
}

export interface Run {
  id: number;
  status: PayRunStatus;
  planned: Planned[];
  cutOffAtMs: number | undefined;
  stopped: boolean;
  /** What the account had lost when the run passed its gate; undefined once nothing is to be compared with it. */
  lossBefore: { minor: bigint; readMs: number } | undefined;
}

export type LeaseKind = 'RUN' | 'INSTRUCTION' | 'FOLLOW';

interface Lease {
  kind: LeaseKind;
  subject: number;
  wakeAtMs: number;
  /** 0 and -1 while nobody holds it. */
  leasedUntilMs: number;
  holder: number;
  epoch: number;
}

export interface Claim {
  lease: Lease;
  kind: LeaseKind;
  subject: number;
  holder: number;
  epoch: number;
}

/** The lease was overtaken or ran out. */
export class Fenced extends Error {}
/** A unique index refused a second submit attempt. */
export class SecondAttempt extends Error {}

/** Everything that is durable, and the constraints the database puts on it. A transaction is a call between two steps. */
export class Store {
  readonly runs: Run[] = [];
  readonly instructions: Instruction[] = [];
  readonly attempts: SubmitAttempt[] = [];
  /** Kinds of attention raised, and those of them still open, by subject. */
  readonly open = new Map<string, AttentionKind>();
  readonly raised = new Set<AttentionKind>();
  private readonly leases: Lease[] = [];
  submitsOff = false;
  employerStopped = false;
  nowMs = 0;

  addRun(rows: readonly Payment[], perInstruction: number, cutOffAtMs: number | undefined): Run {
    const run: Run = {
      id: this.runs.length,
      status: 'APPROVED',
      planned: [],
      cutOffAtMs,
      stopped: false,
      lossBefore: undefined,
    };
    for (let first = 0; first < rows.length; first += perInstruction) {
      const payments = rows.slice(first, first + perInstruction);
      const totalMinor = payments.reduce((sum, row) => sum + row.approvedMinor, 0n);
      const approvedHash = hashOf(payments);
      run.planned.push({
        id: run.id * 100 + run.planned.length,
        run,
        payments,
        count: payments.length,
        totalMinor,
        approvedHash,
      });
    }
    this.runs.push(run);
    this.wake('RUN', run.id);
    return run;
  }

  planAttempt(planned: Planned, attempt: number): void {
    const instruction: Instruction = {
      id: this.instructions.length,
      planned,
      attempt,
      status: 'PLANNED',
      bankId: null,
      bankStatus: null,
      lastAddMs: 0,
      adds: new Map(),
      openIntents: new Set(),
      initiates: 0,
      submittedMs: 0,
      closedMs: undefined,
      totalsCheckedMs: undefined,
    };
    this.instructions.push(instruction);
    this.wake('INSTRUCTION', instruction.id);
  }

  /** The newest instruction of a plan. */
  currentOf(planned: Planned): Instruction | undefined {
    return this.instructions.findLast((one) => one.planned === planned);
  }

  moveRun(run: Run, to: PayRunStatus): void {
    assertPayRunMove(run.status, to);
    run.status = to;
  }

  moveInstruction(instruction: Instruction, to: InstructionStatus): void {
    assertInstructionMove(instruction.status, to);
    instruction.status = to;
  }

  movePayments(planned: Planned, from: PaymentStatus, to: PaymentStatus): void {
    for (const payment of planned.payments) if (payment.status === from) this.movePayment(payment, to);
  }

  movePayment(payment: Payment, to: PaymentStatus): void {
    assertPaymentMove(payment.status, to);
    payment.status = to;
  }

  /** @param unique whether the index is there @throws SecondAttempt */
  insertAttempt(instruction: Instruction, unique: boolean): void {
    if (unique && this.standingAttempt(instruction.planned)) throw new SecondAttempt();
    const { planned } = instruction;
    this.attempts.push({ planned, instruction, sinceMs: this.nowMs, outcome: null, detail: null });
  }

  standingAttempt(planned: Planned): SubmitAttempt | undefined {
    return this.attempts.find((one) => one.planned === planned && one.outcome !== 'PROVEN_UNSENT');
  }

  /** As the function of this name of the product. */
  timesTurnedAway(planned: Planned): number {
    const isOne = ({ outcome, detail }: SubmitAttempt) =>
      outcome === 'PROVEN_UNSENT' && detail?.startsWith(TURNED_AWAY) === true;
    return this.attempts.filter((one) => one.planned === planned && isOne(one)).length;
  }

  raise(kind: AttentionKind, subject: number | string): void {
    this.open.set(`${kind} ${subject}`, kind);
    this.raised.add(kind);
  }

  clear(kinds: readonly AttentionKind[], subject: number | string): void {
    for (const kind of kinds) this.open.delete(`${kind} ${subject}`);
  }

  wake(kind: LeaseKind, subject: number): void {
    for (const lease of this.leases) {
      if (lease.kind !== kind || lease.subject !== subject) continue;
      if (lease.wakeAtMs > this.nowMs) lease.wakeAtMs = this.nowMs;
      return;
    }
    this.leases.push({ kind, subject, wakeAtMs: this.nowMs, leasedUntilMs: 0, holder: -1, epoch: 0 });
  }

  /** Takes the work that has been due for longest. */
  claim(holder: number): Claim | undefined {
    const lease = this.soonest();
    if (!lease || dueMs(lease) > this.nowMs) return undefined;
    lease.holder = holder;
    lease.epoch += 1;
    lease.wakeAtMs = Infinity;
    lease.leasedUntilMs = this.nowMs + LEASE_MS;
    return { lease, kind: lease.kind, subject: lease.subject, holder, epoch: lease.epoch };
  }

  /** When there will be work; Infinity when there is none. */
  nextDueMs(): number {
    const lease = this.soonest();
    return lease ? dueMs(lease) : Infinity;
  }

  renew(claim: Claim): void {
    if (this.holds(claim)) claim.lease.leasedUntilMs = this.nowMs + LEASE_MS;
  }

  release(claim: Claim, wakeInMs: number): void {
    const { lease } = claim;
    if (lease.holder !== claim.holder || lease.epoch !== claim.epoch) return;
    lease.holder = -1;
    lease.leasedUntilMs = 0;
    lease.wakeAtMs = Math.min(lease.wakeAtMs, this.nowMs + wakeInMs);
  }

  holds({ lease, holder, epoch }: Claim): boolean {
    return lease.holder === holder && lease.epoch === epoch && lease.leasedUntilMs > this.nowMs;
  }

  private soonest(): Lease | undefined {
    let soonest: Lease | undefined;
    let soonestMs = Infinity;
    for (const lease of this.leases) {
      const due = dueMs(lease);
      if (due >= soonestMs) continue;
      soonest = lease;
      soonestMs = due;
    }
    return soonest;
  }
}

function dueMs(lease: Lease): number {
  return lease.holder < 0 ? lease.wakeAtMs : lease.leasedUntilMs;
}

/** Stands for the hash over the rows as they are stored. */
export function hashOf(payments: readonly Payment[]): string {
  let text = '';
  for (const { rowNo, iban, amountMinor } of payments) text += `${rowNo} ${iban} ${amountMinor};`;
  return text;
}
