import { onStage } from '../src/cli/stage';
import { BareCopy } from './bare-copy';
import { Stand } from './stand';

const ROWS = 100_000;
/** Each round in a month of its own: nobody is paid twice in one. */
const PERIODS = ['2026-01', '2026-02', '2026-03'] as const;

/** Times uploads and bare COPYs of the same rows in turn, so that both meet the same machine. */
async function main(): Promise<void> {
  await onStage(async (stage) => {
    const stand = await Stand.open(stage);
    const service = await stand.startService();
    const bare = await stage.own(BareCopy.open(stand));
    const uploads: number[] = [];
    const copies: number[] = [];
    process.stdout.write(`${ROWS} rows     upload  bare COPY\n`);
    for (const period of PERIODS) {
      const { seconds, run } = await stand.upload(service, ROWS, period);
      uploads.push(seconds);
      copies.push(await bare.time(await bare.rowsOf(run.id)));
      say(period, uploads.slice(-1), copies.slice(-1));
    }
    say('median', uploads, copies);
    process.stdout.write(`ratio   ${(median(uploads) / median(copies)).toFixed(2)}\n`);
  });
}

function median(seconds: readonly number[]): number {
  return [...seconds].sort((a, b) => a - b)[Math.floor(seconds.length / 2)] ?? 0;
}

function say(name: string, uploads: readonly number[], copies: readonly number[]): void {
  const [upload, copy] = [uploads, copies].map((seconds) => `${median(seconds).toFixed(2)} s`.padStart(9));
  process.stdout.write(`${name.padEnd(8)} ${upload}  ${copy}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
