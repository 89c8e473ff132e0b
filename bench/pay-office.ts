import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Api } from '../src/cli/api';
import { demoServiceSettings, DEMO_BANK } from '../src/cli/demo-settings';
import { ensureEmployer, ensureStaff, StaffKeys } from '../src/cli/seed';
import { Stage } from '../src/cli/stage';
import { runMigrations } from '../src/database/migrate';
import { urlOfDatabase } from '../src/database/roles';
import { startTemporaryServer } from '../src/database/temporary-server';
import { earliestExecutionDate, periodOf } from '../src/domain/business-day';
import { readId } from '../src/http/prefixed-id';
import type { UploadAnswer } from '../src/pay-file/upload-answer';
import { cpuOfFamilyUs, cpuUsedUs } from './cpu';
import { OwnProcess, startOwnProcess } from './own-process';
import { payFileOf } from './pay-rows';

const SERVICE = join(__dirname, '..', 'src', 'main.js');
const STUB = join(__dirname, 'stub-bank.js');
const HOLDER = 'Bench SARL';
/** The stub's, in euro as a portal would show it. */
const BALANCE = '999999999999.99';
const NOT_CUT_OFF_MS = 10 * 60_000;
const RUN_TIMEOUT_MS = 15 * 60_000;
const POLL_MS = 50;

/** Rows of an instruction: the service's default for an employer. */
export const INSTRUCTION_ROWS = 500;

/** What the three processes and the log have taken so far. */
export interface Meters {
  serviceUs: number;
  bankUs: number;
  databaseUs: number;
  walBytes: number;
}

/** What the stub bank holds. */
export interface Book {
  paid: number;
  paidMinor: string;
  submittedTwice: number;
  mostInAMinute: number;
  posts: { initiate: number; add: number; submit: number };
  /** Reads of what was submitted, by operation; the first of them in ms since 1970. */
  following: { generalList: number; instructionPayments: number; instruction: number; payment: number };
  followedSince?: number;
}

/** Conditions on a run, cheap to ask over and over: the database is being measured. */
export const BUILT = `(SELECT status NOT IN ('APPROVED', 'BUILDING') FROM pay_run WHERE id = $1)`;
export const SUBMITTED = `(SELECT status IN ('FOLLOWING', 'SETTLED') FROM pay_run WHERE id = $1)`;
export const SETTLED = `(SELECT status = 'SETTLED' FROM pay_run WHERE id = $1)`;

/** An employer with a durable database, a stub bank and services, each a process of its own. */
export class PayOffice {
  readonly services: OwnProcess[] = [];

  private constructor(
    private readonly stage: Stage,
    private readonly settings: NodeJS.ProcessEnv,
    readonly bank: OwnProcess,
    readonly db: Client,
    private readonly postmaster: number,
    private readonly keys: StaffKeys,
    private readonly employerId: string,
  ) {}

  /**
   * @param settings of the service, beside the demo's (no lag of the bank, a submit doubted after five seconds) with the
   * production's lease and tick, and reads a second apart
   * @param ofBank settings of the stub, beside its latency
   */
  static async open(
    stage: Stage,
    latencyMs: number,
    settings: NodeJS.ProcessEnv = {},
    ofBank: NodeJS.ProcessEnv = {},
  ): Promise<PayOffice> {
    const server = await stage.own(startTemporaryServer({ durable: true }));
    await runMigrations(server.databaseAdminUrl);
    const bank = await stage.own(
      startOwnProcess(STUB, { PATH: process.env['PATH'], STUB_LATENCY_MS: String(latencyMs), ...ofBank }),
    );
    const env = {
      ...demoServiceSettings(server.databaseUrl, bank.url),
      TICK_MS: undefined,
      LEASE_MS: undefined,
      FOLLOW_DELAYS_MS: '1000',
      ...settings,
    };
    const db = new Client({ connectionString: urlOfDatabase(server.superuserUrl, 'payrun') });
    await db.connect();
    await stage.own(Promise.resolve({ stop: () => db.end() }));
    const pidFile = await db.query<{ text: string }>(`SELECT pg_read_file('postmaster.pid') AS text`);
    const postmaster = Number(pidFile.rows[0]?.text.split('\n')[0]);
    const service = await stage.own(startOwnProcess(SERVICE, env));
    const keys = await ensureStaff(server.databaseUrl, service.url, {});
    const { id } = await new Api(service.url, keys.administrator).createEmployer({
      name: HOLDER,
      timeZone: 'Europe/Paris',
      rowsPerInstruction: INSTRUCTION_ROWS,
      tickIbans: false,
    });

    await ensureEmployer(service.url, keys, {
      accountId: '700',
      identityId: 7,
      holderName: HOLDER,
      balance: BALANCE,
    });
    const office = new PayOffice(stage, env, bank, db, postmaster, keys, id);
    office.services.push(service);
    return office;
  }

  /** Starts one more replica. @param nodeFlags such as `--cpu-prof` */
  async startService(nodeFlags: readonly string[] = []): Promise<OwnProcess> {
    const service = await this.stage.own(startOwnProcess(SERVICE, this.settings, nodeFlags));
    this.services.push(service);
    return service;
  }

  /** Ends every service at once, as a power cut does. */
  async killServices(): Promise<void> {
    for (const { pid } of this.services.splice(0)) process.kill(pid, 'SIGKILL');
    await sleep(200);
  }

  /** Uploads a made-up pay file of so many rows. @throws Error when it is not stored */
  async upload(rows: number): Promise<UploadAnswer> {
    const executionDate = earliestExecutionDate(new Date(Date.now() + NOT_CUT_OFF_MS), DEMO_BANK);
    const submitAt = new Date().toISOString();
    const query = new URLSearchParams({
      period: periodOf(executionDate),
      executionDate,
      submitAt,
    }).toString();
    const response = await fetch(`${this.url}/v1/employers/${this.employerId}/pay-files?${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.keys.preparer}`, 'content-type': 'text/csv' },
      body: payFileOf(rows),
      duplex: 'half',
    });
    if (response.status !== 201)
      throw new Error(`the upload was answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as UploadAnswer;
  }

  async approve({ id, rootHash, total }: UploadAnswer): Promise<void> {
    await new Api(this.url, this.keys.approver).approve(`${this.employerId}`, id, { rootHash, total });
  }

  /** Waits until a query about the run (its id is $1) answers true. @throws Error after a quarter of an hour */
  async until(run: UploadAnswer, condition: string): Promise<void> {
    const deadline = Date.now() + RUN_TIMEOUT_MS;
    while (Date.now() < deadline) {
      const { rows } = await this.db.query<{ yes: boolean }>(`SELECT ${condition} AS yes`, [
        readId('run', run.id),
      ]);
      if (rows[0]?.yes) return;
      await sleep(POLL_MS);
    }
    throw new Error(`the run never came to: ${condition}`);
  }

  async meters(): Promise<Meters> {
    const { rows } = await this.db.query<{ bytes: string; own: number }>(
      `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bytes, pg_backend_pid() AS own`,
    );
    // The server's process for this bench, which asks twenty times a second how far the run is, is no cost of a run.
    const ownUs = await cpuUsedUs(Number(rows[0]?.own));
    const services = await Promise.all(this.services.map(({ pid }) => cpuUsedUs(pid)));
    return {
      serviceUs: services.reduce((sum, one) => sum + one, 0),
      bankUs: await cpuUsedUs(this.bank.pid),
      databaseUs: (await cpuOfFamilyUs(this.postmaster)) - ownUs,
      walBytes: Number(rows[0]?.bytes),
    };
  }

  /** Has a stub that was started with STUB_SETTLES=told settle what was submitted. */
  async settle(): Promise<void> {
    await fetch(`${this.bank.url}/stub/settle`, { method: 'POST' });
  }

  private async book(): Promise<Book> {
    return (await (await fetch(`${this.bank.url}/stub/book`)).json()) as Book;
  }

  /** @throws Error when anybody was not paid exactly once, or an instruction was submitted twice */
  async checkBook({ payments, total }: UploadAnswer): Promise<Book> {
    const book = await this.book();
    const due = total.replace('.', '');
    if (book.paid === payments && book.paidMinor === due && book.submittedTwice === 0) return book;
    throw new Error(
      `wrong: ${payments} payments of ${due} cents were due, the bank has ${JSON.stringify(book)}`,
    );
  }

  private get url(): string {
    const [service] = this.services;
    if (service === undefined) throw new Error('no service runs');
    return service.url;
  }
}
