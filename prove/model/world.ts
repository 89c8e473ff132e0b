import type { Guard } from '../guards';
import type { Random } from './random';

/** What is assumed of the bank and the network, broken one at a time (`protocol.md`, assumptions a, b and rule 8). */
export const OUTSIDE = ['doubled-post', 'add-after-submit', 'second-submit'] as const;
export type Outside = (typeof OUTSIDE)[number];

/** Times of the model in virtual milliseconds: the proportions are those of the product's defaults. */
export const LAG_BOUND_MS = 60;
export const LEASE_MS = 80;
export const SUBMIT_DOUBT_MS = 200;
/** A day: what ended is read again as often, and no request is under way for longer. */
export const WATCH_MS = 700;
/** The product sends 100 rows in a batch; two batches of one process are under way at once here too. */
export const BATCH_ROWS = 2;
/** Nothing goes wrong any more from here on, so that whatever does not end by then is stuck. */
export const LAST_FAULT_MS = 1_500;
export const REBUILD_LIMIT = 5;

/** The bank, the network and the machines of one seed. */
export interface World {
  /** Undefined: everything that is assumed holds. */
  outside: Outside | undefined;
  /** Whether the bank executes a submit of what was submitted, whoever sends it: inside what is assumed nobody does. */
  executesSecondSubmit: boolean;
  /** Reads are up to this old; never above the lag bound. */
  lagMs: number;
  /** Share of the calls that go wrong. */
  faultRate: number;
  crashRate: number;
  pauseRate: number;
  /** Share of the transactions whose commit hangs or loses its connection. */
  lostCommitRate: number;
  /** Whether a read of payments shows all of an instruction, or only those whose ids are known. */
  reads: 'all' | 'known-ids';
  /** The bank's word that a 401 or 429 on a submit never executes it; it need not keep it, since a read tells. */
  rejectsBeforeExecuting: boolean;
  instructions: number;
  rowsPerInstruction: number;
  /** Somebody edits a row after its approval, past the service. */
  tampered: boolean;
  /** Somebody arms a parked submit again by hand, past the service. */
  armedByHand: boolean;
  cancelledAtMs: number | undefined;
  cutOffAtMs: number | undefined;
}

/** The worlds in which a guard is the one that holds: with it nothing happens in them either. */
export const WHERE_IT_HOLDS: Readonly<Record<Guard, Partial<World>>> = {
  // Of what may lose an intent that is not durable, a crash alone.
  intent: {
    outside: undefined,
    executesSecondSubmit: true,
    crashRate: 0.04,
    pauseRate: 0,
    lostCommitRate: 0,
    armedByHand: false,
  },
  abandon: {},
  gate: {},
  unique: { outside: undefined, executesSecondSubmit: true, armedByHand: true, lagMs: LAG_BOUND_MS },
  fencing: { pauseRate: 0.1, outside: undefined, executesSecondSubmit: false },
  echo: { outside: undefined, executesSecondSubmit: false },
  // What comes between the last read before a submit and the submit, the totals alone tell.
  totals: {
    outside: 'doubled-post',
    executesSecondSubmit: false,
    reads: 'known-ids',
    lagMs: LAG_BOUND_MS,
    crashRate: 0.1,
    rowsPerInstruction: 3,
  },
};

/** Draws the world of a seed; a guard taken away is tried in the worlds in which it is what holds. */
export function drawWorld(random: Random, without: Guard | undefined): World {
  const outside = random.chance(0.3) ? random.pick(OUTSIDE) : undefined;
  return {
    outside,
    executesSecondSubmit: outside === undefined || outside === 'second-submit',
    lagMs: random.chance(0.5) ? random.between(1, LAG_BOUND_MS) : 0,
    faultRate: random.chance(0.9) ? 0.12 : 0,
    crashRate: random.chance(0.7) ? 0.02 : 0,
    pauseRate: random.chance(0.6) ? 0.03 : 0,
    lostCommitRate: random.chance(0.3) ? 0.02 : 0,
    reads: random.chance(0.75) ? 'all' : 'known-ids',
    rejectsBeforeExecuting: random.chance(0.3),
    instructions: random.between(1, 2),
    rowsPerInstruction: random.between(1, 5),
    tampered: random.chance(0.02),
    armedByHand: random.chance(0.1),
    cancelledAtMs: random.chance(0.05) ? random.between(5, 300) : undefined,
    cutOffAtMs: random.chance(0.05) ? random.between(40, 400) : undefined,
    ...(without && WHERE_IT_HOLDS[without]),
  };
}
