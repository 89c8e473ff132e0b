import { onStage, Stage } from '../src/cli/stage';
import { median } from './median';
import { Book, PayOffice, SETTLED, SUBMITTED } from './pay-office';

const DEFAULT_ROWS = 100_000;
const DEFAULT_LATENCY_MS = 20;
/** As few as any of these banks were seen to show. */
const DEFAULT_PAGE_SIZE = 20;
const DEFAULT_ROUNDS = 5;
/** Calls from the first sweep to the last, of the pages that list everything once. */
const LIMIT_CALLS = 1.3;
/** CPU of the database server, of the wall time, and of what the pages take one after another, as a sweep reads them. */
const LIMIT_DATABASE = 0.1;

const ORDERS = ['at once', 'when all is submitted'] as const;
type Settles = (typeof ORDERS)[number];
type Operation = keyof Book['following'];

/** Some instruction of the run is submitted. */
const SUBMITTING = `(SELECT EXISTS (SELECT FROM instruction WHERE pay_run_id = $1 AND submitted_at IS NOT NULL))`;

interface Figures {
  calls: Book['following'];
  /** From the first read of what was submitted to the last payment that settled. */
  seconds: number;
  databaseUs: number;
}

/**
 * Arguments: rows, the bank's latency in ms, rows of a page, and rounds. Ends with exit code 1 when a limit does not hold.
 */
async function main(): Promise<void> {
  const [
    rows = DEFAULT_ROWS,
    latencyMs = DEFAULT_LATENCY_MS,
    pageSize = DEFAULT_PAGE_SIZE,
    rounds = DEFAULT_ROUNDS,
  ] = process.argv.slice(2, 6).map(Number);
  const pages = Math.ceil(rows / pageSize);
  process.stdout.write(
    `${rows} payments, a bank that answers after ${latencyMs} ms with ${pageSize} to a page: ${pages} pages list them once\n`,
  );
  const measured: Record<Settles, Figures[]> = { 'at once': [], 'when all is submitted': [] };
  for (let round = 1; round <= rounds; round += 1)
    for (const settles of ORDERS) {
      const one = await onStage((stage) => follow(stage, rows, latencyMs, pageSize, settles));
      measured[settles].push(one);
      process.stdout.write(
        `round ${round}, settles ${settles}: ${one.seconds.toFixed(2)} s, database ${percent(shareOf(one))} of it\n`,
      );
    }
  for (const settles of ORDERS) say(settles, measured[settles], { rows, pages, latencyMs });
}

/** The middle of the rounds, each share that of its own round. */
function say(
  settles: Settles,
  rounds: readonly Figures[],
  { rows, pages, latencyMs }: { rows: number; pages: number; latencyMs: number },
): void {
  const mid = (of: (one: Figures) => number) => median(rounds.map(of));
  const count = (name: string, of: (one: Figures) => number) =>
    process.stdout.write(`${name.padEnd(24)}${String(mid(of)).padStart(8)} calls\n`);
  const all = ({ calls }: Figures) => Object.values(calls).reduce((sum, one) => sum + one, 0);
  const sweepSeconds = (pages * latencyMs) / 1_000;
  process.stdout.write(`\nsettles ${settles}, medians of ${rounds.length}\n`);
  for (const operation of Object.keys(rounds[0]?.calls ?? {}) as Operation[])
    count(operation, ({ calls }) => calls[operation]);
  count('all', all);
  const ratio = mid(all) / pages;
  process.stdout.write(
    `${mid(({ seconds }) => seconds).toFixed(2)} s of wall time, ${sweepSeconds.toFixed(2)} s for the pages one after ` +
      `another; CPU of the database ${(mid(({ databaseUs }) => databaseUs) / rows).toFixed(0)} µs a payment\n` +
      `times the pages: ${ratio.toFixed(2)}; ${verdict(ratio <= LIMIT_CALLS, LIMIT_CALLS.toFixed(1))}\n`,
  );
  const ofDatabase = (name: string, share: number) => {
    // While others are still submitted, the database works for both.
    const judged =
      settles === 'at once' ? '' : `; ${verdict(share <= LIMIT_DATABASE, percent(LIMIT_DATABASE))}`;
    process.stdout.write(`database, of ${name}: ${percent(share)}${judged}\n`);
  };
  ofDatabase('the wall time', mid(shareOf));
  ofDatabase(
    'the time of one page after another',
    mid(({ databaseUs }) => databaseUs) / 1_000_000 / sweepSeconds,
  );
}

/** What does not hold makes the whole fail at its end. */
function verdict(holds: boolean, limit: string): string {
  if (!holds) process.exitCode = 1;
  return `at most ${limit}: ${holds ? 'holds' : 'DOES NOT HOLD'}`;
}

/** What the database used of the wall time. */
function shareOf({ databaseUs, seconds }: Figures): number {
  return databaseUs / 1_000_000 / seconds;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

async function follow(
  stage: Stage,
  rows: number,
  latencyMs: number,
  pageSize: number,
  settles: Settles,
): Promise<Figures> {
  // Open instructions are read again as seldom as in production.
  const office = await PayOffice.open(
    stage,
    latencyMs,
    { FOLLOW_DELAYS_MS: undefined },
    { STUB_PAGE_SIZE: String(pageSize), ...(settles === 'at once' ? {} : { STUB_SETTLES: 'told' }) },
  );
  const run = await office.upload(rows);
  await office.approve(run);
  await office.until(run, settles === 'at once' ? SUBMITTING : SUBMITTED);
  const before = await office.meters();
  if (settles !== 'at once') await office.settle();
  await office.until(run, SETTLED);
  const endedAt = Date.now();
  const after = await office.meters();
  const { following, followedSince = NaN } = await office.checkBook(run);
  return {
    calls: following,
    seconds: (endedAt - followedSince) / 1_000,
    databaseUs: after.databaseUs - before.databaseUs,
  };
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
