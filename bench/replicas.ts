import { onStage, Stage } from '../src/cli/stage';
import { median } from './median';
import { PayOffice, SETTLED, SUBMITTED } from './pay-office';
import { residentBytes } from './peak-memory';

const DEFAULT_ROWS = 100_000;
const DEFAULT_ROUNDS = 5;
const LATENCY_MS = 50;
const LIMIT_SPEED_UP = 1.8;
/** Requests in any minute beyond the budget that are taken as the network's doing. */
const LIMIT_EXCESS = 1.02;
const LIMIT_BYTES = 250 * 1_000_000;
const FEW_ROWS = 1_000;
/** A run that takes a minute and a half at a budget two replicas could pass: there are whole minutes to count in. */
const PACED_ROWS = 20_000;
const PACED_MINUTES = 1.5;

interface Figures {
  seconds: number;
  peakBytes: number;
  mostInAMinute: number;
}

/** Arguments: rows, and rounds. One replica, then two; then two within a budget that both share, and few rows by one. */
async function main(): Promise<void> {
  const [rows = DEFAULT_ROWS, rounds = DEFAULT_ROUNDS] = process.argv.slice(2).map(Number);
  process.stdout.write(`${rows} rows, a bank that answers after ${LATENCY_MS} ms\n`);
  const one: Figures[] = [];
  const two: Figures[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    one.push(await onStage((stage) => measure(stage, rows, 1)));
    two.push(await onStage((stage) => measure(stage, rows, 2)));
    say('one replica', one.slice(-1));
    say('two replicas', two.slice(-1));
  }
  const speedUp = median(one.map(({ seconds }, n) => seconds / (two[n]?.seconds ?? NaN)));
  const perMinute = Math.ceil(PACED_ROWS / PACED_MINUTES);
  const paced = await onStage((stage) => measure(stage, PACED_ROWS, 2, perMinute));
  say(`two, ${perMinute} a minute`, [paced]);
  const few = await onStage((stage) => measure(stage, FEW_ROWS, 1));
  const peakBytes = Math.max(...[...one, ...two, paced, few].map((figures) => figures.peakBytes));
  process.stdout.write(
    `two replicas are ${speedUp.toFixed(2)} times as fast as one; at most ${paced.mostInAMinute} requests in a minute ` +
      `of ${perMinute}; peak RSS ${megabytes(few.peakBytes)} MB with ${FEW_ROWS} rows, ${megabytes(peakBytes)} MB ` +
      `with ${rows}\n`,
  );
  if (
    speedUp >= LIMIT_SPEED_UP &&
    paced.mostInAMinute <= perMinute * LIMIT_EXCESS &&
    peakBytes <= LIMIT_BYTES
  )
    return;
  process.stdout.write('FAILED: a limit of this bench was passed.\n');
  process.exitCode = 1;
}

async function measure(stage: Stage, rows: number, replicas: number, perMinute?: number): Promise<Figures> {
  const budget = perMinute === undefined ? {} : { BANK_REQUESTS_PER_MINUTE: String(perMinute) };
  // What was submitted is read as late as in production, where nothing settles within a second.
  const office = await PayOffice.open(stage, LATENCY_MS, { FOLLOW_DELAYS_MS: undefined, ...budget });
  while (office.services.length < replicas) await office.startService();
  const run = await office.upload(rows);
  const started = Date.now();
  await office.approve(run);
  await office.until(run, SUBMITTED);
  const seconds = (Date.now() - started) / 1_000;
  await office.until(run, SETTLED);
  const { mostInAMinute } = await office.checkBook(run);
  const peaks = await Promise.all(office.services.map(({ pid }) => residentBytes(pid)));
  return { seconds, peakBytes: Math.max(...peaks), mostInAMinute };
}

function say(name: string, figures: readonly Figures[]): void {
  const seconds = median(figures.map((one) => one.seconds)).toFixed(2);
  const peak = megabytes(median(figures.map((one) => one.peakBytes)));
  process.stdout.write(`${name.padEnd(24)} submitted in ${seconds.padStart(7)} s, peak RSS ${peak} MB\n`);
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(0);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
