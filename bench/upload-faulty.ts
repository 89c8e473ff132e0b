import { Readable } from 'node:stream';
import { onStage } from '../src/cli/stage';
import { median } from './median';
import { payFileOf } from './pay-rows';
import { peakDuring } from './peak-memory';
import { Stand } from './stand';

/** Months of the good and of the faulty file of each round: nobody is paid twice in one. */
const PERIODS = [
  ['2026-01', '2026-07'],
  ['2026-02', '2026-08'],
  ['2026-03', '2026-09'],
] as const;

/** The same file in a currency that no row can be paid in. */
function faultyFileOf(rows: number): Readable {
  return payFileOf(rows).map((chunk: Buffer) => Buffer.from(chunk.toString().replaceAll(',EUR,', ',USD,')));
}

/** Times good files and files with a fault in each row in turn, then the corrections file; the argument is the rows. */
async function main(): Promise<void> {
  const rows = Number(process.argv[2] ?? 100_000);
  await onStage(async (stage) => {
    const stand = await Stand.open(stage);
    const service = await stand.startService();
    const times: { good: number[]; faulty: number[] } = { good: [], faulty: [] };
    process.stdout.write(`${rows} rows     good     faulty  corrections  peak RSS\n`);
    for (const [period, another] of PERIODS) {
      const good = await stand.upload(service, rows, period);
      let line = '';
      const peakBytes = await peakDuring(service, async () => {
        const { seconds, body } = await stand.send(service, faultyFileOf(rows), another);
        const refused = JSON.parse(body) as { faultCount: number; corrections: { id: string } };
        if (refused.faultCount !== rows)
          throw new Error(`${refused.faultCount} of ${rows} faults were counted`);
        times.good.push(good.seconds);
        times.faulty.push(seconds);
        const path = `refused-files/${refused.corrections.id}/corrections.csv`;
        const got = await stand.fetched(service, path);
        line = [good.seconds, seconds, got.seconds].map((one) => `${one.toFixed(2)} s`.padStart(10)).join('');
      });
      process.stdout.write(`${period}  ${line}  ${(peakBytes / 1_000_000).toFixed(0)} MB\n`);
    }
    process.stdout.write(`ratio    ${(median(times.faulty) / median(times.good)).toFixed(2)}\n`);
  });
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
