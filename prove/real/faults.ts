import { Lanes } from '../../src/config/lanes';
import { type Asked, BadArguments } from '../arguments';
import type { Report } from '../report';
import { breaks, Line, wordsOf } from '../table';
import { AT_ONCE, type Conclusion, DID_NOT_STRIKE, Stand } from './stand';
import { STANDS } from './stands';
import type { StandKind, Trial } from './trial';
import { allTrials } from './trials';

/** Trials of one kind in a row on one stand; few enough for the lanes to end together. */
const TRIALS_PER_STAND = 10;

/** Runs the trials against real processes, PostgreSQL and the sandbox; a broken stand is left behind. */
export async function proveFaults(
  report: Report,
  asked: Pick<Asked, 'short' | 'half' | 'fault'>,
): Promise<void> {
  const trials = trialsOf(asked);
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

function trialsOf({ short, half, fault }: Pick<Asked, 'short' | 'half' | 'fault'>): Trial[] {
  const every = allTrials();
  const words = fault?.split('|');
  if (words) return every.filter((trial) => words.some((one) => trial.fault.includes(one)));
  if (!short) return every;
  return every.filter((trial) => trial.short).filter((_, n) => n % 2 === half - 1);
}

async function onStand(kind: StandKind, trials: readonly Trial[], report: Report): Promise<void> {
  let stand = await Stand.open(STANDS[kind]);
  let played: Trial[] = [];
  const renew = async () => {
    // A trial that broke off leaves its faults on, and processes that were killed or stopped.
    await lookOnceMore(stand, played, report, () => stand.recover());
    const next = await Stand.open(STANDS[kind]);
    await stand.close();
    stand = next;
    played = [];
  };
  try {
    for (const trial of trials) {
      played.push(trial);
      let met = await meet(stand, trial, report, 'first');
      if (met === 'did not strike') {
        await renew();
        played.push(trial);
        met = await meet(stand, trial, report, 'again');
      }
      if (met !== 'clean') await renew();
    }
    await lookOnceMore(stand, played, report);
  } finally {
    await stand.close();
  }
}

/** What moved of a trial while others went on. */
async function lookOnceMore(
  stand: Stand,
  trials: readonly Trial[],
  report: Report,
  prepare = () => Promise.resolve(),
): Promise<void> {
  const words = await prepare()
    .then(() => stand.lastLook())
    .catch((error: unknown) => String(error));
  if (words === '') return;
  const faults = trials.map(({ fault }) => fault).join('|');
  report.breakage(
    `after their trials, ${words}: ${faults}`,
    `npm run -s prove -- --only faults --fault '${faults}'`,
  );
}

/** `clean`: the stand can be used again. */
type Met = 'clean' | 'broken' | 'did not strike';

/**
 * One trial, told as one line. One whose fault changed nothing, on a machine that was busy with others, is no finding
 * the first time.
 */
async function meet(stand: Stand, trial: Trial, report: Report, time: 'first' | 'again'): Promise<Met> {
  const line = new Line(trial.fault, trial.assumptions);
  const rows = stand.freshRows(trial.instructions);
  const startedMs = Date.now();
  const again = `npm run -s prove -- --only faults --fault '${trial.fault}'`;
  const missed = (): Met => {
    report.say(`${trial.fault}: did not strike; once more`);
    return 'did not strike';
  };
  try {
    const runs = await trial.meet(stand, rows);
    const finding = await stand.conclude(runs, rows, startedMs);
    const broken = breaks(finding, trial.assumptions);
    if (finding.missed.length > 0 && !broken && time === 'first') return missed();
    line.add(finding);
    report.line(line);
    for (const remark of stand.takeRemarks()) report.say(remark);
    const words = broken ? [wordsOf(finding), ...finding.standing] : [];
    words.push(...shortcomingsOf(trial, finding));
    if (words.length > 0) report.breakage(`${trial.fault}: ${words.join('; ')}`, again);
    return words.length === 0 && !finding.paidTwice && !finding.paidUnapproved ? 'clean' : 'broken';
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (why.startsWith(DID_NOT_STRIKE) && time === 'first') return missed();
    report.breakage(`${trial.fault}: ${why}${stand.lastWords()}`, again);
    return 'broken';
  }
}

/** Why a trial has shown nothing: its fault changed nothing, or other people were asked than it says. */
export function shortcomingsOf(
  { expects, assumptions }: Pick<Trial, 'expects' | 'assumptions'>,
  { missed, raised }: Pick<Conclusion, 'missed' | 'raised'>,
): string[] {
  const unasked = expects?.filter((kind) => !raised.includes(kind)) ?? [];
  const breach = assumptions === 'inside' ? raised.filter((kind) => kind === 'INVARIANT_BREACH') : [];
  const uncalled = expects?.length === 0 ? raised : expects?.includes('INVARIANT_BREACH') ? [] : breach;
  return [
    ...(missed.length > 0 ? [`did not strike: ${missed.join(', ')}`] : []),
    ...(unasked.length > 0 ? [`nobody was asked: ${unasked.join(', ')}`] : []),
    ...(uncalled.length > 0 ? [`somebody was asked: ${uncalled.join(', ')}`] : []),
  ];
}
