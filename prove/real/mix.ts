import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../model/random';
import { KEPT_SEEDS } from '../kept-seeds';
import type { Report } from '../report';
import { breaks, Line, wordsOf } from '../table';
import { breachesOf } from './judge';
import type { Meddling } from './proxy';
import { settledThenFailed, undocumented } from './read-trials';
import { cut } from './record';
import { AT_ONCE, type Conclusion, LEASE_MS, Stand } from './stand';
import { STANDS } from './stands';
import { wrongTotal } from './total-trials';
import { CALLS } from './calls';
import { meddleWith, type StandKind } from './trial';

/**
 * A run of the mix: some instructions, a few faults of calls and of webhooks, something the network does to a read, and
 * something that happens to the processes.
 */
interface Mixture {
  stand: StandKind;
  instructions: number;
  scripts: Record<string, unknown>[];
  network: (stand: Stand) => Meddling | undefined;
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
/** Others than `KINDS`, which are drawn after those, so that the seeds that were kept stay what they are. */
const MORE_KINDS = ['401', '403', 'hang-before', 'slow-drip', 'echo-corrupted'] as const;
const LISTS = [
  { kind: 'list-wrong', what: 'missing' },
  { kind: 'list-wrong', what: 'twice' },
  { kind: 'list-wrong', what: 'foreign' },
  { kind: 'list-wrong', what: 'changed', field: 'amount' },
  { kind: 'list-moving', by: 1 },
  { kind: 'list-moving', by: -1 },
] as const;
const WEBHOOKS = ['dropped', 'doubled', 'forged', 'replayed', 'reordered', 'late'] as const;
/** Each kept for so many seeds as a stand serves. */
const KINDS_OF_STANDS = ['plain', 'hooked', 'credentials', 'lagging', 'small-pages', 'no-links'] as const;
const MISHAPS = ['kill', 'pause', 'cut', 'replica'] as const;
/** After so many runs the processes, the bank and the database are new ones. */
const RUNS_PER_STAND = 25;
const MISHAP_WINDOW_MS = 900;

/** What a seed mixes; the same in every proof, though not the moment at which each part strikes. */
function mixtureOf(seed: number): Mixture {
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
  const instructions = random.between(1, 3);
  const stand = standOf(seed);
  scripts.push(...moreScripts(random, stand));
  const network =
    random.chance(0.3) || scripts.length + mishaps.length === 0 ? meddlingOf(random) : () => undefined;
  return { stand, instructions, scripts, network, mishaps };
}

function standOf(seed: number): StandKind {
  return KINDS_OF_STANDS[Math.floor(seed / RUNS_PER_STAND) % KINDS_OF_STANDS.length] ?? 'plain';
}

function moreScripts(random: Random, stand: StandKind): Record<string, unknown>[] {
  const scripts: Record<string, unknown>[] = [];
  if (random.chance(0.4))
    scripts.push({
      operation: random.pick(OPERATIONS),
      kind: random.pick(MORE_KINDS),
      nth: random.between(1, 6),
    });
  if (random.chance(0.2))
    scripts.push({
      operation: stand === 'no-links' ? 'listPaymentTransactions' : 'listInstructionPaymentTransactions',
      ...random.pick<Record<string, unknown>>(LISTS),
      nth: random.between(1, 6),
    });
  if (stand === 'credentials' && random.chance(0.3))
    scripts.push({
      operation: 'token',
      kind: random.pick(['500-before', 'garbage', '401']),
      every: 1,
      times: 2,
    });
  if (stand === 'hooked')
    scripts.push({ operation: 'webhook', kind: random.pick(WEBHOOKS), every: random.between(1, 3) });
  return scripts;
}

/** One thing that the network does, or that the bank shows for a moment. */
function meddlingOf(random: Random): (stand: Stand) => Meddling {
  const call = random.pick(CALLS);
  const nth = random.between(1, 4);
  return random.pick([
    () => meddleWith(call, { reset: true }, nth),
    () => meddleWith(call, { redirectTo: 'http://127.0.0.1:9/elsewhere' }, nth),
    () => wrongTotal(random.pick(['count', 'cents'] as const), 1),
    undocumented,
    settledThenFailed,
  ]);
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
  let open: { kind: StandKind; stand: Stand; runs: number } | undefined;
  try {
    for (let seed = seeds(); seed !== undefined; seed = seeds()) {
      const kind = standOf(seed);
      if (open !== undefined && (open.kind !== kind || open.runs === RUNS_PER_STAND)) {
        await open.stand.close();
        open = undefined;
      }
      open ??= { kind, stand: await Stand.open(STANDS[kind]), runs: 0 };
      open.runs += 1;
      if (await playMixture(open.stand, seed, line, report)) continue;
      await open.stand.close();
      open = undefined;
    }
  } finally {
    await open?.stand.close();
  }
}

/** What broke in a mixture, in words: all that it mixes is inside the assumptions, so no invariant may break. */
export function breakagesOf(finding: Conclusion): string[] {
  return [
    ...(breaks(finding, 'inside') ? [wordsOf(finding), ...finding.standing] : []),
    ...breachesOf(finding.raised),
  ];
}

async function playMixture(stand: Stand, seed: number, line: Line, report: Report): Promise<boolean> {
  const { instructions, scripts, network, mishaps } = mixtureOf(seed);
  const rows = stand.freshRows(instructions);
  const startedMs = Date.now();
  const again = `npm run -s prove -- --replay mix:${seed}`;
  try {
    for (const script of scripts) await stand.payroll.fault(script);
    const meddling = network(stand);
    if (meddling !== undefined) stand.proxy.meddle = meddling;
    const id = await stand.pay(rows);
    await Promise.all(mishaps.map((mishap) => befall(stand, mishap)));
    await stand.restart();
    const finding = await stand.conclude(id, rows, startedMs);
    line.add(finding);
    const words = breakagesOf(finding);
    if (words.length === 0) return true;
    report.breakage(`seed ${seed} of the mix: ${words.join('; ')}`, again);
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
      await cut(stand.payroll);
      return;
    case 'replica':
      await stand.spawn({ PORT: '0' });
      return;
  }
}
