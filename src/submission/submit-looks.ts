import { Injectable } from '@nestjs/common';
import { BankGateway } from '../bank/gateway';
import type { Leaving } from '../bank/session';
import { Clock } from '../config/clock';
import { Lanes } from '../config/lanes';
import { Claim } from '../database/leases';
import { StepEnd } from '../database/lease-worker';
import { HOUR_MS, MINUTE_MS } from '../domain/durations';
import { MOST_LOOKS } from '../domain/send-estimate';
import { CutOff } from './cut-off';
import { InstructionReader, Otherwise } from './read-back';
import { ReplacedLook } from './replaced-look';
import { THIS_SERVICE } from './waits-for';
import { PayableRow, Work } from './work';

/** How often what a payment replaces is read again while it cannot be seen, or moved, and what may be paid already. */
export const LOOK_AGAIN_MS = 15_000;

/**
 * A submit leaves so soon after what allowed it was read, or not at all: a process may be frozen in between, for as long
 * as others need to doubt its submit, or people to stop it.
 */
const LEAVES_WITHIN_MS = 5_000;

/** What was read back so long ago when its turn has come leaves the submit too little of that: it is read once more. */
const READ_LASTS_MS = 2_000;

/**
 * What is paid again ended long ago: where a look at it, or the turn after that, takes longer than five seconds, one that began
 * in the last minute will do: so long before it leaves.
 */
const REPLACED_LASTS_MS = MINUTE_MS - LEAVES_WITHIN_MS;

/** What cannot leave in time rests so many times as long as it tried: others share the bank's limit. */
const RESTS = 9;
/** So many times as long are left before its cut-off: it may have taken so long by a pause of the bank's that has ended. */
const LEAVES_FOR_TRIES = 2;
/** However long it tried, a limit that was raised is noticed. */
const LONGEST_REST_MS = HOUR_MS;

/** A look at what a submit pays again, as old as the first that was read of it. */
interface Look {
  /** Whether it is late enough for a submit that need not wait for its turn any more. */
  holds: () => boolean;
  isOfLastMinute: () => boolean;
}

/** What people can do about it. */
const SOONER =
  "Where the bank had all requests wait (429), the next try may do. Else raise BANK_REQUESTS_PER_MINUTE, if it is set and the bank allows more, or keep other runs from using it up; or pay those whom the cut-off releases by successors of fewer payments each, such as those of one old instruction, or in the bank's portal";

const NOTHING_TO_LOOK_AT: Look = { holds: () => true, isOfLastMinute: () => true };

/** Whether what was read back still holds when a turn has come, and when its submit leaves. */
export interface Age {
  lasts: () => boolean;
  mayLeave: () => boolean;
}

/** Why what pays again is not submitted now, and when it is tried again. */
interface Later {
  end: StepEnd;
}

/** How a submit leaves that the gate lets pass. */
export type Allowed = Pick<Leaving, 'turn' | 'mayLeave'>;

/** What looks at all that a submit rests on come to: it may leave, or is not as it was approved, or is looked at later. */
export type Looked = { allowed: Allowed } | { otherwise: Otherwise } | Later;

/** What a submit rests on, looked at until its turn comes soon enough after it. */
@Injectable()
export class SubmitLooks {
  /** Side by side, under one limit, each look would take as long as all of them. */
  private readonly oneByOne = new Lanes(1);

  constructor(
    private readonly gateway: BankGateway,
    private readonly reader: InstructionReader,
    private readonly replaced: ReplacedLook,
    private readonly cutOff: CutOff,
    private readonly clock: Clock,
  ) {}

  /** Goes on with a submit that pays somebody again once no other one of this process is looked at. */
  inPlace<T>(rows: readonly PayableRow[], goOn: () => Promise<T>): Promise<T> {
    return paysAgain(rows) ? this.oneByOne.run(goOn) : goOn();
  }

  /** How old what is read from now on is. */
  ageFromNow(): Age {
    return { lasts: this.clock.within(READ_LASTS_MS), mayLeave: this.clock.within(LEAVES_WITHIN_MS) };
  }

  /**
   * Looks at what the submit pays again, if any.
   * @returns when to look again where that does not stand as it ended, or cannot be looked at in a minute
   * @throws BankClientError while the bank cannot be read; Fenced, Halted
   */
  async atReplaced(claim: Claim, work: Work, rows: readonly PayableRow[]): Promise<Look | Later> {
    if (!paysAgain(rows)) return NOTHING_TO_LOOK_AT;
    const began = this.clock.now();
    const isJustRead = this.clock.within(LEAVES_WITHIN_MS);
    const isOfLastMinute = this.clock.within(REPLACED_LASTS_MS);
    if (!(await this.replaced.standsBeforeSubmit(claim, work))) return { end: LOOK_AGAIN_MS };
    if (!isOfLastMinute()) return this.later(work, began);
    return { holds: isJustRead() ? isJustRead : isOfLastMinute, isOfLastMinute };
  }

  /**
   * Waits for the turn of the submit, before its intent: what may have been submitted does not wait, and whatever forbids it
   * meanwhile is seen. Where what was read back, or the look before that, is too old by then, both are looked at again.
   * @throws BankClientError; Fenced, Halted
   */
  async inTurn(
    claim: Claim,
    work: Work,
    rows: readonly PayableRow[],
    { age, look }: { age: Age; look: Look },
    isStopping: () => boolean,
  ): Promise<Looked> {
    const lasts = () => age.lasts() && look.holds();
    const turn = lasts() ? await this.gateway.turnToSubmit() : undefined;
    if (turn && lasts()) return { allowed: { turn, mayLeave: age.mayLeave } };
    // What the first look found there again is missing from this one on.
    return this.afterLooks({ ...claim, missing: null }, work, rows, isStopping);
  }

  /**
   * What it pays again may have been executed meanwhile, or somebody else may have submitted it or added to it: the former is
   * looked at again, and then all of it is read again, with the turn kept. What takes longer than a turn is kept is followed
   * by a short look, and the submit by that. The last look is as short as can be and is taken, or an instruction too large for
   * its bank, or its limit, would never be sent; where all of it is read even so, what it pays again is looked at after that.
   */
  private async afterLooks(
    claim: Claim,
    work: Work,
    rows: readonly PayableRow[],
    isStopping: () => boolean,
  ): Promise<Looked> {
    const began = this.clock.now();
    let paymentsStand = () => false;
    for (let left = MOST_LOOKS; ; left -= 1) {
      if (isStopping()) return { end: 0 };
      const isLast = left === 1;
      let look = await this.atReplaced(claim, work, rows);
      if ('end' in look) return look;
      let [isShort, isQuick] = [isLast, false];
      const { turn, answer } = await this.gateway.turnToSubmitAfter(async (its) => {
        const isRecent = this.clock.within(READ_LASTS_MS);
        isShort ||= paymentsStand();
        const otherwise = await this.reader.readAgain(work, rows, its, isShort);
        isQuick = isRecent();
        return otherwise;
      });
      if (answer !== undefined) return { otherwise: answer };
      paymentsStand = this.clock.within(LEAVES_WITHIN_MS);
      if (!isShort && !isQuick) continue;
      const isOutdated = !isQuick && !look.isOfLastMinute();
      if (isOutdated) look = await this.atReplaced(claim, work, rows);
      if ('end' in look) return look;
      const mayLeave = this.clock.within(LEAVES_WITHIN_MS);
      const itsTurn = turn ?? (await this.gateway.turnToSubmit());
      if (mayLeave() && look.holds()) return { allowed: { turn: itsTurn, mayLeave } };
      if (!isLast && !isOutdated) continue;
      // It would never be sent where its turn always comes so late.
      return look.isOfLastMinute()
        ? { allowed: { turn: itsTurn, mayLeave: this.clock.within(LEAVES_WITHIN_MS) } }
        : this.later(work, began);
    }
  }

  /** What is paid again cannot be read so shortly before the submit, and people are told. */
  private later(work: Work, began: Date): Later {
    const tookMs = Math.max(this.clock.now().getTime() - began.getTime(), 0);
    const beforeCutOffMs = this.cutOff.leftMs(work) - LEAVES_FOR_TRIES * tookMs;
    const restMs = Math.min(RESTS * tookMs, LONGEST_REST_MS, beforeCutOffMs);
    const what = 'reading what it pays again in the minute before its submit';
    const waitsFor = `${THIS_SERVICE}${what} (tried for ${Math.round(tookMs / 1_000)} s). ${SOONER}`;
    return { end: { inMs: Math.max(restMs, LOOK_AGAIN_MS), waitsFor } };
  }
}

function paysAgain(rows: readonly PayableRow[]): boolean {
  return rows.some((row) => row.paysAgain);
}
