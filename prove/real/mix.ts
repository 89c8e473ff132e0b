import { setTimeout as sleep } from 'node:timers/promises';
import type { CommitFault } from '../../test/support/database-proxy';
import type { Row } from '../../test/support/pay-rows';
import { Random } from '../model/random';
import { KEPT_SEEDS } from '../kept-seeds';
import type { Report } from '../report';
import { breaks, Line, wordsOf } from '../table';
import { CALLS, POSTS } from './calls';
import { COMMIT_FAULTS, COMMITS, OUTAGES } from './database-trials';
import { breachesOf } from './judge';
import type { OwnDatabase } from './own-database';
import type { Meddling } from './proxy';
import { settledThenFailed, undocumented } from './read-trials';
import { cut } from './record';
import { AT_ONCE, type Conclusion, LEASE_MS, Stand } from './stand';
import { STANDS } from './stands';
import { wrongTotal } from './total-trials';
import { meddleWith, refusedAfterAll, type StandKind } from './trial';
import { tellLies } from './webhook-trials';

/**
 * A run of the mix: some instructions, a few faults of calls and of webhooks, something the network does to an exchange,
 * something that befalls the database, and something that happens to the processes.
 */
interface Mixture {
  stand: StandKind;
  assumptions: Line['assumptions'];
  instructions: number;
  scripts: Record<string, unknown>[];
  network: ((stand: Stand) => Meddling) | undefined;
  webhooks: 'ten-fold' | 'lying' | undefined;
  database: OfDatabase | undefined;
  mishaps: Mishap[];
}
/** What befalls the database at a commit, or from then on. */
interface OfDatabase {
  commit: RegExp;
  fault: CommitFault;
  befall: (database: OwnDatabase) => Promise<void>;
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
const KINDS_OF_STANDS = [
  'plain',
  'hooked',
  'database',
  'credentials',
  'ignores-pages',
  'lagging',
  'no-links',
  'small-pages',
] as const;
const REFUSALS = [401, 403, 422, 429] as const;
const MISHAPS = ['kill', 'pause', 'cut', 'replica'] as const;
/** After so many runs the processes, the bank and the database are new ones. */
const RUNS_PER_STAND = 25;
const MISHAP_WINDOW_MS = 900;
/** What is to befall the database does so within so long, or not at all. */
const BEFALLS_WITHIN_MS = 8_000;
/** A mix in which fewer faults changed something has shown too little, once there were enough to say so. */
const LEAST = { share: 0.4, armed: 20 };

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
  const first = random.chance(0.3) || scripts.length + mishaps.length === 0 ? meddlingOf(random) : undefined;
  // Drawn after all that was, for the same reason as `MORE_KINDS`.
  const more = random.chance(0.4) ? moreMeddlingOf(random) : undefined;
  const isOutside = first === undefined && random.chance(0.1);
  const network = isOutside ? doublingOf(random) : (first ?? more);
  const webhooks =
    stand === 'hooked' && random.chance(0.5) ? random.pick(['ten-fold', 'lying'] as const) : undefined;
  const database = stand === 'database' && random.chance(0.8) ? ofDatabase(random) : undefined;
  const assumptions = isOutside ? 'outside' : 'inside';
  const known = scripts.map((script) => ({ ...script, operation: knownTo(stand, script.operation) }));
  return { stand, assumptions, instructions, scripts: known, network, webhooks, database, mishaps };
}

/** Where no linked list and no instruction may be read, it is the general list that is. */
function knownTo(stand: StandKind, operation: unknown): unknown {
  const isRefused = operation === 'getInstruction' || operation === 'listInstructionPaymentTransactions';
  return stand === 'no-links' && isRefused ? 'listPaymentTransactions' : operation;
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

/** The same of calls that were executed and are refused, and of totals that are shown less. */
function moreMeddlingOf(random: Random): () => Meddling {
  const call = random.pick(POSTS);
  const refusal = random.pick(REFUSALS);
  const nth = random.between(1, 3);
  const total = random.pick(['count', 'cents'] as const);
  return random.pick([() => refusedAfterAll(call, refusal, nth), () => wrongTotal(total, -1)]);
}

/** A POST that the network delivers twice, which it is assumed not to. */
function doublingOf(random: Random): () => Meddling {
  const call = random.pick(POSTS);
  const afterMs = random.between(0, 900);
  const nth = random.between(1, 3);
  return () => meddleWith(call, { again: { afterMs } }, nth);
}

function ofDatabase(random: Random): OfDatabase {
  const commit = random.pick(Object.values(COMMITS) as [RegExp, ...RegExp[]]);
  const fault = random.pick(COMMIT_FAULTS as [CommitFault, ...CommitFault[]]);
  const outages = Object.values(OUTAGES) as [OfDatabase['befall'], ...OfDatabase['befall'][]];
  const befall = random.pick(outages);
  return random.chance(0.5)
    ? { commit, fault: 'passes', befall }
    : { commit, fault, befall: () => Promise.resolve() };
}

/** How many faults were armed, and how many of them changed something. */
export interface Strikes {
  armed: number;
  struck: number;
}

/** Whether so few struck that what was mixed shows too little. */
export function struckTooSeldom({ armed, struck }: Strikes): boolean {
  return armed >= LEAST.armed && struck < LEAST.share * armed;
}

/** Mixes everything, a seed a run, the kept ones first, until the time is over; or `count` seeds alone. */
export async function proveMix(
  report: Report,
  first: number,
  minutes: number,
  count = Infinity,
): Promise<void> {
  const name = 'random mix of faults, kills, pauses, cut connections';
  const mixed: Mixed = {
    lines: {
      inside: new Line(name, 'inside'),
      outside: new Line(`${name}, doubled POSTs`, 'outside'),
    },
    strikes: { armed: 0, struck: 0 },
  };
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
  const lanes = Array.from({ length: Math.min(AT_ONCE, count) }, () => mixInLane(seeds, mixed, report));
  await Promise.all(lanes);
  for (const line of Object.values(mixed.lines)) if (line.runs > 0) report.line(line);
  const { armed, struck } = mixed.strikes;
  report.say(`the mix played seeds ${first} to ${next - 1}; ${struck} of ${armed} faults struck`);
  if (struckTooSeldom(mixed.strikes))
    report.breakage(
      'too few of the faults of the mix struck',
      `npm run -s prove -- --only mix --seed ${first} --minutes ${minutes}`,
    );
}

/** What all seeds came to. */
interface Mixed {
  lines: Record<Line['assumptions'], Line>;
  strikes: Strikes;
}

async function mixInLane(seeds: () => number | undefined, mixed: Mixed, report: Report): Promise<void> {
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
      if (await playMixture(open.stand, seed, mixed, report)) continue;
      await open.stand.close();
      open = undefined;
    }
  } finally {
    await open?.stand.close();
  }
}

/** What broke in a mixture, in words: inside the assumptions no invariant may break either. */
export function breakagesOf(finding: Conclusion, assumptions: Line['assumptions']): string[] {
  return [
    ...(breaks(finding, assumptions) ? [wordsOf(finding), ...finding.standing] : []),
    ...(assumptions === 'inside' ? breachesOf(finding.raised) : []),
  ];
}

/** Answers whether the stand can be used again. */
async function playMixture(stand: Stand, seed: number, mixed: Mixed, report: Report): Promise<boolean> {
  const { assumptions, instructions, scripts, network, webhooks, database, mishaps } = mixtureOf(seed);
  const rows = stand.freshRows(instructions);
  const startedMs = Date.now();
  const again = `npm run -s prove -- --replay mix:${seed}`;
  try {
    for (const script of scripts) await stand.payroll.fault(script);
    if (network !== undefined) stand.proxy.meddle = network(stand);
    if (webhooks === 'ten-fold') stand.hooks.copies = 10;
    const [id, wasBefallen] = await Promise.all([
      paid(stand, rows, webhooks),
      database && befallsDatabase(stand, database),
    ]);
    await Promise.all(mishaps.map((mishap) => befall(stand, mishap)));
    await stand.restart();
    const finding = await stand.conclude(id, rows, startedMs);
    mixed.lines[assumptions].add(finding);
    const armed = [...scripts, network, webhooks, database].filter((one) => one !== undefined).length;
    mixed.strikes.armed += armed;
    mixed.strikes.struck += armed - finding.missed.length - (wasBefallen === false ? 1 : 0);
    const words = breakagesOf(finding, assumptions);
    if (words.length === 0) return !finding.paidTwice && !finding.paidUnapproved;
    report.breakage(`seed ${seed} of the mix: ${words.join('; ')}`, again);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report.breakage(`seed ${seed} of the mix: ${why}${stand.lastWords()}`, again);
  }
  return false;
}

async function paid(stand: Stand, rows: readonly Row[], webhooks: Mixture['webhooks']): Promise<string> {
  const id = await stand.pay(rows);
  if (webhooks === 'lying') await tellLies(stand);
  return id;
}

/** Has it befall the database of the stand, and ends it; answers whether it did. */
async function befallsDatabase(
  { ownDatabase }: Stand,
  { commit, fault, befall }: OfDatabase,
): Promise<boolean> {
  let wasBefallen = false;
  const over = ownDatabase.proxy.atCommit(commit, fault).then(() => {
    wasBefallen = true;
    return befall(ownDatabase);
  });
  await Promise.race([over, sleep(BEFALLS_WITHIN_MS)]);
  if (wasBefallen) await over;
  await ownDatabase.proxy.restore();
  return wasBefallen;
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
