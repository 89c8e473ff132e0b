import * as http from 'node:http';
import { join } from 'node:path';
import axios from 'axios';
import { Pool } from 'undici';
import { BankClient } from '../src/bank/client';
import { BankGateway } from '../src/bank/gateway';
import { BankHttp, DEFAULT_HTTP_LIMITS } from '../src/bank/http';
import { PATHS } from '../src/bank/types';
import { germanIban } from '../test/support/pay-rows';
import { inLanes } from './lanes';
import { median } from './median';
import { startOwnProcess } from './own-process';

const DEFAULT_POSTS = 5_000;
const ROUNDS = 5;
const AT_ONCE = 32;
const STUB = join(__dirname, 'stub-bank.js');

interface Contender {
  name: string;
  post: (n: number) => Promise<unknown>;
}

interface Figure {
  cpuUs: number;
  perSecond: number;
}

/** One add to a bank in another process, by each way to send it; the argument is how many adds each sends a round. */
async function main(): Promise<void> {
  const posts = Number(process.argv[2] ?? DEFAULT_POSTS);
  const bank = await startOwnProcess(STUB, { ...process.env });
  const client = new BankClient({ baseUrl: bank.url, token: 't', amountUnit: 'minor' });
  const gateway = new BankGateway(client);
  const plain = new BankHttp();
  const pool = new Pool(bank.url, { connections: AT_ONCE });
  const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });
  try {
    const contenders = await contendersOf(bank.url, gateway, plain, pool, agent);
    const figures = new Map<string, Figure[]>(contenders.map(({ name }) => [name, []]));
    for (const contender of contenders) await measure(contender, Math.ceil(posts / 5));
    for (let round = 0; round < ROUNDS; round += 1)
      for (const contender of contenders) figures.get(contender.name)?.push(await measure(contender, posts));
    process.stdout.write(`${'median of five rounds'.padEnd(44)}  CPU a POST  POSTs/s\n`);
    for (const [name, all] of figures) {
      const cpuUs = median(all.map((one) => one.cpuUs)).toFixed(0);
      const perSecond = median(all.map((one) => one.perSecond)).toFixed(0);
      process.stdout.write(`${name.padEnd(44)}  ${`${cpuUs} µs`.padStart(10)}  ${perSecond.padStart(7)}\n`);
    }
  } finally {
    agent.destroy();
    await pool.close();
    plain.close();
    client.close();
    await bank.stop();
  }
}

async function contendersOf(
  url: string,
  gateway: BankGateway,
  plain: BankHttp,
  pool: Pool,
  agent: http.Agent,
): Promise<Contender[]> {
  const opened = await gateway.initiate({
    reference: 'bench',
    count: 1,
    totalMinor: 1n,
    currency: 'EUR',
    executionDate: '2026-01-05',
    debtor: { name: 'Bench SARL', iban: germanIban(0) },
    externalData: {},
  });
  if (opened.kind !== 'yes') throw new Error('the stub bank did not open an instruction');
  const { bankInstructionId } = opened.value;
  const path = PATHS.addPaymentTransaction(bankInstructionId);
  const prepared = (n: number) =>
    gateway.prepareAdd(bankInstructionId, {
      messageId: `m${n}`,
      amountMinor: BigInt(100_000 + n),
      currency: 'EUR',
      creditor: { name: 'Anna Andersson', iban: germanIban(n % 1_000), bic: 'MARKDEFF' },
      remittance: `Salary of employee ${n}`,
      externalData: { messageId: `m${n}` },
    });
  const { body } = prepared(1);
  const headers = {
    Authorization: 'Bearer t',
    Accept: 'application/json',
    'Content-Type': 'application/json',
  };
  const nodeHttp = axios.create({
    adapter: 'http',
    httpAgent: agent,
    maxRedirects: 0,
    proxy: false,
    maxContentLength: DEFAULT_HTTP_LIMITS.maxBodyBytes,
    responseType: 'text',
    transformResponse: [],
  });
  return [
    {
      name: 'undici alone',
      post: async () => (await pool.request({ method: 'POST', path, headers, body })).body.text(),
    },
    { name: 'axios, keep-alive agent', post: () => nodeHttp.post(url + path, body, { headers }) },
    {
      name: "the service's transport (axios over a pool)",
      post: () => plain.send({ method: 'POST', url: url + path, headers, body }),
    },
    { name: '  and the answer read and checked', post: (n) => gateway.sendAdd(prepared(n)) },
  ];
}

async function measure({ post }: Contender, posts: number): Promise<Figure> {
  const before = process.cpuUsage();
  const started = performance.now();
  await inLanes(posts, AT_ONCE, post);
  const seconds = (performance.now() - started) / 1_000;
  const { user, system } = process.cpuUsage(before);
  return { cpuUs: (user + system) / posts, perSecond: posts / seconds };
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
