import { onStage, Stage } from '../src/cli/stage';
import { Book, PayOffice, SETTLED, SUBMITTED } from './pay-office';

const DEFAULT_ROWS = 100_000;
const DEFAULT_LATENCY_MS = 20;
/** As few as any of these banks were seen to show. */
const DEFAULT_PAGE_SIZE = 20;
/** Calls from the first sweep to the last, of the pages that list everything once. */
const LIMIT_CALLS = 1.3;
/** CPU of the database server, of the time that the pages take one after another, as a sweep reads them. */
const LIMIT_DATABASE = 0.1;

type Operation = keyof Book['following'];

/** Some instruction of the run is submitted. */
const SUBMITTING = `(SELECT EXISTS (SELECT FROM instruction WHERE pay_run_id = $1 AND submitted_at IS NOT NULL))`;

interface Figures {
  calls: Book['following'];
  /** From the first read of what was submitted to the last payment that settled. */
  seconds: number;
  databaseUs: number;
}

/** Arguments: rows, the bank's latency in ms, and rows of a page. Ends with exit code 1 when a limit is passed. */
async function main(): Promise<void> {
  const [rows = DEFAULT_ROWS, latencyMs = DEFAULT_LATENCY_MS, pageSize = DEFAULT_PAGE_SIZE] = process.argv
    .slice(2, 5)
    .map(Number);
  const pages = Math.ceil(rows / pageSize);
  const sweepSeconds = (pages * latencyMs) / 1_000;
  process.stdout.write(
    `${rows} payments, a bank that answers after ${latencyMs} ms with ${pageSize} to a page: ${pages} pages list them once\n`,
  );
  const shares: number[] = [];
  const ratios: number[] = [];
  for (const settles of ['at once', 'when all is submitted'] as const) {
    const figures = await onStage((stage) => follow(stage, rows, latencyMs, pageSize, settles));
    const calls = Object.values(figures.calls).reduce((sum, count) => sum + count, 0);
    const databaseSeconds = figures.databaseUs / 1_000_000;
    shares.push(databaseSeconds / sweepSeconds);
    ratios.push(calls / pages);
    process.stdout.write(`\nsettles ${settles}\n`);
    for (const operation of Object.keys(figures.calls) as Operation[])
      process.stdout.write(`${operation.padEnd(24)}${String(figures.calls[operation]).padStart(8)} calls\n`);
    process.stdout.write(
      `${'all'.padEnd(24)}${String(calls).padStart(8)} calls, ${ratios.at(-1)?.toFixed(2)} times the pages\n` +
        `${figures.seconds.toFixed(2)} s, database ${percent(databaseSeconds / figures.seconds)} of it ` +
        `(${(figures.databaseUs / rows).toFixed(0)} µs of CPU a payment); ` +
        `${sweepSeconds.toFixed(2)} s for the pages one after another, ${percent(shares.at(-1) ?? NaN)} of that\n`,
    );
  }
  // While others are still submitted, the database works for both.
  if (ratios.every((ratio) => ratio <= LIMIT_CALLS) && (shares.at(-1) ?? 1) <= LIMIT_DATABASE) return;
  process.stdout.write('FAILED: a limit of this bench was passed.\n');
  process.exitCode = 1;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

async function follow(
  stage: Stage,
  rows: number,
  latencyMs: number,
  pageSize: number,
  settles: 'at once' | 'when all is submitted',
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
