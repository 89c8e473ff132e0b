import { onStage } from '../src/cli/stage';
import { BareCopy } from './bare-copy';
import { median } from './median';
import { Stand } from './stand';

/** Each round in a month of its own: nobody is paid twice in one. */
const MONTHS = [0, 1, 2] as const;
/** The month that is compared with the one before it, which was settled meanwhile. */
const COMPARED = 3;
const LIMIT = 1.5;

/**
 * Times uploads and bare COPYs of the same rows in turn, so that both meet the same machine; at last an upload that is
 * compared with a settled month. The arguments are the rows and the rounds, at most three.
 */
async function main(): Promise<void> {
  const rows = Number(process.argv[2] ?? 100_000);
  const months = MONTHS.slice(0, Number(process.argv[3] ?? MONTHS.length));
  await onStage(async (stage) => {
    const stand = await Stand.open(stage);
    const service = await stand.startService();
    const bare = await stage.own(BareCopy.open(stand));
    const uploads: number[] = [];
    const copies: number[] = [];
    let last = '';
    process.stdout.write(`${rows} rows     upload  bare COPY\n`);
    for (const month of months) {
      const { seconds, run } = await stand.upload(service, rows, month);
      uploads.push(seconds);
      copies.push(await bare.time(run.id));
      last = run.id;
      say(`month ${month}`, uploads.slice(-1), copies.slice(-1));
    }
    say('median', uploads, copies);
    const ratio = median(uploads) / median(copies);
    process.stdout.write(`ratio   ${ratio.toFixed(2)}; the limit is ${LIMIT}\n`);
    if (ratio > LIMIT) process.exitCode = 1;
    await bare.settle(last);
    const { seconds } = await stand.upload(service, rows, COMPARED);
    process.stdout.write(`compared with a settled month: ${seconds.toFixed(2)} s\n`);
  });
}

function say(name: string, uploads: readonly number[], copies: readonly number[]): void {
  const [upload, copy] = [uploads, copies].map((seconds) => `${median(seconds).toFixed(2)} s`.padStart(9));
  process.stdout.write(`${name.padEnd(8)} ${upload}  ${copy}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
