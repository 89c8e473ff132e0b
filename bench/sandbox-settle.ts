import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATHS } from '../src/bank/types';
import { DEFAULT_TOKEN } from '../src/bank-sandbox/sandbox';
import { DEFAULT_SEED } from '../src/bank-sandbox/seed';
import { demoBankSettings } from '../src/cli/demo-settings';
import { germanIban } from '../test/support/pay-rows';
import { OwnProcess, startOwnProcess } from './own-process';
import { residentBytes } from './peak-memory';

const BANK = join(__dirname, '..', 'src', 'bank-sandbox', 'main.js');
const DEFAULT_PAYMENTS = 100_000;
const PER_INSTRUCTION = 1_000;
const ADDS_AT_ONCE = 16;
const PAGE_SIZE = 100;
/** A day's payroll of this size settles in seconds; this is for machines that have other work. */
const SETTLE_TIMEOUT_MS = 5 * 60_000;
const POLL_MS = 50;
const LIMIT_BYTES = 1_024 * 1_000_000;
/** A page costs the same wherever it is; twice is for noise. */
const LIMIT_RATIO = 2;

/** Talks to the bank as a client does; an answer that is no success ends the measurement. */
class Client {
  constructor(readonly bank: OwnProcess) {}

  async call(method: 'GET' | 'POST', path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${DEFAULT_TOKEN}`, 'content-type': 'application/json' };
    const response = await fetch(this.bank.url + path, { method, headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }
}

const centsOf = (n: number): number => 100_000 + (n % 4_000);
const debtor = DEFAULT_SEED.users[1]!;

async function initiate(client: Client, requestedExecutionDate: string): Promise<number> {
  const { id } = await client.call('POST', PATHS.initiate(), {
    customerInstructionInformation: { paymentInstrument: 'CreditTransfer', requestedExecutionDate },
    customerInstructionOrderingParties: {
      debtor: { name: debtor.holderName, accountId: { type: 'IBAN', value: debtor.account!.iban } },
    },
  });
  return id;
}

function add(client: Client, instructionId: number, n: number): Promise<unknown> {
  return client.call('POST', PATHS.addPaymentTransaction(String(instructionId)), {
    paymentTransactionAmountInformation: { instructedAmount: { value: centsOf(n), currency: 'EUR' } },
    paymentTransactionParties: {
      creditor: { name: `Employee ${n}`, accountId: { type: 'IBAN', value: germanIban(n) } },
    },
    paymentTransactionDedicatedInformations: {
      remittanceInformation: { value: 'Salary', type: 'UNSTRUCTURED' },
    },
    paymentTransactionInformation: { paymentTransactionIdentification: { messageId: `bench-${n}` } },
  });
}

/** Initiates the instructions and adds all payments, so many at once. */
async function build(client: Client, payments: number): Promise<number[]> {
  const { date } = await client.call('GET', '/sandbox/clock');
  const instructions: number[] = [];
  for (let n = 0; n < payments; n += PER_INSTRUCTION) instructions.push(await initiate(client, date));
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let n = next++; n < payments; n = next++)
      await add(client, instructions[Math.floor(n / PER_INSTRUCTION)]!, n);
  };
  await Promise.all(Array.from({ length: ADDS_AT_ONCE }, worker));
  return instructions;
}

async function settle(client: Client, instructions: readonly number[], payments: number): Promise<void> {
  for (const id of instructions) await client.call('POST', PATHS.submit(String(id)));
  const settled = `${PATHS.paymentTransactions()}?status=SETTLED&pageSize=1`;
  for (const deadline = Date.now() + SETTLE_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const { count } = await client.call('GET', settled);
    if (count === payments) return;
    if (Date.now() > deadline) throw new Error(`only ${count} of ${payments} payments settled`);
  }
}

/**
 * Milliseconds of each page. A page of each tenth is read in turn: other work of the machine costs all tenths the same.
 * @throws Error when the pages do not hold every payment once
 */
async function listAll(client: Client, payments: number): Promise<number[]> {
  const ids = new Set<number>();
  const count = Math.ceil(payments / PAGE_SIZE);
  const tenth = Math.ceil(count / 10);
  const inTurn = Array.from({ length: 10 * tenth }, (_, n) => (n % 10) * tenth + Math.floor(n / 10) + 1);
  const costs: number[] = [];
  for (const page of inTurn.filter((one) => one <= count)) {
    const path = `${PATHS.paymentTransactions()}?page=${page}&pageSize=${PAGE_SIZE}`;
    const { seconds, result } = await timed(() => client.call('GET', path));
    costs[page - 1] = seconds * 1_000;
    for (const { paymentTransactionInternalInformation } of result.items)
      ids.add(paymentTransactionInternalInformation.id);
  }
  if (ids.size !== payments) throw new Error(`the pages held ${ids.size} of ${payments} payments`);
  return costs;
}

/** @throws Error when the book does not balance, or anybody was not paid exactly once and exactly that */
async function checkLedger(client: Client, payments: number): Promise<void> {
  const { entriesSumMinor, payees } = await client.call('GET', '/sandbox/ledger');
  if (entriesSumMinor !== '0') throw new Error(`the entries sum to ${entriesSumMinor} cents instead of 0`);
  const due = new Map(Array.from({ length: payments }, (_, n) => [germanIban(n), String(centsOf(n))]));
  for (const { iban, count, movedMinor } of payees)
    if (count !== 1 || due.get(iban) !== movedMinor) throw new Error(`a payee got ${movedMinor} cents`);
  if (payees.length !== payments) throw new Error(`${payees.length} of ${payments} payees got money`);
}

async function timed<T>(work: () => Promise<T>): Promise<{ seconds: number; result: T }> {
  const started = performance.now();
  const result = await work();
  return { seconds: (performance.now() - started) / 1_000, result };
}

/** The median cost of the tenth of the pages that begins at this share of them. */
function medianAt(costs: readonly number[], share: number): number {
  const first = Math.floor(costs.length * share);
  const tenth = costs.slice(first, first + Math.max(1, Math.floor(costs.length / 10)));
  return tenth.sort((one, other) => one - other)[tenth.length >> 1] ?? 0;
}

/** Builds, settles and lists so many payments at a bank of its own. Returns whether it kept the limits. */
async function measure(bank: OwnProcess, payments: number): Promise<boolean> {
  const client = new Client(bank);
  const built = await timed(() => build(client, payments));
  const afterAdds = await residentBytes(bank.pid);
  const settled = await timed(() => settle(client, built.result, payments));
  const afterSettling = await residentBytes(bank.pid);
  const costs = await listAll(client, payments);
  await checkLedger(client, payments);
  const peakBytes = Math.max(afterAdds, afterSettling, await residentBytes(bank.pid));
  const medians = [0, 0.45, 0.9].map((share) => medianAt(costs, share));
  const ratio = (medians[2] ?? 0) / (medians[0] ?? 1);
  const figures: [string, string][] = [
    ['payments', String(payments)],
    ['adds/s', (payments / built.seconds).toFixed(0)],
    ['settled in s', settled.seconds.toFixed(2)],
    ['peak RSS in MB', (peakBytes / 1_000_000).toFixed(0)],
    ['ms/page, first', (medians[0] ?? 0).toFixed(2)],
    ['middle', (medians[1] ?? 0).toFixed(2)],
    ['last tenth', (medians[2] ?? 0).toFixed(2)],
    ['last/first', ratio.toFixed(2)],
  ];
  const row = (cell: 0 | 1) => figures.map((one) => one[cell].padStart(one[0].length)).join('  ');
  process.stdout.write(`${row(0)}\n${row(1)}\n`);
  return peakBytes <= LIMIT_BYTES && ratio <= LIMIT_RATIO;
}

async function main(): Promise<void> {
  const payments = Number(process.argv[2] ?? DEFAULT_PAYMENTS);
  if (!Number.isInteger(payments) || payments < 1) throw new Error('the argument is a number of payments');
  const settings = { ...demoBankSettings(true), SANDBOX_PARENT_PID: String(process.pid) };
  const bank = await startOwnProcess(BANK, settings);
  try {
    if (await measure(bank, payments)) return;
    process.stdout.write(
      `FAILED: more than ${LIMIT_BYTES / 1_000_000} MB, or the last pages cost over ${LIMIT_RATIO} times the first.\n`,
    );
    process.exitCode = 1;
  } finally {
    await bank.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
