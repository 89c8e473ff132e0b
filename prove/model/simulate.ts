import { IllegalTransition } from '../../src/domain/errors';
import { isPayRunFinal } from '../../src/domain/pay-run';
import type { Guard } from '../guards';
import { ModelBank, Unreachable } from './bank';
import { build } from './build';
import { CommitLost, type Context, Halted, NEVER, obstacleOf, type Step, STOPPED_PAUSE_MS } from './context';
import { endUnsubmitted, fence, transaction } from './context';
import { follow } from './follow';
import { people } from './people';
import { Random } from './random';
import { stepRun } from './run';
import { type Claim, Fenced, type Payment, SecondAttempt, Store } from './store';
import { recover, submit } from './submit';
import { judge, type Verdict } from './verdict';
import { drawWorld, LAST_FAULT_MS, LEASE_MS, type World } from './world';

/** Every seed of the model ends far earlier; one that does not is stuck. */
const MOST_STEPS = 20_000;
const HORIZON_MS = 6_000;
/** What is watched is watched so long after everything ended. */
const AFTERWARDS_MS = 1_600;
const FAILURE_PAUSE_MS = 20;
const WORKERS = 2;

/** A process, or the people, with what they are doing. */
interface Actor {
  id: number;
  readyAtMs: number;
  claim: Claim | undefined;
  routine: Step | undefined;
  paused: boolean;
}

/** Plays one seed to its end, in the world it draws or one `changed`. The same seed and guard always play the same. */
export function simulate(seed: number, without?: Guard, changed: Partial<World> = {}): Verdict {
  const random = new Random(seed);
  const world = { ...drawWorld(random, without), ...changed };
  const store = new Store();
  const context: Context = { store, bank: new ModelBank(random, world), random, world, without };
  store.addRun(rowsOf(world), world.rowsPerInstruction, world.cutOffAtMs);
  if (world.tampered) tamper(store, random);
  play(context);
  return judge(context);
}

function rowsOf(world: World): Payment[] {
  return Array.from({ length: world.instructions * world.rowsPerInstruction }, (_, rowNo) => ({
    rowNo,
    iban: `E${rowNo}`,
    approvedIban: `E${rowNo}`,
    amountMinor: BigInt(1_000 + rowNo),
    approvedMinor: BigInt(1_000 + rowNo),
    status: 'APPROVED' as const,
    bankStatus: null,
    rank: 0,
  }));
}

function tamper(store: Store, random: Random): void {
  const payment = store.runs[0]?.planned[0]?.payments[0];
  if (!payment) return;
  if (random.chance(0.5)) payment.amountMinor += 500n;
  else payment.iban = 'stranger';
}

function play(context: Context): void {
  const { store, bank } = context;
  const actors: Actor[] = Array.from({ length: WORKERS + 1 }, (_, id) => newActor(id));
  const desk = actors[WORKERS];
  if (desk) desk.routine = people(context);
  let endsAtMs = HORIZON_MS;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const actor = soonest(actors);
    const nowMs = Math.max(store.nowMs, actor.readyAtMs);
    if (nowMs > endsAtMs) return;
    store.nowMs = nowMs;
    bank.advance(nowMs);
    if (actor.id < WORKERS) work(context, actor);
    else live(actor);
    const ended = !bank.expectsMore && store.runs.every(({ status }) => isPayRunFinal(status));
    if (ended && endsAtMs === HORIZON_MS) endsAtMs = Math.min(HORIZON_MS, nowMs + AFTERWARDS_MS);
    if (!ended) endsAtMs = HORIZON_MS;
  }
}

function newActor(id: number): Actor {
  return { id, readyAtMs: 0, claim: undefined, routine: undefined, paused: false };
}

function soonest(actors: readonly Actor[]): Actor {
  return actors.reduce((first, one) => (one.readyAtMs < first.readyAtMs ? one : first));
}

function live(actor: Actor): void {
  const next = actor.routine?.next();
  actor.readyAtMs += next === undefined || next.done === true ? NEVER : next.value;
}

/** Claims work, or takes what it does one moment further, unless it dies or pauses instead. */
function work(context: Context, actor: Actor): void {
  const { store } = context;
  if (!actor.routine || !actor.claim) return begin(context, actor);
  if (strikes(context, actor)) return;
  if (!actor.paused) store.renew(actor.claim);
  actor.paused = false;
  try {
    const next = actor.routine.next();
    if (next.done === true) end(context, actor, next.value);
    else actor.readyAtMs = store.nowMs + next.value;
  } catch (error) {
    end(context, actor, pauseOf(error));
  }
}

function begin(context: Context, actor: Actor): void {
  const { store } = context;
  actor.claim = store.claim(actor.id);
  if (actor.claim) {
    actor.routine = stepOf(context, actor.claim);
    actor.readyAtMs = store.nowMs;
  } else actor.readyAtMs = Math.max(store.nowMs + 1, Math.min(store.nextDueMs(), store.nowMs + LEASE_MS));
}

function strikes({ random, world, store }: Context, actor: Actor): boolean {
  if (store.nowMs > LAST_FAULT_MS) return false;
  if (random.chance(world.crashRate)) {
    actor.routine = undefined;
    actor.claim = undefined;
    actor.readyAtMs = store.nowMs + random.between(5, 100);
    return true;
  }
  if (actor.paused || !random.chance(world.pauseRate)) return false;
  actor.paused = true;
  actor.readyAtMs = store.nowMs + random.between(LEASE_MS / 2, LEASE_MS * 4);
  return true;
}

function end({ store }: Context, actor: Actor, wakeInMs: number): void {
  if (actor.claim) store.release(actor.claim, wakeInMs);
  actor.claim = undefined;
  actor.routine = undefined;
  actor.readyAtMs = store.nowMs;
}

function pauseOf(error: unknown): number {
  if (error instanceof Halted) return error.obstacle === 'ENDED' ? 0 : STOPPED_PAUSE_MS;
  const foreseen = [Fenced, CommitLost, Unreachable, SecondAttempt, IllegalTransition];
  if (foreseen.some((kind) => error instanceof kind)) return FAILURE_PAUSE_MS;
  throw error;
}

function stepOf(context: Context, claim: Claim): Step {
  const { store } = context;
  if (claim.kind === 'RUN') {
    const run = store.runs[claim.subject];
    if (!run) throw new Error('no such run');
    return stepRun(context, claim, run);
  }
  return claim.kind === 'FOLLOW' ? followed(context, claim) : dispatch(context, claim);
}

function* followed(context: Context, claim: Claim): Step {
  const instruction = context.store.instructions[claim.subject];
  return instruction ? yield* follow(context, claim, instruction) : NEVER;
}

/** As `SubmissionService.dispatch` of the product. */
function* dispatch(context: Context, claim: Claim): Step {
  const instruction = context.store.instructions[claim.subject];
  if (!instruction) return NEVER;
  const { run } = instruction.planned;
  switch (instruction.status) {
    case 'PLANNED':
    case 'BUILDING':
    case 'VERIFIED': {
      const obstacle = obstacleOf(context, run);
      if (obstacle === 'ENDED' && run.status !== 'SUBMITTING') {
        transaction(context, () => {
          fence(context, claim);
          endUnsubmitted(context, instruction);
        });
        return NEVER;
      }
      if (obstacle) return STOPPED_PAUSE_MS;
      if (instruction.status !== 'VERIFIED') return yield* build(context, claim, instruction);
      return run.status === 'SUBMITTING' ? yield* submit(context, claim, instruction) : NEVER;
    }
    case 'SUBMIT_INTENT':
    case 'SUBMIT_UNKNOWN':
    case 'SUBMIT_REFUSED':
      return yield* recover(context, claim, instruction);
    case 'SUBMITTED':
    case 'CLOSED':
    case 'ABANDONED':
    case 'CANCELLED':
    case 'VOID':
    case 'RELEASED':
      return NEVER;
  }
}
