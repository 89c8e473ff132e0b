import { paceOf, UNPACED } from './request-pace';

/** What is to be sent: payments, in so many instructions, of which some payments may be at the bank already. */
export interface SendShape {
  readonly rows: number;
  readonly instructions: number;
  readonly rowsAtBank?: number;
  /** What is read of the payments that these replace, where they replace any. */
  readonly replaced?: ReplacedReadings;
}

/** Before any repay the bank is read again: once for the run's gate, and before each submit what its payments replace. */
export interface ReplacedReadings {
  readonly atGate: LookShape;
  readonly beforeSubmits: LookShape;
  /** The general list where it is searched besides, for the gate and once for the submits. */
  readonly searched?: { readonly rows: number; readonly pageRows?: number };
}

/**
 * So many reads of one record, as the status of an instruction or a payment that its list lacks, and so many lists of payments,
 * with all they hold together.
 */
export interface LookShape {
  readonly single: number;
  readonly lists: number;
  readonly payments: number;
}

/** How fast it may be sent. */
export interface SendPace {
  /** The limit in force; undefined where none is known. */
  readonly requestsPerMinute?: number;
  /** Adds under way at once. */
  readonly addsInFlight: number;
  /** How long the reads before the gate are held back after the last add, in ms. */
  readonly lagMs: number;
  /** How the payments of one instruction are read. */
  readonly reading: PaymentReading;
  /** Whether an instruction itself is read, and with it how it stands. */
  readonly statusIsRead: boolean;
}

/**
 * Whether the bank lists an instruction's payments by themselves, lists them with everybody's of some day (then each
 * reading pages through all: `otherRows` beside the run's own), or shows them one by one only. `pageRows` where it is
 * known how many rows a full page has, `lacksSome` where such a list was seen to lack what another read shows.
 */
export type PaymentReading =
  | { readonly by: 'INSTRUCTION_PAYMENTS'; readonly pageRows?: number; readonly lacksSome?: true }
  | {
      readonly by: 'PAYMENT_LIST';
      readonly otherRows: number;
      readonly pageRows?: number;
      readonly lacksSome?: true;
    }
  | { readonly by: 'PAYMENT' };

/** Requests to the bank, and how long they take in whole milliseconds. */
export interface SendEstimate {
  readonly requests: number;
  readonly ms: number;
}

/** Page size observed in list responses (Limits), where none was learned: a bank that hands out more needs less. */
const PAGE_ROWS = 20;
/** A list may need one page more that tells how its pages count, and one that ends it. */
const EXTRA_PAGES = 2;
/** Once, where page 0 is refused: it and page 1 are asked again before the list is taken to count from 1. */
const ASKED_AGAIN = 2;
/** Assumed where no limit decides: an answer of the bank takes so long, and a submit, on its own connection, longer. */
const REQUEST_MS = 100;
const SUBMIT_MS = 2_000;

/**
 * What sending a run takes from now on: initiates, adds, two readings of every instruction (once built, and at its
 * gate), the readings of what its payments replace, the account's balance, submits, and what is read again in their turns.
 * It knows the one run only: others share the bank's limit and the service, so it can take longer; and it counts
 * instructions one after the other, though several are built side by side, and all of what may be read again, so it can be
 * sooner.
 */
export function estimateSend(shape: SendShape, pace: SendPace): SendEstimate {
  const { rows, instructions } = shape;
  const adds = Math.max(rows - (shape.rowsAtBank ?? 0), 0);
  const initiates = rows === 0 ? 0 : Math.ceil((instructions * adds) / rows);
  const again = pace.reading.by === 'PAYMENT' ? 0 : ASKED_AGAIN;
  const looks = looksOf(shape.replaced?.atGate, pace) + searchOf(shape);
  const beforeGate = initiates + readsOf(shape, pace) + again + looks + 1;
  const single = beforeGate + beforeSubmitsOf(shape, pace);
  const unpacedMs = (adds / pace.addsInFlight + single) * REQUEST_MS + instructions * SUBMIT_MS;
  const { requests, ms } = estimate(adds + single + instructions, unpacedMs, pace);
  return { requests, ms: ms + pace.lagMs };
}

/** What is left when every instruction is built and read back: the readings at the gates, and the submits. */
export function estimateSubmits(shape: SendShape, pace: SendPace): SendEstimate {
  const reads = beforeSubmitsOf(shape, pace);
  const unpacedMs = reads * REQUEST_MS + shape.instructions * SUBMIT_MS;
  return estimate(reads + shape.instructions, unpacedMs, pace);
}

/** What a submit rests on is looked at so often more where a look, or the turn after it, takes long each time. */
export const MOST_LOOKS = 3;

/**
 * What each submit rests on: its instruction, and what its payments replace. Both may be looked at `MOST_LOOKS` times more: at
 * all of the instruction, as a bank may not show its totals, and at last at the least that can be read of it; where that is all
 * of it, what its payments replace may be looked at after that too.
 */
function beforeSubmitsOf(shape: SendShape, pace: SendPace): number {
  const reads = readsOf(shape, pace);
  const least = pace.statusIsRead ? shape.instructions : reads;
  const looks = 1 + MOST_LOOKS + (pace.statusIsRead ? 0 : 1);
  const ofReplaced = looks * looksOf(shape.replaced?.beforeSubmits, pace) + searchOf(shape);
  return MOST_LOOKS * reads + least + ofReplaced;
}

/** One reading of every instruction: itself, and its payments in pages or one by one. */
function readsOf({ rows, instructions }: SendShape, { reading }: SendPace): number {
  switch (reading.by) {
    case 'PAYMENT':
      return instructions + rows;
    case 'PAYMENT_LIST': {
      const pages = Math.ceil((reading.otherRows + rows) / (reading.pageRows ?? PAGE_ROWS)) + EXTRA_PAGES;
      return instructions * (1 + pages);
    }
    case 'INSTRUCTION_PAYMENTS': {
      // The last page of each instruction may be short, so that each has one page more than its share.
      const pages = Math.ceil(rows / (reading.pageRows ?? PAGE_ROWS)) + instructions * (1 + EXTRA_PAGES);
      return instructions + pages;
    }
  }
}

/** One by one, or in pages of which the last may be short. */
function looksOf(look: LookShape | undefined, { reading }: SendPace): number {
  if (look === undefined) return 0;
  const { single, lists, payments } = look;
  if (reading.by === 'PAYMENT') return single + payments;
  return single + Math.ceil(payments / (reading.pageRows ?? PAGE_ROWS)) + lists * (1 + EXTRA_PAGES);
}

/** One search of the general list, in pages. */
function searchOf({ replaced }: SendShape): number {
  if (replaced?.searched === undefined) return 0;
  const { rows, pageRows = PAGE_ROWS } = replaced.searched;
  return Math.ceil(rows / pageRows) + EXTRA_PAGES + ASKED_AGAIN;
}

function estimate(requests: number, unpacedMs: number, { requestsPerMinute }: SendPace): SendEstimate {
  const { intervalMs } = requestsPerMinute === undefined ? UNPACED : paceOf(requestsPerMinute);
  return { requests, ms: Math.ceil(Math.max(requests * intervalMs, unpacedMs)) };
}
