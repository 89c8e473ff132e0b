import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PATHS } from '../src/bank/types';

/**
 * A bank that costs as little as it can: it answers initiate, add, submit and the reads as the interface document
 * writes them, keeps what it was told in memory, and settles what is submitted at once. It checks nothing: what it
 * holds is judged by the bench. STUB_LATENCY_MS is the time from the last byte of a request to the first of the answer,
 * STUB_PAGE_SIZE the most rows of a page. With STUB_SETTLES=told nothing settles before POST /stub/settle.
 */
const LATENCY_MS = Number(process.env['STUB_LATENCY_MS'] ?? '0');
const ACCOUNT_ID = '700';
const BALANCE_MINOR = '99999999999999';
const AT = '2026-01-05T10:00:00+00:00';
const PAGE_SIZE = Number(process.env['STUB_PAGE_SIZE'] ?? '100');
let settles = process.env['STUB_SETTLES'] !== 'told';

interface Row {
  id: number;
  amountMinor: bigint;
  /** The record's text around its status. */
  before: string;
  after: string;
}

interface Instruction {
  id: number;
  information: string;
  parties: string;
  totalMinor: bigint;
  rows: Row[];
  submits: number;
}

const instructions = new Map<number, Instruction>();
const rows: { row: Row; instruction: Instruction }[] = [];
/** When each request of the service came, in ms. */
const cameAt: number[] = [];
const posts = { initiate: 0, add: 0, submit: 0 };
/** Reads of what was submitted, and of the general list, which nobody but a follower reads. */
const NOTHING_READ = { generalList: 0, instructionPayments: 0, instruction: 0, payment: 0 };
const following = { ...NOTHING_READ };
/** When the first of them came, in ms since 1970. */
let followedSince: number | undefined;

const ROUTES: readonly [
  method: string,
  path: RegExp,
  answer: (ids: number, body: string, url: URL) => Answer,
][] = [
  ['POST', pathOf(PATHS.addPaymentTransaction), add],
  ['POST', pathOf(PATHS.initiate), initiate],
  ['POST', pathOf(PATHS.submit), submit],
  ['GET', pathOf(PATHS.instructionPaymentTransactions), listOfInstruction],
  ['GET', pathOf(PATHS.customerInstruction), (id) => found(instructions.get(id), instructionRead)],
  [
    'GET',
    pathOf(PATHS.paymentTransaction),
    (id) =>
      found(rows[id - 1], ({ row, instruction }) => {
        if (instruction.submits > 0) followed('payment');
        return text(row, instruction);
      }),
  ],
  [
    'GET',
    pathOf(PATHS.paymentTransactions),
    (_id, _body, url) => {
      followed('generalList');
      return page(rows, ({ row, instruction }) => text(row, instruction), url);
    },
  ],
  ['GET', pathOf(PATHS.account), () => [200, accountText()]],
  ['DELETE', pathOf(PATHS.creditTransfer), (id) => (instructions.delete(id) ? [204, ''] : [404, '{}'])],
  ['GET', /^\/stub\/book$/, () => [200, JSON.stringify(book())]],
  ['POST', /^\/stub\/settle$/, settle],
];

type Answer = [status: number, body: string];

function pathOf(path: (id: string) => string): RegExp {
  return new RegExp(`^${path('ID').replace('ID', '(\\d+)')}$`);
}

function initiate(_id: number, body: string): Answer {
  posts.initiate += 1;
  const sent = JSON.parse(body) as Record<string, Record<string, unknown>>;
  const { requestedTotalAmount, ...information } = sent['customerInstructionInformation'] ?? {};
  const [total] = requestedTotalAmount as unknown[];
  const instruction: Instruction = {
    id: instructions.size + 1,
    information: JSON.stringify({ ...information, requestedTotalAmount: total }),
    parties: JSON.stringify(sent['customerInstructionOrderingParties']),
    totalMinor: 0n,
    rows: [],
    submits: 0,
  };
  instructions.set(instruction.id, instruction);
  return [201, instructionText(instruction)];
}

/** What an add carries is repeated as it came: the record is text, put together once. */
function add(instructionId: number, body: string): Answer {
  posts.add += 1;
  const instruction = instructions.get(instructionId);
  if (!instruction || instruction.submits > 0) return [409, '{"code":"NOT_OPEN"}'];
  const cents = /"instructedAmount":\{"value":(\d+)/.exec(body)?.[1] ?? '0';
  const messageId = /"messageId":("[^"]*")/.exec(body)?.[1] ?? '""';
  const parties = /"paymentTransactionParties":(\{.*?\}\}\}?),"payment/.exec(body)?.[1] ?? '{}';
  const id = rows.length + 1;
  const row: Row = {
    id,
    amountMinor: BigInt(cents),
    before:
      `{"paymentTransactionInformation":{"paymentInstrument":"CreditTransfer","paymentTransactionIdentification":{"messageId":${messageId},` +
      `"endToEndId":"NOTPROVIDED","clearingChannel":"RTNS","id":${id},"customerInstructionId":${instructionId}},` +
      `"paymentTransactionTypeInformation":{"serviceLevel":"BACI"},"direction":"OUTWARD"},` +
      `"paymentTransactionInternalInformation":{"id":${id},"contractId":1,"status":`,
    after:
      `},"paymentTransactionDateInformation":{"creationDate":"${AT}","instructedDate":"2026-01-05"},` +
      `"paymentTransactionAmountInformation":{"instructedAmount":{"value":${cents},"currency":"EUR"},"chargesAmount":{"value":0,"currency":"EUR"},"chargeBearer":"SLEV"},` +
      `"paymentTransactionParties":${parties},"customerInstructionId":${instructionId},` +
      `"links":[{"rel":"getPaymentTransaction","href":"http://bank.example${PATHS.paymentTransaction(String(id))}"},` +
      `{"rel":"getCustomerInstruction","href":"http://bank.example${PATHS.customerInstruction(String(instructionId))}"}]}`,
  };
  instruction.rows.push(row);
  instruction.totalMinor += row.amountMinor;
  rows.push({ row, instruction });
  return [201, text(row, instruction)];
}

function submit(id: number): Answer {
  posts.submit += 1;
  const instruction = instructions.get(id);
  if (!instruction) return [404, '{}'];
  instruction.submits += 1;
  return [201, instructionText(instruction)];
}

/** From now on what was submitted is shown as settled, and reads are counted anew. */
function settle(): Answer {
  settles = true;
  Object.assign(following, NOTHING_READ);
  followedSince = undefined;
  return [204, ''];
}

function followed(read: keyof typeof following): void {
  if (posts.submit === 0) return;
  following[read] += 1;
  followedSince ??= Date.now();
}

function listOfInstruction(id: number, _body: string, url: URL): Answer {
  const instruction = instructions.get(id);
  if (!instruction) return [404, '{}'];
  if (instruction.submits > 0) followed('instructionPayments');
  return page(instruction.rows, (row) => text(row, instruction), url);
}

function instructionRead(instruction: Instruction): string {
  if (instruction.submits > 0) followed('instruction');
  return instructionText(instruction);
}

/** Pages count from 1. */
function page<T>(items: readonly T[], show: (item: T) => string, url: URL): Answer {
  const size = Math.min(Number(url.searchParams.get('pageSize') ?? PAGE_SIZE), PAGE_SIZE);
  const first = (Math.max(Number(url.searchParams.get('page') ?? '1'), 1) - 1) * size;
  const shown = items.slice(first, first + size).map(show);
  return [
    200,
    `{"items":[${shown.join(',')}],"count":${items.length},"limit":${size},"offset":${first},"sort":"+id"}`,
  ];
}

function text(row: Row, { submits }: Instruction): string {
  return (
    row.before +
    statusOf(submits === 0 ? ['INITIATED'] : ['INITIATED', settles ? 'SETTLED' : 'SUBMITTED']) +
    row.after
  );
}

function instructionText(instruction: Instruction): string {
  const { id, information, parties, totalMinor, submits, rows: own } = instruction;
  const groups = `[{"groupStatus":"PROCESSABLE","nbTransactions":${own.length},"totalAmount":{"value":${totalMinor},"currency":"EUR"}}]`;
  return (
    `{"id":${id},"status":${statusOf(submits > 0 ? ['INITIATED', 'SUB_REQUIRED'] : ['INITIATED'])},` +
    `"calculatedNbPaymentTransactions":${own.length},"calculatedAmount":{"value":${totalMinor},"currency":"EUR"},` +
    (submits > 0 ? `"paymentTransactionsStatus":${groups},` : '') +
    `"customerInstructionInformation":${information},"customerInstructionOrderingParties":${parties},"links":[]}`
  );
}

/** The status itself and, as the next field, its history. */
function statusOf(steps: readonly string[]): string {
  const one = (value: string) => `{"value":"${value}","label":"${value}"}`;
  const history = ['INI_STARTED', ...steps].map((value) => `{"status":${one(value)},"date":"${AT}"}`);
  return `${one(steps.at(-1) ?? '')},"history":[${history.join(',')}]`;
}

function accountText(): string {
  const amount = `{"value":${BALANCE_MINOR},"currency":"EUR"}`;
  return `{"id":"${ACCOUNT_ID}","userId":7,"productId":1,"status":"OPENED","label":"Current ${ACCOUNT_ID}","balance":${amount},"availableBalance":${amount},"createdAt":"${AT}","iban":"DE89370400440532013000","bic":"MARKDEFF"}`;
}

function found<T>(record: T | undefined, show: (record: T) => string): Answer {
  return record === undefined ? [404, '{}'] : [200, show(record)];
}

/** What was paid: rows of submitted instructions, and how many instructions were submitted more than once. */
function book() {
  const submitted = [...instructions.values()].filter(({ submits }) => submits > 0);
  const paid = submitted.flatMap((one) => one.rows);
  return {
    posts,
    following,
    followedSince,
    instructions: instructions.size,
    paid: paid.length,
    paidMinor: String(paid.reduce((sum, row) => sum + row.amountMinor, 0n)),
    submittedTwice: submitted.filter(({ submits }) => submits > 1).length,
    mostInAMinute: mostInAMinute(),
  };
}

/** The most requests of the service in any 60 seconds. */
function mostInAMinute(): number {
  let first = 0;
  let most = 0;
  cameAt.forEach((at, n) => {
    while (at - (cameAt[first] ?? at) >= 60_000) first += 1;
    most = Math.max(most, n - first + 1);
  });
  return most;
}

function route(request: IncomingMessage, body: string): Answer {
  const url = new URL(request.url ?? '/', 'http://stub');
  for (const [method, path, answer] of ROUTES) {
    if (method !== request.method) continue;
    const match = path.exec(url.pathname);
    if (match) return answer(Number(match[1] ?? '0'), body, url);
  }
  return [404, '{}'];
}

function respond(response: ServerResponse, [status, body]: Answer): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    const answer = route(request, body);
    const control = request.url?.startsWith('/stub') === true;
    if (!control) cameAt.push(performance.now());
    if (LATENCY_MS > 0 && !control) setTimeout(() => respond(response, answer), LATENCY_MS);
    else respond(response, answer);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
});
process.once('disconnect', () => process.exit());
