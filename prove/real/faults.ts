import { Lanes } from '../../src/config/lanes';
import type { PayrollOptions } from '../../test/support/payroll';
import { BadArguments } from '../arguments';
import type { Report } from '../report';
import { breaks, Line, wordsOf } from '../table';
import { AT_ONCE, Stand } from './stand';
import type { StandKind, Trial } from './trial';
import { allTrials } from './trials';

/** The banks and services the trials need. */
const STANDS: Readonly<Record<StandKind, PayrollOptions>> = {
  plain: {},
  // Polling is slow enough for webhooks to matter.
  hooked: { hooked: true, settings: { FOLLOW_DELAYS_MS: '2000' } },
  // Its bank's clock may be moved on.
  shifted: {},
  credentials: { sandbox: { variants: { tokenLifetimeS: 2 } } },
  'no-links': { sandbox: { variants: { linkReads: 'refused' } } },
  lagging: { sandbox: { variants: { listingLagMs: 280 } } },
  'lagging-beyond': { sandbox: { variants: { listingLagMs: 600 } } },
  'minute-behind': {
    sandbox: { variants: { listingLagMs: 60_000 } },
    settings: { BANK_LAG_BOUND_MS: '61000' },
  },
  'ignores-pages': { sandbox: { variants: { ignorePageParams: true, maxPageSize: 7 } } },
  'small-pages': { sandbox: { variants: { maxPageSize: 2 } } },
  'add-after-submit': { sandbox: { variants: { addAfterSubmit: 'accepted' } } },
  'second-submit': { sandbox: { variants: { secondSubmit: 'executed' } } },
};
/** Trials of one kind in a row on one stand; few enough for the lanes to end together. */
const TRIALS_PER_STAND = 10;

/** Runs the trials against real processes, PostgreSQL and the sandbox; a broken stand is left behind. */
export async function proveFaults(
  report: Report,
  asked: { short: boolean; fault: string | undefined },
): Promise<void> {
  const words = asked.fault?.split('|');
  const trials = allTrials().filter(({ short, fault }) =>
    words === undefined ? short || !asked.short : words.some((one) => fault.includes(one)),
  );
  if (trials.length === 0) throw new BadArguments(`no fault of the table has these words: ${asked.fault}`);
  const batches = (Object.keys(STANDS) as StandKind[]).flatMap((kind) => {
    const mine = trials.filter(({ stand }) => stand === kind);
    const count = Math.ceil(mine.length / TRIALS_PER_STAND);
    return Array.from({ length: count }, (_, n) => ({
      kind,
      trials: mine.slice(n * TRIALS_PER_STAND, (n + 1) * TRIALS_PER_STAND),
    }));
  });
  const lanes = new Lanes(AT_ONCE);
  await Promise.all(batches.map((batch) => lanes.run(() => onStand(batch.kind, batch.trials, report))));
}

async function onStand(kind: StandKind, trials: readonly Trial[], report: Report): Promise<void> {
  let stand = await Stand.open(STANDS[kind]);
  try {
    for (const trial of trials) {
      const clean = await meet(stand, trial, report);
      if (clean) continue;
      await stand.close();
      stand = await Stand.open(STANDS[kind]);
    }
  } finally {
    await stand.close();
  }
}

/** One trial, told as one line. Answers whether the stand can be used again. */
async function meet(stand: Stand, trial: Trial, report: Report): Promise<boolean> {
  const line = new Line(trial.fault, trial.assumptions);
  const rows = stand.freshRows(trial.instructions);
  const startedMs = Date.now();
  const again = `npm run -s prove -- --only faults --fault '${trial.fault}'`;
  try {
    const id = await trial.meet(stand, rows);
    const finding = await stand.conclude(id, rows, startedMs);
    line.add(finding);
    report.line(line);
    for (const remark of stand.takeRemarks()) report.say(remark);
    if (breaks(finding, trial.assumptions)) report.breakage(`${trial.fault}: ${wordsOf(finding)}`, again);
    return !finding.stuck && !finding.paidTwice && !finding.paidUnapproved;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report.breakage(`${trial.fault}: ${why}${stand.lastWords()}`, again);
    return false;
  }
}
