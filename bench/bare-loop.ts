import { BankClient } from '../src/bank/client';
import { BankGateway } from '../src/bank/gateway';
import { keepHeapSmall } from '../src/config/heap';
import { germanIban } from '../test/support/pay-rows';
import { inLanes } from './lanes';

/**
 * The calls of a run and nothing else: no database, no intent, no outcome kept. A process of its own with the service's
 * client; BARE_ROWS payments in instructions of BARE_INSTRUCTION_ROWS, BARE_AT_ONCE adds under way at once. Prints
 * what it took as one line of JSON.
 */
const { BANK_BASE_URL = '', BARE_ROWS, BARE_INSTRUCTION_ROWS, BARE_AT_ONCE } = process.env;
const ROWS = Number(BARE_ROWS);
const INSTRUCTION_ROWS = Number(BARE_INSTRUCTION_ROWS);
/** As many instructions as the service takes up side by side. */
const INSTRUCTIONS_AT_ONCE = 4;

/** What the bare loop took. */
export interface BareFigures {
  /** From the first initiate to the last answer to an add. */
  addSeconds: number;
  /** One reading of every instruction and of its payments, after that. */
  readSeconds: number;
  addCpuUs: number;
  readCpuUs: number;
}

async function main(): Promise<void> {
  // As the service: what its memory costs is no cost of keeping a record.
  keepHeapSmall();
  const client = new BankClient({ baseUrl: BANK_BASE_URL, token: 't', amountUnit: 'minor' });
  const gateway = new BankGateway(client);
  const count = Math.ceil(ROWS / INSTRUCTION_ROWS);
  const before = process.cpuUsage();
  const started = performance.now();
  // Opened when their first row comes: the adds of two instructions overlap, as they do in the service.
  const opening = new Map<number, Promise<string>>();
  const instructionOf = (n: number): Promise<string> => {
    const part = Math.floor(n / INSTRUCTION_ROWS);
    const known = opening.get(part) ?? open(gateway, part);
    opening.set(part, known);
    return known;
  };
  await inLanes(ROWS, Number(BARE_AT_ONCE), async (n) => {
    const outcome = await gateway.add(await instructionOf(n), rowOf(n));
    if (outcome.kind !== 'yes') throw new Error(`row ${n}: ${outcome.kind}`);
  });
  const added = process.cpuUsage(before);
  const addSeconds = (performance.now() - started) / 1_000;
  await inLanes(count, INSTRUCTIONS_AT_ONCE, async (n) =>
    read(gateway, await instructionOf(n * INSTRUCTION_ROWS)),
  );
  const readSeconds = (performance.now() - started) / 1_000 - addSeconds;
  const whole = process.cpuUsage(before);
  client.close();
  const addCpuUs = added.user + added.system;
  const readCpuUs = whole.user + whole.system - addCpuUs;
  const figures: BareFigures = { addSeconds, readSeconds, addCpuUs, readCpuUs };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

async function open(gateway: BankGateway, part: number): Promise<string> {
  const outcome = await gateway.initiate({
    reference: `bare-${part}`,
    count: Math.min(INSTRUCTION_ROWS, ROWS - part * INSTRUCTION_ROWS),
    totalMinor: 1n,
    currency: 'EUR',
    executionDate: '2026-01-05',
    debtor: { name: 'Bench SARL', iban: germanIban(0) },
    externalData: { part: String(part) },
  });
  if (outcome.kind !== 'yes') throw new Error('the bank did not open an instruction');
  return outcome.value.bankInstructionId;
}

function rowOf(n: number) {
  return {
    messageId: `bare-${n}`,
    amountMinor: BigInt(100_000 + n),
    currency: 'EUR',
    creditor: { name: 'Anna Andersson', iban: germanIban(n), bic: n % 2 === 0 ? 'MARKDEFF' : undefined },
    remittance: n % 4 === 0 ? undefined : `Salary of employee ${n}`,
    externalData: { messageId: `bare-${n}`, payRunId: 'run', paymentId: `payment ${n}` },
  };
}

async function read(gateway: BankGateway, bankInstructionId: string): Promise<void> {
  await gateway.getInstruction(bankInstructionId);
  for await (const _ of gateway.listInstructionPayments(bankInstructionId)) continue;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
