import { onStage, Stage } from '../src/cli/stage';
import { Book, PayOffice, SETTLED, SUBMITTED } from './pay-office';

const DEFAULT_ROWS = 100_000;
const DEFAULT_LATENCY_MS = 20;
/** As few as any of these banks were seen to show. */
const DEFAULT_PAGE_SIZE = 20;
/** Calls from the first sweep to the last, of the pages that list everything once. */
const LIMIT_CALLS = 1.3;
/** CPU of the database server, of the time that following takes. */
const LIMIT_DATABASE = 0.1;

type Operation = keyof Book['following'];

interface Figures {
  /** Reads of what was submitted, by operation. */
  calls: Book['following'];
  /** Pages that list every payment once. */
  pages: number;
  /** From the first submit to the last payment that settled: submitting and following overlap. */
  seconds: number;
  databaseUs: number;
  /** The part of it from the last submit on, when nothing but following is left. */
  lastSeconds: number;
  lastDatabaseUs: number;
}

/** Some instruction of the run is submitted. */
const SUBMITTING = `(SELECT EXISTS (SELECT FROM instruction WHERE pay_run_id = $1 AND submitted_at IS NOT NULL))`;

/** Arguments: rows, the bank's latency in ms, and rows of a page. Ends with exit code 1 when a limit is passed. */
async function main(): Promise<void> {
  const [rows = DEFAULT_ROWS, latencyMs = DEFAULT_LATENCY_MS, pageSize = DEFAULT_PAGE_SIZE] = process.argv
    .slice(2, 5)
    .map(Number);
  const figures = await onStage((stage) => follow(stage, rows, latencyMs, pageSize));
  const { calls, pages } = figures;
  process.stdout.write(
    `${rows} payments, a bank that settles at once and answers after ${latencyMs} ms with ${pageSize} to a page\n\n`,
  );
  for (const operation of Object.keys(calls) as Operation[])
    process.stdout.write(`${operation.padEnd(24)}${String(calls[operation]).padStart(8)} calls\n`);
  const total = Object.values(calls).reduce((sum, count) => sum + count, 0);
  const ratio = total / pages;
  const share = shareOf(figures.databaseUs, figures.seconds);
  process.stdout.write(
    `${'all'.padEnd(24)}${String(total).padStart(8)} calls, ${ratio.toFixed(2)} times the ${pages} pages of one listing\n\n` +
      `from the first submit:  ${said(figures.databaseUs, figures.seconds, rows)}\n` +
      `after the last submit:  ${said(figures.lastDatabaseUs, figures.lastSeconds, rows)}\n`,
  );
  if (ratio <= LIMIT_CALLS && share <= LIMIT_DATABASE) return;
  process.stdout.write('FAILED: a limit of this bench was passed.\n');
  process.exitCode = 1;
}

async function follow(stage: Stage, rows: number, latencyMs: number, pageSize: number): Promise<Figures> {
  // Open instructions are read again as seldom as in production.
  const office = await PayOffice.open(
    stage,
    latencyMs,
    { FOLLOW_DELAYS_MS: undefined },
    { STUB_PAGE_SIZE: String(pageSize) },
  );
  const run = await office.upload(rows, '2026-01');
  await office.approve(run);
  await office.until(run, SUBMITTING);
  const first = { atMs: Date.now(), ...(await office.meters()) };
  await office.until(run, SUBMITTED);
  const last = { atMs: Date.now(), ...(await office.meters()) };
  await office.until(run, SETTLED);
  const end = { atMs: Date.now(), ...(await office.meters()) };
  const { following } = await office.checkBook(run);
  return {
    calls: following,
    pages: Math.ceil(rows / pageSize),
    seconds: (end.atMs - first.atMs) / 1_000,
    databaseUs: end.databaseUs - first.databaseUs,
    lastSeconds: (end.atMs - last.atMs) / 1_000,
    lastDatabaseUs: end.databaseUs - last.databaseUs,
  };
}

function shareOf(databaseUs: number, seconds: number): number {
  return databaseUs / 1_000_000 / seconds;
}

function said(databaseUs: number, seconds: number, rows: number): string {
  return (
    `${seconds.toFixed(2)} s, database ${(100 * shareOf(databaseUs, seconds)).toFixed(1)} % of it ` +
    `(${(databaseUs / rows).toFixed(0)} µs of CPU a payment)`
  );
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
