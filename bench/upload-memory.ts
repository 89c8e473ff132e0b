import { onStage } from '../src/cli/stage';
import { median } from './median';
import { peakDuring } from './peak-memory';
import { Stand } from './stand';

const LIMIT_BYTES = 200 * 1_000_000;
/** Of the large file against the small one: more would grow with the file. */
const LIMIT_GROWTH = 1.1;
const SMALL_ROWS = 10_000;
const LARGE_ROWS = 100_000;
/** What most employers pay in a month, and how long they wait for the answer at the median. */
const USUAL_ROWS = 250;
const USUAL_LIMIT_MS = 150;
const USUAL_MONTHS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const COLUMNS = ['  rows', 'seconds', 'peak RSS in MB', 'rows/s'] as const;

interface Figure {
  rows: number;
  seconds: number;
  peakBytes: number;
}

/**
 * Uploads a small and a large file, each to a fresh process, and then usual ones. The arguments are the rows of the large
 * one, if the first is a number, and flags of node for the services.
 */
async function main(): Promise<void> {
  const given = process.argv.slice(2);
  const largeRows = /^[0-9]+$/.test(given[0] ?? '') ? Number(given.shift()) : LARGE_ROWS;
  await onStage(async (stage) => {
    const stand = await Stand.open(stage);
    say(COLUMNS);
    const small = await measure(stand, SMALL_ROWS, 0, given);
    const large = await measure(stand, largeRows, 1, given);
    const growth = megabytes(large.peakBytes - small.peakBytes);
    const limit = megabytes(LIMIT_BYTES);
    const times = largeRows / SMALL_ROWS;
    process.stdout.write(`\n${times} times the rows took ${growth} MB more; the limit is ${limit} MB.\n`);
    if (Math.max(small.peakBytes, large.peakBytes) > LIMIT_BYTES)
      fail('the service took more memory than the limit');
    if (large.peakBytes > LIMIT_GROWTH * small.peakBytes) fail('the memory grew with the file');
    await measureUsual(stand);
  });
}

/** Times the answers to usual files, one after the other. */
async function measureUsual(stand: Stand): Promise<void> {
  const service = await stand.startService();
  const times: number[] = [];
  for (const month of USUAL_MONTHS) times.push((await stand.upload(service, USUAL_ROWS, month)).seconds);
  const medianMs = median(times) * 1_000;
  process.stdout.write(
    `${USUAL_ROWS} rows are answered in ${medianMs.toFixed(0)} ms, the median of ${times.length}; the limit is ${USUAL_LIMIT_MS} ms.\n`,
  );
  if (medianMs > USUAL_LIMIT_MS) fail('an answer took longer than the limit');
}

function fail(what: string): void {
  process.stdout.write(`FAILED: ${what}.\n`);
  process.exitCode = 1;
}

async function measure(
  stand: Stand,
  rows: number,
  month: number,
  nodeFlags: readonly string[],
): Promise<Figure> {
  const service = await stand.startService(nodeFlags);
  let seconds = 0;
  const peakBytes = await peakDuring(service, async () => {
    ({ seconds } = await stand.upload(service, rows, month));
  });
  await service.stop();
  say([String(rows), seconds.toFixed(2), megabytes(peakBytes), (rows / seconds).toFixed(0)]);
  return { rows, seconds, peakBytes };
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(0);
}

function say(cells: readonly string[]): void {
  process.stdout.write(`${cells.map((cell, n) => cell.padStart(COLUMNS[n]?.length ?? 0)).join('  ')}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
