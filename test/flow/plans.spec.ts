import axios, { AxiosResponse } from 'axios';
import { DataSource } from 'typeorm';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { Maintenance } from '../../src/schedule/maintenance';
import { PeriodMaker } from '../../src/schedule/period-maker';
import { execute, select, testDatabase } from '../support/database';
import { germanIban, payFile, payRows, Row } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';
import { Excess, explainPlans, watchOpened, withoutAutovacuum } from '../support/plans';

const ROWS = 240;
const INSTRUCTION_ROWS = 8;
/** A statement may look at each row of a month, of which some are built twice; each with each would be 57,600. */
const LIMIT = 5 * ROWS;

/** Every statement is explained: building a run among those of many years takes 17 s on a quick machine that does nothing else. */
const STEP_MS = 90_000;

const ENDS = ['SETTLED', 'PARTLY_SETTLED', 'FAILED'];
const CSV = { headers: { 'content-type': 'text/csv' } };
const REASON = 'somebody said so in writing';
const magic = (effect: string) => MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban;

/** Reports look for what is not read of their runs while it is asked. */
const REFUSED = `INSERT INTO attention (employer_id, id, kind, subject_id, happened, certain, ask_bank, payments, amount_minor)
  SELECT id, gen_random_uuid(), 'CREDENTIALS', id, 'The bank refused to show what became of submitted payments: 401.', '', '', 0, 0 FROM employer`;

let payroll: Payroll;
let found: Excess[];

async function open(reconcileMs: number): Promise<void> {
  const database = await testDatabase();
  await withoutAutovacuum(database.superuserUrl);
  await explainPlans(database.superuserUrl);
  payroll = await Payroll.start({
    database,
    rowsPerInstruction: INSTRUCTION_ROWS,
    tickIbans: true,
    settings: {
      RECONCILE_MS: String(reconcileMs),
      // To explain a statement may take longer than to carry it out.
      DATABASE_CONNECT_MS: '20000',
      BANK_TIMEOUT_MS: '3000',
      SUBMIT_DOUBT_MS: '600',
      LEASE_MS: '10000',
    },
    sandbox: { variants: { linkReads: 'allowed', chargeMinor: 15, maxPageSize: 100 } },
  });
  found = await watchOpened(payroll.services[0]!.app.get(DataSource), database.superuserUrl, LIMIT);
  await execute(payroll.database.superuserUrl, REFUSED);
  const hold = () => payroll.as('operator').patch(payroll.path(''), { faultPolicy: { policy: 'hold' } });
  // Its connection may be one that was just cut.
  await eventually(async () => (await hold()).status === 200, 5_000);
}
afterEach(() => payroll.close());

const analyze = () => execute(payroll.database.superuserUrl, 'ANALYZE');
const at = (id: string, rest = '') => payroll.path(`/pay-runs/${id}${rest}`);

function ok<T extends Pick<AxiosResponse, 'status' | 'data'>>(answer: T): T {
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.data));
  return answer;
}

/** Reads a list to its third page, or another document once. */
async function read(role: Parameters<Payroll['as']>[0], path: string): Promise<void> {
  let cursor: string | undefined;
  for (let page = 0; page < 3; page += 1) {
    const { data } = ok(
      await payroll.as(role).get<{ nextCursor?: string | null }>(path, { params: { cursor } }),
    );
    cursor = data.nextCursor ?? undefined;
    if (cursor === undefined) return;
  }
}

/** Everything a run shows. */
async function look(id: string): Promise<void> {
  for (const list of ['', '/payments', '/payments?status=SETTLED', '/history', '/holds', '/faulty-rows'])
    await read('approver', at(id, list));
  for (const kind of ['JOINED', 'LEFT', 'IBAN_CHANGED', 'NET_CHANGED', 'NAME_CHANGED'])
    await read('approver', at(id, `/differences?kind=${kind}`));
  const reports = ['', '?format=csv', '/rows?format=csv', '/rows?format=ndjson'];
  for (const report of reports) await read('finance', at(id, `/reconciliation${report}`));
  await read('finance', at(id, '/differences.csv'));
}

/** What is shown of everything there is. */
async function lookAround(period: string): Promise<void> {
  for (const list of [
    '/pay-runs',
    `/pay-runs?period=${period}`,
    `/reconciliation?period=${period}`,
    '/audit',
  ])
    await read('finance', payroll.path(list));
  await read('finance', payroll.path('/audit/verification'));
  for (const list of ['/attention', '/attention?state=all', '/bank-events', '/accounts', '/schedules'])
    await read('operator', payroll.path(list));
  ok(await axios.get(`${payroll.url}/metrics`));
}

async function decide(path: string, action: string): Promise<void> {
  ok(await payroll.decide(path, { action, reason: REASON }));
}

async function approve(id: string): Promise<void> {
  const run = await payroll.run(id);
  const ticks = { rootHash: run.rootHash, all: true, reason: REASON };
  ok(await payroll.as('approver').post(at(id, '/iban-ticks'), ticks));
  ok(await payroll.approve(run));
}

/** Faults, rows of one employee, payees who are not paid, and in each month another payee. */
function mixedRows(month: number): Row[] {
  const rows = payRows(ROWS).map((row, n) => ({ ...row, amount: `${10 + ((n * 7 + month) % 90)}.00` }));
  for (let n = 7; n < ROWS; n += 10) rows[n]!.amount = '0.00';
  for (let n = 9; n < ROWS; n += 20) rows[n]!.employeeId = rows[n - 1]!.employeeId;
  rows[1]!.iban = germanIban(90_000 + month);
  rows[2]!.name = 'Zoë Müller';
  rows[5]!.iban = magic('notProcessable');
  rows[INSTRUCTION_ROWS + 5]!.iban = magic('routingFails');
  rows[2 * INSTRUCTION_ROWS + 5]!.iban = magic('refusedAtAdd');
  return rows;
}

/** Uploads, corrects half of what was faulty, releases one hold and leaves the others out. */
async function prepared(month: number, period: string, uploaded: () => Promise<void>): Promise<string> {
  const { id } = await payroll.uploaded(payFile(mixedRows(month)), { period });
  await uploaded();
  await look(id);
  const { data: faulty } = ok(await payroll.as('preparer').get<string>(at(id, '/corrections.csv')));
  const mended = faulty
    .split('\n')
    .map((line, n) => (n % 2 === 0 ? line.replace(',0.00,', ',12.00,') : line))
    .join('\n');
  ok(await payroll.as('preparer').post(at(id, '/corrections'), mended, CSV));
  const { data: holds } = await payroll.as('approver').get(at(id, '/holds?open=true'));
  const [first, ...others] = holds.items as { code: string; payment: { id: string } }[];
  const release = { code: first!.code, paymentId: first!.payment.id, reason: REASON };
  ok(await payroll.as('approver').post(at(id, '/holds/release'), release));
  const excludePaymentIds = others.map(({ payment }) => payment.id);
  ok(await payroll.as('preparer').post(at(id, '/amendments'), { excludePaymentIds, reason: REASON }));
  return id;
}

/** Sends a run twice, since a row is refused; an add and a submit are lost. Answers where people are asked. */
async function sent(id: string): Promise<string> {
  await approve(id);
  const refused = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK', STEP_MS);
  await look(id);
  await decide(refused, 'EXCLUDE_PAYMENT');
  await payroll.until(id, ['READY'], STEP_MS);
  await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 2 });
  await payroll.fault({ operation: 'add', kind: 'request-lost', nth: 50 });
  await approve(id);
  const unknown = await payroll.askedAbout(id, 'SUBMIT_UNKNOWN', STEP_MS);
  await payroll.clearFaults();
  await look(id);
  return unknown;
}

/** A run of other pay on the account, which is stopped while it is built, goes on, and ends. */
async function besides(period: string): Promise<void> {
  const rows = payRows(ROWS / 2).map((row) => ({ ...row, amount: `9.${period.slice(5)}` }));
  const { id } = await payroll.uploaded(payFile(rows), { period, kindOfPay: 'BONUS' });
  await payroll.fault({ operation: 'add', kind: 'slow-drip', every: 40, delayMs: 2 });
  await approve(id);
  await payroll.until(id, ['BUILDING'], STEP_MS);
  ok(await payroll.as('operator').post(at(id, '/stop'), { reason: REASON }));
  await reopenIntents();
  ok(await payroll.resume(at(id, ''), 'approver', REASON));
  await payroll.clearFaults();
  await payroll.until(id, ENDS, STEP_MS);
  await look(id);
}

/** As a process leaves them that dies: whoever takes the instruction up finds adds in doubt. */
async function reopenIntents(): Promise<void> {
  await execute(
    payroll.database.superuserUrl,
    `SET session_replication_role = replica;
     UPDATE add_intent SET finished_at = NULL WHERE instruction_id IN (SELECT id FROM instruction WHERE status = 'BUILDING')`,
  );
}

async function cancelled(period: string): Promise<void> {
  const rows = payRows(ROWS / 2).map((row) => ({ ...row, amount: `8.${period.slice(5)}` }));
  const { id } = await payroll.uploaded(payFile(rows), { period, kindOfPay: 'EXTRA' });
  await approve(id);
  await payroll.until(id, ['BUILDING'], STEP_MS);
  ok(await payroll.as('preparer').post(at(id, '/cancellation'), { reason: REASON }));
  await payroll.until(id, ['CANCELLED'], STEP_MS);
  await look(id);
}

/** Pays again what a run did not pay, and then those who came late. */
async function afterwards(id: string, period: string): Promise<void> {
  const dates = { executionDate: payroll.executionDate(), submitAt: payroll.clock.now().toISOString() };
  const { data: successor } = ok(await payroll.as('preparer').post(at(id, '/successor'), dates));
  await approve(successor.id);
  await payroll.until(successor.id, ENDS, STEP_MS);
  await look(successor.id);
  await look(id);
  const rows = payRows(INSTRUCTION_ROWS, 5_000);
  await look((await payroll.uploaded(payFile(rows), { period, supplementOf: id })).id);
}

async function kept(): Promise<void> {
  const { app } = payroll.services[0]!;
  await app.get(PeriodMaker).tick();
  await app.get(Maintenance).ensurePartitions();
  await app.get(Maintenance).forgetIdempotencyKeys();
  await app.get(Maintenance).forgetRefusedFiles();
}

/** What is stored of a run, by its tables. */
const OF_RUNS = `{pay_run,pay_run_version,pay_file,planned_instruction,payment,pay_hold,faulty_file,faulty_row,approval,
  run_comparison,run_difference,instruction,bank_payment,submit_attempt,add_intent,bank_call,state_change}`;

/** Stores all runs again as those of earlier years, eight times as many, under ids of their own. */
async function addYears(): Promise<void> {
  const columns = await select<{ table: string; column: string; type: string }>(
    payroll.database.superuserUrl,
    `SELECT relname AS table, attname AS column, format_type(atttypid, NULL) AS type
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
     WHERE relname = ANY ($1) AND relnamespace = 'public'::regnamespace`,
    [OF_RUNS],
  );
  const copies = [1, 2, 4].flatMap((years) =>
    [...new Set(columns.map(({ table }) => table))].map((table) => {
      const own = columns.filter((one) => one.table === table);
      const values = own.map(({ column, type }) => yearsBefore(column, type, years));
      return `INSERT INTO ${table} (${own.map(({ column }) => column).join(', ')}) SELECT ${values.join(', ')} FROM ${table}`;
    }),
  );
  await execute(
    payroll.database.superuserUrl,
    ['SET session_replication_role = replica', ...copies].join(';\n'),
  );
}

function yearsBefore(column: string, type: string, years: number): string {
  if (/^(employer|account|person|approver)_id$|_by$/.test(column)) return column;
  if (type === 'uuid') return `md5('${years}' || ${column})::uuid`;
  if (type === 'date') return `${column} - 365 * ${years}`;
  // There are no partitions of the years before.
  if (type === 'timestamp with time zone' && !/^(intended_)?at$/.test(column))
    return `${column} - interval '${365 * years} days'`;
  if (type === 'pay_period') return `left(${column}, 4)::int - ${years} || right(${column}, 3)`;
  if (/^bank_\w+_id$/.test(column)) return `${column} || '-${years}'`;
  return column === 'seq' ? `seq + 1000000 * ${years}` : column;
}

/** A month of an employer, and all that can befall its pay. */
async function pay(month: number, uploaded = () => Promise.resolve()): Promise<void> {
  const [year = 0, first = 0] = payroll.executionDate().split('-').map(Number);
  const period = new Date(Date.UTC(year, first - 1 + month, 1)).toISOString().slice(0, 7);
  const id = await prepared(month, period, uploaded);
  const unknown = await sent(id);
  await besides(period);
  await decide(unknown, 'NOT_EXECUTED');
  await payroll.until(id, ENDS, STEP_MS);
  await look(id);
  await afterwards(id, period);
  await cancelled(period);
  await lookAround(period);
  await kept();
}

const over = (limit: number) => found.filter(({ rows }) => rows > limit);

/** A month of which each statement is explained. */
const MONTH_MS = 900_000;

describe('no row is compared with each other one, from an upload to the last report,', () => {
  beforeEach(() => open(3_000));

  it(
    'while the tables have no statistics',
    async () => {
      await pay(0);
      expect(over(LIMIT)).toEqual([]);
    },
    MONTH_MS,
  );

  it(
    'while the statistics say that the tables are empty',
    async () => {
      await analyze();
      await pay(0);
      expect(over(LIMIT)).toEqual([]);
    },
    MONTH_MS,
  );

  it(
    'while the statistics are those of the upload',
    async () => {
      await pay(0, analyze);
      expect(over(LIMIT)).toEqual([]);
    },
    MONTH_MS,
  );
});

it(
  'of many years no more is read than the months that are asked for, with the statistics of the years before',
  async () => {
    // What is asserted goes through the years, 12,000 rows at once.
    await open(86_400_000);
    await pay(0);
    await addYears();
    await analyze();
    found.splice(0);
    await pay(1);
    expect(over(2 * LIMIT)).toEqual([]);
  },
  MONTH_MS,
);
