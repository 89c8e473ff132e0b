import type { Guard } from '../guards';
import { breaks, type Finding, Line } from '../table';
import { simulate } from './simulate';
import type { Verdict } from './verdict';
import { OUTSIDE } from './world';

/** A seed that broke the rule. */
export interface Broken {
  seed: number;
  finding: Finding;
}

/** What a range of seeds came to. */
export interface Played {
  lines: Line[];
  broken: Broken[];
  perSecond: number;
}

const NAMES = {
  'doubled-post': 'model: the network doubles a POST',
  'add-after-submit': 'model: the bank accepts an add after the submit',
  'second-submit': 'model: the bank executes a second submit',
} as const;
/** More failing seeds than anybody plays again. */
const MOST_BROKEN = 20;

/** Plays `count` seeds from `first`, all faults mixed; with a guard taken away, up to the first broken seed. */
export function playSeeds(first: number, count: number, without?: Guard): Played {
  // The errors of the model are its ordinary traffic; their stacks would be most of its cost.
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return play(first, count, without);
  } finally {
    Error.stackTraceLimit = before;
  }
}

function play(first: number, count: number, without: Guard | undefined): Played {
  const started = performance.now();
  const inside = new Line('model: 12 % of calls fail, crashes, pauses, lag, people', 'inside');
  const outside = new Map(OUTSIDE.map((kind) => [kind, new Line(NAMES[kind], 'outside')] as const));
  const broken: Broken[] = [];
  let played = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const verdict = simulate(seed, without);
    const line = (verdict.outside && outside.get(verdict.outside)) ?? inside;
    const finding = findingOf(verdict);
    line.add(finding);
    played += 1;
    if (without ? !finds(verdict) : !breaks(finding, line.assumptions)) continue;
    if (broken.length < MOST_BROKEN) broken.push({ seed, finding });
    if (without) break;
  }
  const perSecond = played / ((performance.now() - started) / 1_000);
  return { lines: [inside, ...outside.values()].filter(({ runs }) => runs > 0), broken, perSecond };
}

/** Silence, or a double payment where no second request or add can be the reason. */
function finds({ outside, paidTwice, silent }: Verdict): boolean {
  return silent || (paidTwice && (outside === undefined || outside === 'second-submit'));
}

export function findingOf({ paidTwice, paidUnapproved, silent, stuck, raised }: Verdict): Finding {
  return { paidTwice, paidUnapproved, silent, stuck, attention: raised.size > 0 };
}
