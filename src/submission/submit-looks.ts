import { Injectable } from '@nestjs/common';
import { BankGateway } from '../bank/gateway';
import type { Leaving } from '../bank/session';
import { Clock } from '../config/clock';
import { Claim } from '../database/leases';
import { StepEnd } from '../database/lease-worker';
import { MINUTE_MS } from '../domain/durations';
import { MOST_LOOKS } from '../domain/send-estimate';
import { InstructionReader, Otherwise } from './read-back';
import { ReplacedLook } from './replaced-look';
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

/** What is paid again ended long ago: where no turn comes within five seconds of a look at it, one of the last minute will do. */
const REPLACED_LASTS_MS = MINUTE_MS;

/** Whether what was read back still holds when a turn has come, and when its submit leaves. */
export interface Age {
  lasts: () => boolean;
  mayLeave: () => boolean;
}

/** How a submit leaves that the gate lets pass. */
export type Allowed = Pick<Leaving, 'turn' | 'mayLeave'>;

/** What looks at all that a submit rests on come to: it may leave, or is not as it was approved, or is looked at later. */
export type Looked = { allowed: Allowed } | { otherwise: Otherwise } | { end: StepEnd };

/** What a submit rests on, looked at until its turn comes soon enough after it. */
@Injectable()
export class SubmitLooks {
  constructor(
    private readonly gateway: BankGateway,
    private readonly reader: InstructionReader,
    private readonly replaced: ReplacedLook,
    private readonly clock: Clock,
  ) {}

  /** How old what is read from now on is. */
  ageFromNow(): Age {
    return { lasts: this.clock.within(READ_LASTS_MS), mayLeave: this.clock.within(LEAVES_WITHIN_MS) };
  }

  /**
   * Looks at what the submit pays again, if any.
   * @returns when to look again where that does not stand as it ended
   * @throws BankClientError while the bank cannot be read; Fenced, Halted
   */
  async replacedStand(
    claim: Claim,
    work: Work,
    rows: readonly PayableRow[],
  ): Promise<{ end: StepEnd } | undefined> {
    return (await this.replaced.standsBeforeSubmit(claim, work, rows)) ? undefined : { end: LOOK_AGAIN_MS };
  }

  /**
   * Waits for the turn of the submit, before its intent: what may have been submitted does not wait, and whatever forbids it
   * meanwhile is seen. Where what was read back is too old by then, it is looked at again.
   * @throws BankClientError; Fenced, Halted
   */
  async inTurn(
    claim: Claim,
    work: Work,
    rows: readonly PayableRow[],
    age: Age,
    isStopping: () => boolean,
  ): Promise<Looked> {
    const turn = age.lasts() ? await this.gateway.turnToSubmit() : undefined;
    if (turn && age.lasts()) return { allowed: { turn, mayLeave: age.mayLeave } };
    // What the first look found there again is missing from this one on.
    return this.afterLooks({ ...claim, missing: null }, work, rows, isStopping);
  }

  /**
   * What it pays again may have been executed meanwhile, or somebody else may have submitted it or added to it: the former is
   * looked at again, and then all of it is read again, with the turn kept. What takes longer than a turn is kept is followed
   * by a short look, and the submit by that. The last look is as short as can be and is taken, or an instruction too large for
   * its bank, or its limit, would never be sent.
   */
  private async afterLooks(
    claim: Claim,
    work: Work,
    rows: readonly PayableRow[],
    isStopping: () => boolean,
  ): Promise<Looked> {
    const paysAgain = rows.some(({ replacesPaymentId }) => replacesPaymentId !== null);
    let paymentsStand = () => false;
    for (let left = MOST_LOOKS; ; left -= 1) {
      if (isStopping()) return { end: 0 };
      const moved = await this.replacedStand(claim, work, rows);
      if (moved) return moved;
      const isLast = left === 1;
      const lastsMs = isLast ? REPLACED_LASTS_MS : LEAVES_WITHIN_MS;
      const replacedStand = paysAgain ? this.clock.within(lastsMs) : () => true;
      let isShort = isLast;
      const { turn, answer } = await this.gateway.turnToSubmitAfter(async (its) => {
        const isQuick = this.clock.within(READ_LASTS_MS);
        isShort ||= paymentsStand();
        const otherwise = await this.reader.readAgain(work, rows, its, isShort);
        isShort ||= isQuick();
        return otherwise;
      });
      if (answer !== undefined) return { otherwise: answer };
      paymentsStand = this.clock.within(LEAVES_WITHIN_MS);
      if (!isShort) continue;
      const mayLeave = this.clock.within(LEAVES_WITHIN_MS);
      const itsTurn = turn ?? (await this.gateway.turnToSubmit());
      if (mayLeave() && replacedStand()) return { allowed: { turn: itsTurn, mayLeave } };
      if (!isLast) continue;
      // It would never be sent where its turn always comes so late.
      return replacedStand()
        ? { allowed: { turn: itsTurn, mayLeave: this.clock.within(LEAVES_WITHIN_MS) } }
        : { end: LOOK_AGAIN_MS };
    }
  }
}
