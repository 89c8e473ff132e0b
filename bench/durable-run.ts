import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onStage, Stage } from '../src/cli/stage';
import { readId } from '../src/http/prefixed-id';
import type { UploadAnswer } from '../src/pay-file/upload-answer';
import type { BareFigures } from './bare-loop';
import { median } from './median';
import { startOwnProcess } from './own-process';
import { BUILT, INSTRUCTION_ROWS, Meters, PayOffice, SETTLED, SUBMITTED } from './pay-office';

const DEFAULT_ROWS = 100_000;
const DEFAULT_ROUNDS = 5;
const LATENCIES_MS = [20, 0] as const;
/** The default of BANK_ADDS_IN_FLIGHT. */
const AT_ONCE = 32;
/** How much longer each flush of the write-ahead log is made to take. */
const SLOWER_FLUSH_US = 2_000;

/** Per cent of the bare loop's rows a second by the bank's latency, and of the run's own with slower flushes. */
const LEAST_OF_BARE: Record<(typeof LATENCIES_MS)[number], number> = { 20: 97, 0: 75 };
const LEAST_WITH_SLOWER_FLUSHES = 95;
const MOST_IN_DOUBT = 200;
/** Of a payment, while the rows are added. */
const MOST_DATABASE_US = 12;
const MOST_WAL_BYTES = 800;

interface Figures {
  addSeconds: number;
  submittedSeconds: number;
  settledSeconds: number;
  /** From the approval until every row was added and recorded. */
  building: Meters;
  /** From the approval until the run had settled. */
  whole: Meters;
}

/** Arguments: rows, rounds, and flags of node for the service. */
async function main(): Promise<void> {
  const [rows = DEFAULT_ROWS, rounds = DEFAULT_ROUNDS] = process.argv.slice(2, 4).map(Number);
  const nodeFlags = process.argv.slice(4);
  for (const latencyMs of LATENCIES_MS) {
    process.stdout.write(`\n${rows} rows, a bank that answers after ${latencyMs} ms\n${TITLES}\n`);
    const bare: BareFigures[] = [];
    const durable: Figures[] = [];
    const slower: Figures[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      bare.push(await bareLoop(rows, latencyMs));
      sayBare(rows, bare.slice(-1));
      durable.push(await onStage((stage) => durableRun(stage, rows, latencyMs, false, nodeFlags)));
      say('durable', rows, durable.slice(-1));
      slower.push(await onStage((stage) => durableRun(stage, rows, latencyMs, true, nodeFlags)));
      say('flush + 2 ms', rows, slower.slice(-1));
    }
    process.stdout.write(`median of ${rounds}\n`);
    sayBare(rows, bare);
    say('durable', rows, durable);
    say('flush + 2 ms', rows, slower);
    sayRatios(latencyMs, bare, durable, slower);
    const each = (of: (building: Meters) => number) =>
      median(durable.map(({ building }) => of(building))) / rows;
    sayLimit(
      'CPU of the database, µs a row',
      each(({ databaseUs }) => databaseUs),
      'most',
      MOST_DATABASE_US,
    );
    sayLimit(
      'write-ahead log, bytes a row',
      each(({ walBytes }) => walBytes),
      'most',
      MOST_WAL_BYTES,
    );
  }
  await onStage((stage) => kill(stage, rows));
}

async function bareLoop(rows: number, latencyMs: number): Promise<BareFigures> {
  const bank = await startOwnProcess(join(__dirname, 'stub-bank.js'), {
    PATH: process.env['PATH'],
    STUB_LATENCY_MS: String(latencyMs),
  });
  try {
    const child = fork(join(__dirname, 'bare-loop.js'), {
      env: {
        PATH: process.env['PATH'],
        BANK_BASE_URL: bank.url,
        BARE_ROWS: String(rows),
        BARE_INSTRUCTION_ROWS: String(INSTRUCTION_ROWS),
        BARE_AT_ONCE: String(AT_ONCE),
      },
      execArgv: [],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    if (child.stdout === null) throw new Error('the output of the bare loop is not piped');
    const [printed] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    return JSON.parse(printed) as BareFigures;
  } finally {
    await bank.stop();
  }
}

async function durableRun(
  stage: Stage,
  rows: number,
  latencyMs: number,
  slowerFlush: boolean,
  nodeFlags: readonly string[],
): Promise<Figures> {
  const office = await PayOffice.open(stage, latencyMs);
  if (nodeFlags.length > 0) {
    await office.services.shift()?.stop();
    await office.startService(nodeFlags);
  }
  if (slowerFlush) await slowDownFlushes(office);
  const run = await office.upload(rows);
  const before = await office.meters();
  const started = Date.now();
  await office.approve(run);
  await office.until(run, BUILT);
  const added = await office.meters();
  await office.until(run, SUBMITTED);
  const submittedSeconds = (Date.now() - started) / 1_000;
  await office.until(run, SETTLED);
  const settledSeconds = (Date.now() - started) / 1_000;
  const whole = between(before, await office.meters());
  await office.checkBook(run);
  const addSeconds = await secondsOfAdds(office, run);
  return { addSeconds, submittedSeconds, settledSeconds, building: between(before, added), whole };
}

/** Of half of the rows the answers are written down. */
const HALF_ADDED = `(SELECT 2 * coalesce(sum(cardinality(a.row_nos)), 0) >= max(r.row_count) FROM pay_run r
    JOIN instruction i ON i.pay_run_id = r.id JOIN add_intent a ON a.instruction_id = i.id AND a.finished_at IS NOT NULL
    WHERE r.id = $1)`;

/** From the first intent at the bank to the last outcome, by the database's clock. */
async function secondsOfAdds(office: PayOffice, run: UploadAnswer): Promise<number> {
  const { rows } = await office.db.query<{ seconds: string }>(
    `SELECT extract(epoch FROM (SELECT max(a.finished_at) FROM add_intent a JOIN instruction i ON i.id = a.instruction_id
         WHERE i.pay_run_id = $1)
       - (SELECT min(c.intended_at) FROM bank_call c JOIN instruction i ON i.id = c.instruction_id
         WHERE i.pay_run_id = $1)) AS seconds`,
    [readId('run', run.id)],
  );
  return Number(rows[0]?.seconds);
}

/** The server waits so long before each flush, whoever else commits. */
async function slowDownFlushes({ db }: PayOffice): Promise<void> {
  await db.query(`ALTER SYSTEM SET commit_delay = ${SLOWER_FLUSH_US}`);
  await db.query('ALTER SYSTEM SET commit_siblings = 0');
  await db.query('SELECT pg_reload_conf()');
}

/** A service killed in the middle of a run, counted, and started again; the run must end as it would have. */
async function kill(stage: Stage, rows: number): Promise<void> {
  const office = await PayOffice.open(stage, 0, { LEASE_MS: '2000' });
  const run = await office.upload(rows);
  await office.approve(run);
  await office.until(run, HALF_ADDED);
  await office.killServices();
  const { rows: open } = await office.db.query<{ rows: number }>(
    'SELECT coalesce(sum(cardinality(row_nos)), 0)::int AS rows FROM add_intent WHERE finished_at IS NULL',
  );
  process.stdout.write('\n');
  sayLimit('rows in doubt after kill -9', open[0]?.rows ?? NaN, 'most', MOST_IN_DOUBT);
  await office.startService();
  await office.until(run, SETTLED);
  await office.checkBook(run);
  process.stdout.write('Started again, it paid everybody exactly once.\n');
}

function between(from: Meters, to: Meters): Meters {
  return {
    serviceUs: to.serviceUs - from.serviceUs,
    bankUs: to.bankUs - from.bankUs,
    databaseUs: to.databaseUs - from.databaseUs,
    walBytes: to.walBytes - from.walBytes,
  };
}

const COLUMNS = [
  '            ',
  'adds/s',
  'submitted s',
  'settled s',
  'CPU µs/row: service',
  'bank',
  'database',
  'WAL B/row',
  'whole run: service',
  'bank',
  'database',
  'WAL B/row',
];
const TITLES = COLUMNS.join('  ');

function line(cells: readonly string[]): void {
  const padded = cells.map((cell, n) => (n === 0 ? cell.padEnd(12) : cell.padStart(COLUMNS[n]?.length ?? 0)));
  process.stdout.write(`${padded.join('  ')}\n`);
}

function sayBare(rows: number, figures: readonly BareFigures[]): void {
  const mid = (of: (one: BareFigures) => number) => median(figures.map(of));
  line([
    'bare loop',
    (rows / mid((one) => one.addSeconds)).toFixed(0),
    '',
    '',
    (mid((one) => one.addCpuUs) / rows).toFixed(0),
  ]);
  const reading = mid((one) => one.readSeconds).toFixed(2);
  const cpuUs = (mid((one) => one.readCpuUs) / rows).toFixed(0);
  process.stdout.write(
    `  reading every row back once, as the service does while it adds: ${reading} s, ${cpuUs} µs/row\n`,
  );
}

function say(name: string, rows: number, figures: readonly Figures[]): void {
  const mid = (of: (one: Figures) => number) => median(figures.map(of));
  const meters = (of: (one: Figures) => Meters) =>
    (['serviceUs', 'bankUs', 'databaseUs', 'walBytes'] as const).map((name) =>
      (mid((one) => of(one)[name]) / rows).toFixed(0),
    );
  line([
    name,
    (rows / mid((one) => one.addSeconds)).toFixed(0),
    mid((one) => one.submittedSeconds).toFixed(2),
    mid((one) => one.settledSeconds).toFixed(2),
    ...meters((one) => one.building),
    ...meters((one) => one.whole),
  ]);
}

/** A figure beside its limit; one that does not hold makes the whole fail at its end. */
function sayLimit(name: string, figure: number, bound: 'least' | 'most', limit: number): void {
  const holds = bound === 'least' ? figure >= limit : figure <= limit;
  if (!holds) process.exitCode = 1;
  process.stdout.write(
    `${name}: ${figure.toFixed(1)}; at ${bound} ${limit}: ${holds ? 'holds' : 'DOES NOT HOLD'}\n`,
  );
}

/** Each durable run against the bare loop of its own round. */
function sayRatios(
  latencyMs: (typeof LATENCIES_MS)[number],
  bare: readonly BareFigures[],
  durable: readonly Figures[],
  slower: readonly Figures[],
): void {
  const ratio = (of: (bare: BareFigures, durable: Figures, slower: Figures) => number) => {
    const ratios = bare.flatMap((one, n) => {
      const [fast, slow] = [durable[n], slower[n]];
      return fast && slow ? [of(one, fast, slow)] : [];
    });
    return 100 * median(ratios);
  };
  const toAdds = ratio((one, fast) => one.addSeconds / fast.addSeconds);
  const toCalls = ratio((one, fast) => (one.addSeconds + one.readSeconds) / fast.addSeconds);
  const toFast = ratio((_, fast, slow) => fast.addSeconds / slow.addSeconds);
  sayLimit('rows a second, % of the bare adds', toAdds, 'least', LEAST_OF_BARE[latencyMs]);
  process.stdout.write(`rows a second, % of the bare adds and one reading: ${toCalls.toFixed(1)}\n`);
  sayLimit('with flushes 2 ms slower, % of without', toFast, 'least', LEAST_WITH_SLOWER_FLUSHES);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
