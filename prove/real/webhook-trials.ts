import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { SIGNATURE_HEADER } from '../../src/bank/types';
import { signForTests } from '../../src/bank/webhook-signature';
import { DEFAULT_WEBHOOK_SECRET } from '../../src/bank-sandbox/sandbox';
import { execute, select } from '../../test/support/database';
import { eventually } from '../../test/support/eventually';
import type { Ledger } from '../../test/support/payroll';
import { uuidOf } from './record';
import type { Relay } from './relay';
import { saidAgain } from './said-again';
import type { Stand } from './stand';
import { scripted, type Trial } from './trial';

type LedgerInstruction = Ledger['instructions'][number];

/** What the deliveries that are still to come need. */
const ALL_SENT_MS = 1_500;
/** They are sent as soon as something moves at the bank. */
const ANSWERED_WITHIN_MS = 5_000;
const BEGUN_WITHIN_MS = 10_000;
const READ_WITHIN_MS = 5_000;
/** About each of a few instructions. */
const LIES = 20;
const FLOOD = { perSecond: 5_000, seconds: 2 };
/** A sender's machine has some thousands of connections; together they hold all of it, however late it is answered. */
const FLOOD_CONNECTIONS = 1_000;
const FLOOD_PIPELINED = 10;
/** By its query told from what the bank itself delivers. */
const FLOODED = '/webhooks/bank?flood';
const WRITTEN = 'undici:client:sendHeaders';
/** Longer than a busy machine needs to send them all: what it has no time to hear an answer to shows nothing. */
const GIVEN_UP_MS = 60_000;
const GIVEN_UP = 'given up';
/** They are sent within a few seconds of each other. */
const NEARLY = 0.8;

/** What becomes of the bank's webhooks on their way. Polling alone ends every run. */
export function webhookTrials(): Trial[] {
  const hooked = { assumptions: 'inside', stand: 'hooked' } as const;
  const dropped = scripted('no webhooks at all', true, { operation: 'webhook', kind: 'dropped' });
  return [
    { ...dropped, stand: 'hooked' as const },
    {
      ...hooked,
      fault: 'webhooks replayed',
      short: false,
      meet: async (stand, rows) => {
        await stand.payroll.fault({ operation: 'webhook', kind: 'replayed' });
        return taken(stand, 2, () => stand.pay(rows));
      },
    },
    {
      ...hooked,
      fault: 'webhooks forged',
      short: true,
      meet: async (stand, rows) => {
        await stand.payroll.fault({ operation: 'webhook', kind: 'forged' });
        const id = await taken(stand, 1, () => stand.pay(rows));
        await answered(stand, 401, 1);
        if (await isForgeryStored(stand)) throw new Error('a forged webhook was stored');
        return id;
      },
    },
    {
      ...hooked,
      fault: 'webhooks doubled ten times',
      short: true,
      meet: async (stand, rows) => {
        stand.hooks.copies = 10;
        return taken(stand, 10, () => stand.pay(rows));
      },
    },
    {
      ...hooked,
      fault: 'webhooks reversed',
      short: false,
      meet: async (stand, rows) => {
        const { id, held } = await heldBack(stand, () => stand.pay(rows));
        return taken(stand, held.length, async () => {
          for (const delivery of held.reverse()) await stand.hooks.handOn(delivery);
          return id;
        });
      },
    },
    {
      ...hooked,
      fault: 'webhooks three weeks late',
      short: false,
      meet: async (stand, rows) => {
        const { id, held } = await heldBack(stand, () => stand.pay(rows));
        await stand.payroll.until(id, ['SETTLED'], 20_000);
        await threeWeeksLater(stand);
        const before = await readsOf(stand, id);
        await taken(stand, held.length, async () => {
          for (const delivery of held) await stand.hooks.handOn(delivery);
          return id;
        });
        await eventually(
          async () => (await readsOf(stand, id)) > before,
          READ_WITHIN_MS,
          () => 'what they are about was not read again',
        );
        return id;
      },
    },
    {
      ...hooked,
      fault: 'webhooks that are signed and lie',
      short: true,
      meet: async (stand, rows) => {
        await stand.payroll.fault({ operation: 'add', kind: 'late-commit', nth: 2, delayMs: 400 });
        const before = await storedBy(stand);
        const id = await stand.pay(rows);
        await tellLies(stand);
        if ((await storedBy(stand)) === before) throw new Error('no webhook was stored');
        return id;
      },
    },
    {
      ...hooked,
      fault: `webhooks flooded at ${FLOOD.perSecond} a second`,
      short: true,
      meet: async (stand, rows) => {
        const before = await atBank(stand);
        const id = await stand.pay(rows);
        const about = await begunSince(stand, before);
        await flood(stand, about);
        await takenAfterwards(stand, about);
        return id;
      },
    },
  ];
}

/** Delivers signed webhooks that lie about what is at the bank. @throws where one is refused */
export async function tellLies(stand: Stand): Promise<void> {
  for (let n = 0; n < LIES; n += 1) {
    for (const about of await atBank(stand)) {
      const { status } = await saidAgain(() => stand.payroll.deliver(lie(about, n)));
      if (status !== 200) throw new Error(`a signed webhook was answered with ${status}`);
    }
    await sleep(50);
  }
}

/** @throws where the service does not answer so many deliveries with 200, or stores none of them */
async function taken(stand: Stand, times: number, send: () => Promise<string>): Promise<string> {
  const before = await storedBy(stand);
  const id = await send();
  await answered(stand, 200, times);
  if ((await storedBy(stand)) === before) throw new Error('no webhook was stored');
  return id;
}

/** @throws where the service does not answer so many deliveries so */
function answered({ hooks }: Stand, status: number, times: number): Promise<void> {
  const count = () => hooks.statuses.filter((one) => one === status).length;
  return eventually(
    () => Promise.resolve(count() >= times),
    ANSWERED_WITHIN_MS,
    () => `${count()} of ${hooks.statuses.length} webhooks were answered with ${status}`,
  );
}

/** How many bodies of webhooks the service has stored. */
async function storedBy({ payroll }: Stand): Promise<number> {
  return (await payroll.inbox()).length;
}

async function isForgeryStored({ payroll, hooks }: Stand): Promise<boolean> {
  if (hooks.forged.length === 0) throw new Error('no webhook was forged');
  const stored = await select(
    payroll.database.superuserUrl,
    'SELECT FROM webhook_inbox WHERE body_hash = ANY ($1)',
    [hooks.forged],
  );
  return stored.length > 0;
}

/** All that was paid here has ended three weeks ago, and has been read each day since. */
async function threeWeeksLater({ payroll }: Stand): Promise<void> {
  await payroll.restsForADay();
  const back = (column: string) => `${column} = ${column} - interval '21 days'`;
  await execute(
    payroll.database.superuserUrl,
    `SET session_replication_role = replica;
     UPDATE instruction SET ${['created_at', 'submitted_at', 'closed_at'].map(back).join(', ')};
     UPDATE pay_run SET ${['balance_asked_at', 'balance_read_at'].map(back).join(', ')}`,
  );
}

/** How often what a run has at the bank was taken up to be read. */
async function readsOf({ payroll }: Stand, runId: string): Promise<number> {
  const [followed] = await select<{ reads: string }>(
    payroll.database.superuserUrl,
    `SELECT sum(epoch) AS reads FROM lease
     WHERE kind = 'FOLLOW' AND subject_id IN (SELECT id FROM instruction WHERE pay_run_id = $1)`,
    [uuidOf(runId)],
  );
  return Number(followed?.reads ?? 0);
}

/** Pays while every delivery is held back; answers those that came. */
async function heldBack(
  stand: Stand,
  pay: () => Promise<string>,
): Promise<{ id: string; held: Relay['held'] }> {
  stand.hooks.holds = true;
  const id = await pay();
  await stand.payroll.until(id, ['FOLLOWING', 'SETTLED'], 20_000);
  await sleep(ALL_SENT_MS);
  const { held } = stand.hooks;
  if (held.length === 0) throw new Error('the bank sent no webhook');
  stand.hooks.calm();
  return { id, held };
}

/** The youngest instructions at the bank, which mean something to the service. */
async function atBank(stand: Stand): Promise<LedgerInstruction[]> {
  const { instructions } = await stand.payroll.ledger();
  return instructions.slice(-4);
}

/** An instruction of the run that is being paid, as soon as there is one. */
async function begunSince(stand: Stand, before: readonly LedgerInstruction[]): Promise<LedgerInstruction> {
  const last = before.at(-1)?.id ?? 0;
  let begun: LedgerInstruction | undefined;
  await eventually(
    async () => {
      begun = (await atBank(stand)).find(({ id }) => id > last);
      return begun !== undefined;
    },
    BEGUN_WITHIN_MS,
    () => 'nothing was begun at the bank',
  );
  return begun as LedgerInstruction;
}

/** About an instruction and one of the payments that it has. */
function lie({ id: customerInstructionId, rows }: LedgerInstruction, n: number): string {
  const data = {
    status: n % 2 === 0 ? 'SETTLED' : 'FAILED',
    customerInstructionId,
    paymentTransactionId: rows[n % Math.max(rows.length, 1)]?.id,
  };
  return JSON.stringify({ id: String(n), event: 'payment_transaction.settled', data });
}

/**
 * Sends at a pace that waits for no answer: half of it new, half of it the same again.
 * @throws where it is answered otherwise than that it was taken, or is to come again
 */
async function flood(stand: Stand, about: LedgerInstruction): Promise<void> {
  const agent = new Agent({
    connections: FLOOD_CONNECTIONS,
    pipelining: FLOOD_PIPELINED,
    connectTimeout: GIVEN_UP_MS,
  });
  const { arrivals, stop } = arrivalsOf(FLOODED);
  const underway: Promise<Answer>[] = [];
  const startedMs = performance.now();
  const total = FLOOD.perSecond * FLOOD.seconds;
  while (underway.length < total) {
    const due = Math.min(total, ((performance.now() - startedMs) / 1_000) * FLOOD.perSecond);
    while (underway.length < due) underway.push(send(stand, agent, lie(about, underway.length >> 1)));
    await sleep(5);
  }
  const answers = await Promise.all(underway);
  stop();
  await agent.destroy();
  const others = new Set(answers.filter((answer) => ![200, 503, GIVEN_UP].some((one) => one === answer)));
  if (others.size > 0) throw new Error(`webhooks of the flood were answered with ${[...others].join(', ')}`);
  const count = (answer: Answer) => answers.filter((status) => status === answer).length;
  // How many are taken is the machine's affair.
  if (count(200) === 0) throw new Error('no webhook of the flood was answered with 200');
  // One whose connection ended before its answer is written once more.
  const written = arrivals.slice(0, total);
  const perSecond = Math.round(written.length / (((written.at(-1) ?? 0) - startedMs) / 1_000));
  const answered = `${count(200)} of them answered with 200, ${count(503)} with 503`;
  const late = count(GIVEN_UP) === 0 ? '' : `, ${count(GIVEN_UP)} not in ${GIVEN_UP_MS / 1_000} s`;
  stand.remark(`${written.length} webhooks on the wire at ${perSecond} a second, ${answered}${late}`);
}

/** One that is told after the flood is stored as any other. @throws where it is not */
async function takenAfterwards(stand: Stand, about: LedgerInstruction): Promise<void> {
  const before = await storedBy(stand);
  const { status } = await saidAgain(() =>
    stand.payroll.deliver(lie(about, FLOOD.perSecond * FLOOD.seconds)),
  );
  if (status !== 200) throw new Error(`after the flood a webhook was answered with ${status}`);
  if ((await storedBy(stand)) === before) throw new Error('after the flood no webhook was stored');
}

/** When each request of a path was written to its connection, from now on. */
function arrivalsOf(path: string): { arrivals: readonly number[]; stop: () => void } {
  const arrivals: number[] = [];
  const note = (message: unknown) => {
    if ((message as { request: { path: string } }).request.path === path) arrivals.push(performance.now());
  };
  subscribe(WRITTEN, note);
  return { arrivals, stop: () => unsubscribe(WRITTEN, note) };
}

/** A status, or that there was none in time, or why there was none. */
type Answer = number | string;

async function send(stand: Stand, agent: Agent, body: string): Promise<Answer> {
  const sentMs = performance.now();
  const headers = {
    'content-type': 'application/json',
    [SIGNATURE_HEADER]: signForTests(Buffer.from(body), DEFAULT_WEBHOOK_SECRET),
  };
  try {
    const response = await agent.request({
      origin: stand.payroll.url,
      path: FLOODED,
      method: 'POST',
      // More than one is on its way on each connection.
      idempotent: true,
      headers,
      body,
      signal: AbortSignal.timeout(GIVEN_UP_MS),
    });
    await response.body.dump();
    return response.statusCode;
  } catch (error) {
    // Whoever gives one up ends its connection, and so those behind it.
    return performance.now() - sentMs >= NEARLY * GIVEN_UP_MS ? GIVEN_UP : String(error);
  }
}
