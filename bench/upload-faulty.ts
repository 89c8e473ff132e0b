import { Readable } from 'node:stream';
import { onStage } from '../src/cli/stage';
import { median } from './median';
import { payFileOf } from './pay-rows';
import { peakDuring } from './peak-memory';
import { Stand } from './stand';

/** Months of the good and of the faulty file of each round: nobody is paid twice in one. */
const MONTHS = [
  [0, 1],
  [2, 3],
  [4, 5],
] as const;

/** The same file in a currency that no row can be paid in. */
async function faultyFileOf(rows: number): Promise<Readable> {
  const chunks: Buffer[] = await payFileOf(rows).toArray();
  return Readable.from(chunks.map((chunk) => Buffer.from(chunk.toString().replaceAll(',EUR,', ',USD,'))));
}

const LIMIT_BYTES = 200 * 1_000_000;

/**
 * Times good files and files with a fault in each row in turn, then the corrections file; the arguments are the rows
 * and the rounds, at most three.
 */
async function main(): Promise<void> {
  const rows = Number(process.argv[2] ?? 100_000);
  await onStage(async (stage) => {
    const stand = await Stand.open(stage);
    const service = await stand.startService();
    const times: { good: number[]; faulty: number[] } = { good: [], faulty: [] };
    process.stdout.write(`${rows} rows     good     faulty  corrections  peak RSS\n`);
    for (const [month, another] of MONTHS.slice(0, Number(process.argv[3] ?? MONTHS.length))) {
      const good = await stand.upload(service, rows, month);
      const file = await faultyFileOf(rows);
      let line = '';
      const peakBytes = await peakDuring(service, async () => {
        const { seconds, body } = await stand.send(service, file, another);
        const refused = JSON.parse(body) as { faultCount: number; corrections: { id: string } };
        if (refused.faultCount !== rows)
          throw new Error(`${refused.faultCount} of ${rows} faults were counted`);
        times.good.push(good.seconds);
        times.faulty.push(seconds);
        const path = `refused-files/${refused.corrections.id}/corrections.csv`;
        const got = await stand.fetched(service, path);
        line = [good.seconds, seconds, got.seconds].map((one) => `${one.toFixed(2)} s`.padStart(10)).join('');
      });
      process.stdout.write(`month ${month}  ${line}  ${(peakBytes / 1_000_000).toFixed(0)} MB\n`);
      if (peakBytes > LIMIT_BYTES) fail('the service took more memory than 200 MB');
    }
    const ratio = median(times.faulty) / median(times.good);
    process.stdout.write(`ratio    ${ratio.toFixed(2)}\n`);
    if (ratio > 1) fail('a faulty file took longer than a good one');
  });
}

function fail(what: string): void {
  process.stdout.write(`FAILED: ${what}.\n`);
  process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
