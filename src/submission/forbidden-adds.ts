/** What came of adds that were sent side by side: the bank may have worked them in any order. */
export interface Turn {
  readonly taken: readonly string[];
  readonly forbidden: readonly string[];
}

/** What else tells whether the bank forbids payments, or refuses our access. */
export interface Known {
  /** Whether the bank took an add of the instruction before these turns. */
  readonly tookSome: boolean;
  /** Payments that were forbidden when people had it go on; none of them was taken since. */
  readonly resumed: ReadonlySet<string>;
  /** Of what was forbidden then, what people were asked about each since, and is not taken since, be it that others are. */
  readonly askedEach: ReadonlySet<string>;
  /** Payments that it took into another attempt to build their instruction. */
  readonly tookElsewhere: ReadonlySet<string>;
}

/** What follows: these are added, people are asked about our access, or about each of these payments. */
export interface Next {
  readonly kind: 'add' | 'access' | 'payments';
  readonly payments: readonly string[];
}

/** After so many turns in which none is taken, the one that was kept to the end shows whether any is. */
const MOST_FRUITLESS = 5;

/** So many at most are payments that are forbidden where none is taken after them; where more are, it may be our access. */
const MOST_AT_THE_END = 4;

/**
 * What follows turns of adds, some of which were forbidden. Only what is taken in a later turn shows that our access was
 * there: what was forbidden before, and is so again, are payments. One is kept to the end for that, and what is forbidden is
 * sent once more, since it was not executed. Where nothing is taken after more than a few it is our access, until two people
 * have said that it is there: forbidden still, it is these payments, unless more than a few are that they were not asked about.
 * @param open in order, the payments of the instruction that have no answer but a refusal of these turns
 */
export function afterTurns(open: readonly string[], turns: readonly Turn[], known: Known): Next {
  const lastTaken = turns.findLastIndex(({ taken }) => taken.length > 0);
  const refusals = refusalsIn(turns);
  const unsent = open.filter((one) => !refusals.has(one));
  const forbidden = open.filter((one) => refusals.has(one));
  const unshown = forbidden.filter((one) => (refusals.get(one)?.first ?? 0) >= lastTaken);
  const once = forbidden.filter((one) => refusals.get(one)?.times === 1);
  const said = saidOf(turns, known);
  const isResumed = isSaidToBeThere(open, unshown, said, known);
  const kept = unsent.slice(-1);
  const rest = unsent.slice(0, -1);

  if (forbidden.length === 0) return { kind: 'add', payments: open };
  if (kept.length > 0) {
    const fruitless = turns.length - 1 - lastTaken;
    if (fruitless > MOST_FRUITLESS && !isResumed) return { kind: 'access', payments: unshown };
    if (fruitless === MOST_FRUITLESS && !isResumed) return { kind: 'add', payments: kept };
    // What is forbidden may lie together: the next are tried from the other end.
    if (rest.length > 0) return { kind: 'add', payments: fruitless % 2 === 0 ? rest : rest.reverse() };
    return { kind: 'add', payments: once.length > 0 ? once : kept };
  }
  const few = isResumed || known.tookSome || lastTaken !== -1 ? MOST_AT_THE_END : 0;
  const unsaid = isResumed ? unshown.filter((one) => !said.has(one)) : unshown;
  if (unsaid.length > few) return { kind: 'access', payments: unshown };
  return once.length > 0 ? { kind: 'add', payments: once } : { kind: 'payments', payments: forbidden };
}

/** In which turn each was forbidden first, and how often it was. */
function refusalsIn(turns: readonly Turn[]): Map<string, { first: number; times: number }> {
  const refusals = new Map<string, { first: number; times: number }>();
  for (const [n, { forbidden }] of turns.entries())
    for (const one of forbidden) {
      const { first, times } = refusals.get(one) ?? { first: n, times: 0 };
      refusals.set(one, { first, times: times + 1 });
    }
  return refusals;
}

/**
 * What is payments by what people said of our access. It was the access, and may be so again, where something they were asked
 * about was taken since, but for what they were then asked about each.
 */
function saidOf(turns: readonly Turn[], { resumed, askedEach }: Known): ReadonlySet<string> {
  const isTaken = turns.some(({ taken }) => taken.some((one) => resumed.has(one)));
  return isTaken ? askedEach : new Set([...resumed, ...askedEach]);
}

/** Whether that stands: not where more than a few are forbidden besides that were taken before. */
function isSaidToBeThere(
  open: readonly string[],
  forbidden: readonly string[],
  said: ReadonlySet<string>,
  { tookElsewhere }: Known,
): boolean {
  if (!open.some((one) => said.has(one))) return false;
  return forbidden.filter((one) => !said.has(one) && tookElsewhere.has(one)).length <= MOST_AT_THE_END;
}
