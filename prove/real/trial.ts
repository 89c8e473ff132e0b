import type { Row } from '../../test/support/pay-rows';
import type { Line } from '../table';
import type { Meddling } from './proxy';
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
  meet(stand: Stand, rows: readonly Row[]): Promise<string>;
}
export type StandKind =
  'plain' | 'hooked' | 'credentials' | 'lagging' | 'add-after-submit' | 'second-submit' | 'ignores-pages';

type Script = Record<string, unknown>;

export const POSTS = ['initiate', 'add', 'submit'] as const;
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
