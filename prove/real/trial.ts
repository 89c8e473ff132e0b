import type { AttentionKind } from '../../src/pay-run/attention-words';
import type { Row } from '../../test/support/pay-rows';
import type { Line } from '../table';
import { type Call, callOf } from './calls';
import type { Effect, Meddling } from './proxy';
import type { Stand } from './stand';

/** One fault, made and met: `meet` arranges it, pays the rows meanwhile, and answers the run. */
export interface Trial {
  fault: string;
  assumptions: Line['assumptions'];
  /** Part of the short proof. */
  short: boolean;
  /** Which stand it needs: its bank's choices, webhooks, or credentials that end. */
  stand: StandKind;
  /** Of the run; 2 unless said otherwise. */
  instructions?: number;
  /** What people must be asked, whatever else; nothing at all where it is empty. */
  expects?: readonly AttentionKind[];
  /** Answers the run, or the runs that pay the rows one after another. */
  meet(stand: Stand, rows: readonly Row[]): Promise<string | readonly string[]>;
}
export type StandKind =
  | 'plain'
  | 'patient'
  | 'batches'
  | 'hooked'
  | 'shifted'
  | 'settles-later'
  | 'credentials'
  | 'no-links'
  | 'lagging'
  | 'lagging-beyond'
  | 'minute-behind'
  | 'add-after-submit'
  | 'second-submit'
  | 'ignores-pages'
  | 'small-pages'
  | 'database'
  | 'true-length'
  | 'true-length-hooked';

/** What a call comes to, besides an answer. */
export const ANSWERS = [
  'answer-lost',
  'request-lost',
  'late-commit',
  '500-before',
  '500-after',
  'truncated',
] as const;

type Script = Record<string, unknown>;

/** A trial of scripted faults of the bank. */
export function scripted(fault: string, short: boolean, ...scripts: Script[]): Trial {
  return {
    fault,
    assumptions: 'inside',
    short,
    stand: 'plain',
    meet: async (stand, rows) => {
      for (const script of scripts) await stand.payroll.fault(script);
      return stand.pay(rows);
    },
  };
}

/** A trial of what the network does. */
export function meddled(
  fault: string,
  short: boolean,
  make: () => Meddling,
  assumptions: Line['assumptions'] = 'inside',
): Trial {
  return {
    fault,
    assumptions,
    short,
    stand: 'plain',
    meet: (stand, rows) => {
      stand.proxy.meddle = make();
      return stand.pay(rows);
    },
  };
}

/** The nth call of a kind that the bank executes is answered with a refusal all the same. */
export function refusedAfterAll(call: Call, refusal: number, nth = 1): Meddling {
  const meddle = meddleWith(call, { refusal }, nth);
  return (exchange) => (exchange.status < 300 ? meddle(exchange) : undefined);
}

/** Meddles with one kind of call, from its nth on, so many times. */
export function meddleWith(call: Call, effect: Effect, nth = 1, times = 1): Meddling {
  let seen = 0;
  return ({ method, path }) => {
    if (callOf(method, path) !== call) return undefined;
    seen += 1;
    return seen >= nth && seen < nth + times ? effect : undefined;
  };
}
