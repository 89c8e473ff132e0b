import type { PayrollOptions } from '../../test/support/payroll';
import type { Report } from '../report';
import { breaks, Line, wordsOf } from '../table';
import { Stand } from './stand';
import type { StandKind, Trial } from './trial';
import { allTrials } from './trials';

/** The banks and services the trials need. */
const STANDS: Readonly<Record<StandKind, PayrollOptions>> = {
  plain: {},
  hooked: { hooked: true },
  credentials: { sandbox: { variants: { tokenLifetimeS: 2 } } },
  lagging: { sandbox: { variants: { listingLagMs: 280 } } },
  'ignores-pages': { sandbox: { variants: { ignorePageParams: true, maxPageSize: 7 } } },
  'add-after-submit': { sandbox: { variants: { addAfterSubmit: 'accepted' } } },
  'second-submit': { sandbox: { variants: { secondSubmit: 'executed' } } },
};

/** Runs the trials against real processes, PostgreSQL and the sandbox; a broken stand is left behind. */
export async function proveFaults(
  report: Report,
  asked: { short: boolean; fault: string | undefined },
): Promise<void> {
  const trials = allTrials().filter(({ short, fault }) =>
    asked.fault === undefined ? short || !asked.short : fault.includes(asked.fault),
  );
  for (const kind of Object.keys(STANDS) as StandKind[]) {
    const mine = trials.filter(({ stand }) => stand === kind);
    if (mine.length > 0) await onStand(kind, mine, report);
  }
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
    if (breaks(finding, trial.assumptions)) report.breakage(`${trial.fault}: ${wordsOf(finding)}`, again);
    return !finding.stuck && !finding.paidTwice && !finding.paidUnapproved;
  } catch (error) {
    report.breakage(`${trial.fault}: ${error instanceof Error ? error.message : String(error)}`, again);
    return false;
  }
}
