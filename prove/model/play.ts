import type { Guard } from '../guards';
import { breaks, type Finding, Line } from '../table';
import { simulate } from './simulate';
import type { Verdict } from './verdict';
import { type Outside, OUTSIDE } from './world';

/** A seed that broke the rule. */
export interface Broken {
  seed: number;
  finding: Finding;
}

/** What a range of seeds came to. */
export interface Played {
  lines: Line[];
  broken: Broken[];
  /** In how many seeds of each world what is not assumed of it came about. */
  strayed: Record<Outside, number>;
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
  const strayed = { 'doubled-post': 0, 'add-after-submit': 0, 'second-submit': 0 };
  let played = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const verdict = simulate(seed, without);
    const line = (verdict.outside && outside.get(verdict.outside)) ?? inside;
    const finding = findingOf(verdict);
    line.add(finding);
    if (verdict.outside && verdict.strayed > 0) strayed[verdict.outside] += 1;
    played += 1;
    if (without ? !finds(verdict) : !breaksRule(verdict)) continue;
    if (broken.length < MOST_BROKEN) broken.push({ seed, finding });
    if (without) break;
  }
  const perSecond = played / ((performance.now() - started) / 1_000);
  const lines = [inside, ...outside.values()].filter(({ runs }) => runs > 0);
  return { lines, broken, strayed, perSecond };
}

/** Silence, or a double payment where nothing outside the assumptions can be the reason. */
export function finds({ outside, paidTwice, silent }: Verdict): boolean {
  return silent || (paidTwice && outside === undefined);
}

/** Whether a seed breaks the rule of the exit. */
export function breaksRule(verdict: Verdict): boolean {
  return breaks(findingOf(verdict), verdict.outside === undefined ? 'inside' : 'outside');
}

export function findingOf(verdict: Verdict): Finding {
  const { paidTwice, paidUnapproved, silent, stuck, undecided, raised } = verdict;
  return { paidTwice, paidUnapproved, silent, stuck, undecided, attention: raised.size > 0 };
}
