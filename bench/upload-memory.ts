import { onStage } from '../src/cli/stage';
import { peakDuring } from './peak-memory';
import { Stand } from './stand';

/** What a container of 256 MB leaves the process. */
const LIMIT_BYTES = 250 * 1_000_000;
const SMALL_ROWS = 10_000;
const LARGE_ROWS = 100_000;
const COLUMNS = ['  rows', 'seconds', 'peak RSS in MB', 'rows/s'] as const;

interface Figure {
  rows: number;
  seconds: number;
  peakBytes: number;
}

/** Uploads a small and a large file, each to a fresh process; the arguments are flags of node for those. */
async function main(): Promise<void> {
  const nodeFlags = process.argv.slice(2);
  await onStage(async (stage) => {
    const stand = await Stand.open(stage);
    say(COLUMNS);
    const small = await measure(stand, SMALL_ROWS, '2026-01', nodeFlags);
    const large = await measure(stand, LARGE_ROWS, '2026-02', nodeFlags);
    const growth = megabytes(large.peakBytes - small.peakBytes);
    const limit = megabytes(LIMIT_BYTES);
    process.stdout.write(`\nTen times the rows took ${growth} MB more; the limit is ${limit} MB.\n`);
    if (Math.max(small.peakBytes, large.peakBytes) <= LIMIT_BYTES) return;
    process.stdout.write('FAILED: the service took more memory than the limit.\n');
    process.exitCode = 1;
  });
}

async function measure(
  stand: Stand,
  rows: number,
  period: string,
  nodeFlags: readonly string[],
): Promise<Figure> {
  const service = await stand.startService(nodeFlags);
  let seconds = 0;
  const peakBytes = await peakDuring(service, async () => {
    ({ seconds } = await stand.upload(service, rows, period));
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
