import { hostname } from 'node:os';
import { Logger } from '@nestjs/common';
import { describeError } from '../config/describe-error';
import { Claim, Fenced, LeaseKind, Leases } from './leases';
import { newId } from './new-id';
import { DatabaseAway, isOfDatabase } from './outage';

/** What one step of work answers: in how many milliseconds it is to be taken up again; 0 goes on at once. */
export type WakeIn = number | 'never';

/** What a step answers that could not get on: in how many milliseconds it is tried again, and what it failed in, for people. */
export interface Waiting {
  readonly inMs: number;
  readonly waitsFor: string;
}

export type StepEnd = WakeIn | Waiting;

interface WorkerOptions {
  kind: LeaseKind;
  /** Which of the kind, as `Leases.claim` takes it; all of it unless it is said. */
  among?: string;
  holder: string;
  leaseMs: number;
  /** Steps under way at once in this process. */
  atOnce: number;
  step: (claim: Claim) => Promise<StepEnd>;
  /** What a failure is remembered as that work waits for; without it none is remembered. */
  waitsFor?: (error: unknown) => string;
  /** What is woken rests so many times as long as the step before took: events may come faster than they can be answered. */
  rests?: number;
  /** Each rests so long at least, in ms. */
  restMs?: number;
  /** Failures that belong to the trade, such as a bank that is down: told as a warning. */
  foreseen?: (error: unknown) => boolean;
  /** Called when the last step under way ended and no more was due: what it woke of another kind may be. */
  onIdle?: () => Promise<unknown>;
}

/** How the last step ended: `waitsFor` as `Leases.release` takes it. */
interface Ended {
  wakeIn: WakeIn;
  waitsFor?: string | null;
}

/** A name for this process among the holders of leases, another one after each start. */
export function leaseHolder(): string {
  return `${hostname()}:${process.pid}:${newId().slice(-12)}`;
}

/** Pause before work that failed is tried again. */
const FAILURE_PAUSE_MS = 5_000;
/** The same where only the database failed it: a deadlock is over, and while it is away nothing is claimed anyway. */
const DATABASE_PAUSE_MS = 1_000;
/** Two kinds that wake one another go round no faster than this. */
const IDLE_PAUSE_MS = 200;

/** What people wake while a step is under way rests as well. */
const MOST_REST_MS = 60_000;

/**
 * Claims due work of one kind and runs its steps side by side, prolonging each lease while its step runs. A step
 * that was fenced off is dropped; one that failed is taken up again after a pause.
 */
export class LeaseWorker {
  private readonly logger = new Logger(LeaseWorker.name);
  private readonly running = new Set<Promise<void>>();
  private claiming: Promise<number> | undefined;
  /** The last claim was answered in full, so more may be due than there was room for. */
  private moreDue = false;
  private toldIdleAtMs = -Infinity;
  private idleTimer: NodeJS.Timeout | undefined;
  private stopping = false;

  constructor(
    private readonly leases: Leases,
    private readonly options: WorkerOptions,
  ) {}

  /**
   * Claims what is due, as far as there is room, and starts on it. Answers how much was claimed.
   * @param due the kinds of which anything is, where the database was asked; else the claim finds out
   */
  async tick(due?: ReadonlySet<LeaseKind>): Promise<number> {
    if (due && !due.has(this.options.kind)) return 0;
    const room = this.options.atOnce - this.running.size;
    if (room <= 0 || this.stopping || this.claiming) return 0;
    this.claiming = this.claim(room).finally(() => (this.claiming = undefined));
    return this.claiming;
  }

  private async claim(room: number): Promise<number> {
    const { kind, holder, leaseMs, among } = this.options;
    const claims = await this.leases.claim(kind, holder, room, leaseMs, among);
    if (this.stopping) {
      await Promise.all(claims.map((claim) => this.leases.release(claim, 0)));
      return 0;
    }
    this.moreDue = claims.length === room;
    for (const claim of claims) {
      const work = this.run(claim).finally(() => {
        this.running.delete(work);
        if (this.moreDue) this.refill();
        else this.tellIfIdle();
      });
      this.running.add(work);
    }
    return claims.length;
  }

  /** Where work waits, the place of what ended is not left empty until the next tick. */
  private refill(): void {
    this.tick().then(
      () => this.tellIfIdle(),
      () => (this.moreDue = false),
    );
  }

  private tellIfIdle(): void {
    if (this.running.size > 0 || this.stopping || this.idleTimer) return;
    const now = performance.now();
    const earlyMs = this.toldIdleAtMs + IDLE_PAUSE_MS - now;
    if (earlyMs > 0) {
      this.idleTimer = setTimeout(() => {
        this.idleTimer = undefined;
        this.tellIfIdle();
      }, earlyMs);
      return;
    }
    this.toldIdleAtMs = now;
    // What it did not take, the next tick takes.
    this.options.onIdle?.().catch(() => undefined);
  }

  /** Takes no more work and waits for the steps under way. */
  async drain(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.idleTimer);
    await this.claiming?.catch(() => undefined);
    await Promise.all(this.running);
  }

  private async run(claim: Claim): Promise<void> {
    const { leaseMs, rests = 0, restMs: leastMs = 0 } = this.options;
    const begunAt = performance.now();
    const heartbeat = setInterval(() => {
      this.leases.renew(claim, leaseMs).catch((error) => {
        if (error instanceof Fenced) clearInterval(heartbeat);
      });
    }, leaseMs / 3);
    let ended: Ended;
    try {
      ended = await this.stepOn(claim);
    } catch (error) {
      if (error instanceof Fenced) return;
      ended = this.endedBy(error);
      this.tell(claim, error);
    } finally {
      clearInterval(heartbeat);
    }
    const restMs = Math.min(Math.max(rests * (performance.now() - begunAt), leastMs), MOST_REST_MS);
    await this.leases.release(claim, ended.wakeIn, restMs, ended.waitsFor).catch(() => undefined);
  }

  private async stepOn(claim: Claim): Promise<Ended> {
    let answer: StepEnd;
    do answer = await this.options.step(claim);
    while (answer === 0 && !this.stopping);
    if (typeof answer === 'object') return { wakeIn: answer.inMs, waitsFor: answer.waitsFor };
    // What was broken off says nothing of whether it would have got on.
    return { wakeIn: answer, waitsFor: answer === 0 ? undefined : null };
  }

  private endedBy(error: unknown): Ended {
    if (isOfDatabase(error)) return { wakeIn: DATABASE_PAUSE_MS };
    return { wakeIn: FAILURE_PAUSE_MS, waitsFor: this.options.waitsFor?.(error) };
  }

  private tell({ kind, subjectId }: Claim, error: unknown): void {
    // An outage is told once, for all work.
    if (error instanceof DatabaseAway) return;
    const message = `${kind} ${subjectId} failed`;
    const { stack, ...described } = describeError(error);
    if (isOfDatabase(error) || this.options.foreseen?.(error))
      this.logger.warn({ message, error: described });
    else this.logger.error({ message, error: { ...described, stack } });
  }
}
