import { setTimeout as sleep } from 'node:timers/promises';
import { execute } from '../../test/support/database';
import { Random } from '../model/random';
import { KEPT_SEEDS } from '../kept-seeds';
import type { Report } from '../report';
import { breaks, Line, wordsOf } from '../table';
import { AT_ONCE, LEASE_MS, Stand } from './stand';

/** A run of the mix: some instructions, a few faults of calls, and something that happens to the processes. */
interface Mixture {
  instructions: number;
  scripts: Record<string, unknown>[];
  mishaps: Mishap[];
}
type Mishap = { kind: 'kill' | 'pause' | 'cut' | 'replica'; afterMs: number };

const OPERATIONS = [
  'initiate',
  'add',
  'add',
  'submit',
  'getInstruction',
  'listInstructionPaymentTransactions',
] as const;
const KINDS = [
  'answer-lost',
  'request-lost',
  '500-before',
  '500-after',
  'truncated',
  'hang',
  'garbage',
  'redirect',
  '429',
] as const;
const MISHAPS = ['kill', 'pause', 'cut', 'replica'] as const;
/** After so many runs the processes, the bank and the database are new ones. */
const RUNS_PER_STAND = 25;
const MISHAP_WINDOW_MS = 900;

/** What a seed mixes; the same in every proof, though not the moment at which each part strikes. */
export function mixtureOf(seed: number): Mixture {
  const random = new Random(seed);
  const scripts: Record<string, unknown>[] = Array.from({ length: random.between(0, 3) }, () => ({
    operation: random.pick(OPERATIONS),
    kind: random.pick(KINDS),
    nth: random.between(1, 6),
    retryAfterS: 1,
  }));
  if (random.chance(0.4)) {
    const operation = random.pick(['initiate', 'add', 'submit']);
    scripts.push({
      operation,
      kind: 'late-commit',
      nth: random.between(1, 4),
      delayMs: random.between(20, 900),
    });
  }
  const mishaps = Array.from({ length: random.between(0, 2) }, () => ({
    kind: random.pick(MISHAPS),
    afterMs: random.between(0, MISHAP_WINDOW_MS),
  }));
  return { instructions: random.between(1, 3), scripts, mishaps };
}

/** Mixes everything, a seed a run, the kept ones first, until the time is over; or `count` seeds alone. */
export async function proveMix(
  report: Report,
  first: number,
  minutes: number,
  count = Infinity,
): Promise<void> {
  const line = new Line('random mix of faults, kills, pauses, cut connections', 'inside');
  const endless = count === Infinity;
  const endMs = endless ? Date.now() + minutes * 60_000 : Infinity;
  const kept = endless ? KEPT_SEEDS.mix.map(({ seed }) => seed) : [];
  let next = first;
  const seeds = (): number | undefined => {
    const again = kept.shift();
    if (again !== undefined) return again;
    if (next >= first + count || Date.now() > endMs) return undefined;
    next += 1;
    return next - 1;
  };
  const lanes = Array.from({ length: Math.min(AT_ONCE, count) }, () => mixInLane(seeds, line, report));
  await Promise.all(lanes);
  report.line(line);
  report.say(`the mix played seeds ${first} to ${next - 1}`);
}

async function mixInLane(seeds: () => number | undefined, line: Line, report: Report): Promise<void> {
  let stand = await Stand.open();
  let runs = 0;
  try {
    for (let seed = seeds(); seed !== undefined; seed = seeds()) {
      const clean = await playMixture(stand, seed, line, report);
      runs += 1;
      if (clean && runs % RUNS_PER_STAND !== 0) continue;
      await stand.close();
      stand = await Stand.open();
    }
  } finally {
    await stand.close();
  }
}

async function playMixture(stand: Stand, seed: number, line: Line, report: Report): Promise<boolean> {
  const { instructions, scripts, mishaps } = mixtureOf(seed);
  const rows = stand.freshRows(instructions);
  const startedMs = Date.now();
  const again = `npm run -s prove -- --replay mix:${seed}`;
  try {
    for (const script of scripts) await stand.payroll.fault(script);
    const id = await stand.pay(rows);
    await Promise.all(mishaps.map((mishap) => befall(stand, mishap)));
    await stand.restart();
    const finding = await stand.conclude(id, rows, startedMs);
    line.add(finding);
    if (!breaks(finding, 'inside')) return true;
    report.breakage(`seed ${seed} of the mix: ${wordsOf(finding)}`, again);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report.breakage(`seed ${seed} of the mix: ${why}${stand.lastWords()}`, again);
  }
  return false;
}

async function befall(stand: Stand, { kind, afterMs }: Mishap): Promise<void> {
  await sleep(afterMs);
  const [process] = stand.payroll.spawned;
  switch (kind) {
    case 'kill':
      process?.process.kill('SIGKILL');
      return;
    case 'pause':
      await stand.spawn({ PORT: '0' });
      process?.process.kill('SIGSTOP');
      await sleep(2 * LEASE_MS);
      process?.process.kill('SIGCONT');
      return;
    case 'cut':
      return cut(stand);
    case 'replica':
      await stand.spawn({ PORT: '0' });
      return;
  }
}

/** Ends every connection to PostgreSQL, as its restart would. */
export function cut({ payroll }: Stand): Promise<void> {
  return execute(
    payroll.database.superuserUrl,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  ).catch(() => undefined);
}
