import { ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import axios, { AxiosInstance, AxiosResponse } from 'axios';
import { AppModule } from '../../src/app.module';
import {
  DEFAULT_TOKEN,
  DEFAULT_WEBHOOK_SECRET,
  Sandbox,
  SandboxOptions,
  startSandbox,
} from '../../src/bank-sandbox/sandbox';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { PATHS, SIGNATURE_HEADER } from '../../src/bank/types';
import { signForTests } from '../../src/bank/webhook-signature';
import { Clock } from '../../src/config/clock';
import { Config, readConfig } from '../../src/config/env';
import { Database } from '../../src/database/database';
import { earliestExecutionDate } from '../../src/domain/business-day';
import type { BankRead } from '../../src/employer/employer.entity';
import { EMPLOYER_ROLES, EmployerRole } from '../../src/http/allow';
import { APP_OPTIONS, configureApp } from '../../src/http/configure-app';
import { describeApi } from '../../src/http/openapi';
import { readId } from '../../src/http/prefixed-id';
import { People } from '../../src/identity/people.service';
import { StandingReconciler } from '../../src/reconciliation/standing-reconciler';
import { Begun, wholly } from './begun';
import { CRASH_BUILD } from './crash-build';
import { execute, select, TestDatabase, testDatabase } from './database';
import { eventually } from './eventually';
import { bankOfThisRun, settingsFor } from './lawful-banks';
import { longAgo, payBefore, type PaidBefore } from './paid-before';
import { germanIban, payFile, Row } from './pay-rows';

/** A clock that a test moves; the same one can serve several replicas. */
export class MovedClock extends Clock {
  offsetMs = 0;

  override now(): Date {
    return new Date(Date.now() + this.offsetMs);
  }

  set(instant: Date): void {
    this.offsetMs = instant.getTime() - Date.now();
  }
}

type Settings = Partial<Record<keyof Config, string>>;

export interface PayrollOptions {
  sandbox?: SandboxOptions;
  settings?: Settings;
  clock?: MovedClock;
  rowsPerInstruction?: number;
  /** Whether new IBANs are to be ticked before an approval; not unless it is asked for. */
  tickIbans?: boolean;
  /** Services on the one database; 1 unless said otherwise, 0 starts none. */
  replicas?: number;
  /** Whether the bank's webhooks reach the service. */
  hooked?: boolean;
  /** Whether the bank shows a payment of this service that settled long ago, which nothing else here tells of. */
  paidBefore?: boolean;
  /** Migrated and empty; a copy of the template unless it is given. */
  database?: TestDatabase;
}

export interface Service {
  app: NestExpressApplication;
  url: string;
}

/** A service in a process of its own, to be killed. */
export interface ServiceProcess {
  url: string;
  process: ChildProcess;
  /** Everything it has printed so far. */
  output(): string;
  /** Resolves with the signal or code it ended by. */
  ended: Promise<string>;
}

export interface LedgerRow {
  id: number;
  messageId?: string;
  creditorIban: string;
  amountMinor: string;
  status: string;
  moved: number;
}

export interface Ledger {
  payees: { iban: string; count: number; movedMinor: string }[];
  instructions: { id: number; status: string; submits: number; rows: LedgerRow[] }[];
  unsubmitted: number[];
  entriesSumMinor: string;
}

/** A service over a database and a sandbox bank of its own, an onboarded employer, and the people who use it. */
export class Payroll {
  private readonly processes: ServiceProcess[] = [];
  /** The service that requests go to. */
  url: string;

  private constructor(
    readonly database: TestDatabase,
    readonly bank: Sandbox,
    readonly services: Service[],
    readonly clock: MovedClock,
    readonly keys: Record<EmployerRole | 'second' | 'administrator', string>,
    readonly settings: Settings,
    readonly employer: string,
    readonly account: string,
    private readonly before?: PaidBefore,
  ) {
    this.url = services[0]!.url;
  }

  /** Begins at ten on an execution date, six hours before the cut-off. */
  static async startOnPayday(options: PayrollOptions): Promise<{ payroll: Payroll; date: string }> {
    const settings = { BANK_CUT_OFF: '16:00', ...options.settings };
    const payroll = await Payroll.start({ ...options, settings });
    const date = payroll.executionDate();
    payroll.clock.set(new Date(`${date}T10:00:00Z`));
    return { payroll, date };
  }

  /** Ends what it has begun where it does not start. */
  static start(options: PayrollOptions = {}): Promise<Payroll> {
    return wholly((begun) => Payroll.begin(options, begun));
  }

  private static async begin(options: PayrollOptions, begun: Begun): Promise<Payroll> {
    const database = options.database ?? (await testDatabase());
    if (options.database === undefined) begun(database.drop);
    const variants = { ...bankOfThisRun(), ...options.sandbox?.variants };
    const nowMs = options.paidBefore ? longAgo() : undefined;
    const bank = await startSandbox({ stepMs: 0, nowMs, ...options.sandbox, variants });
    begun(() => bank.close());
    const before = options.paidBefore ? await payBefore(bank) : undefined;
    const clock = options.clock ?? new MovedClock();
    await leaveTheLastMinutes(clock);
    await skipClosedDays(bank);
    const settings = {
      ...DEFAULT_SETTINGS,
      ...settingsFor(bank.url, variants),
      DATABASE_URL: database.url,
      BANK_BASE_URL: bank.url,
      ...options.settings,
    };
    const services: Service[] = [];
    if (options.hooked) {
      const port = await freePort();
      Object.assign(settings, { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` });
    }
    for (let n = 0; n < Math.max(options.replicas ?? 1, 1); n += 1) {
      const service = await startService(settings, clock);
      services.push(service);
      begun(() => service.app.close());
    }
    const first = services[0]!;
    const keys = await makePeople(first.app.get(Database), first.app.get(People));
    const seeded = await onboard(first, keys, options, bank);
    const payroll = new Payroll(
      database,
      bank,
      services,
      clock,
      keys,
      settings,
      seeded.employer,
      seeded.account,
      before,
    );
    return payroll;
  }

  /** Ends the services of this process, so that others can be started in processes of their own. */
  async stopServices(): Promise<void> {
    await Promise.all(this.services.splice(0).map((service) => service.app.close()));
  }

  /** Starts the service as a process from the build with crash points; requests go to it from now on. */
  async spawn(settings: Record<string, string> = {}): Promise<ServiceProcess> {
    const child = spawn(process.execPath, [join(CRASH_BUILD, 'src/main.js')], {
      env: { PATH: process.env.PATH, ...this.settings, ...settings },
      // It ends when this process does, however that ends.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    child.channel?.unref();
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    }
    const ended = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? String(code)));
    });
    const listening = new Promise<string>((resolve) => {
      createInterface(child.stdout!).on('line', (line) => {
        const match = /"url":"([^"]+)"/.exec(line);
        if (match) resolve(match[1]!);
      });
    });
    const late = setTimeout(() => child.kill('SIGKILL'), STARTED_WITHIN_MS);
    const url = await Promise.race([
      listening,
      ended.then((how) => Promise.reject(new Error(`${how}: ${output}`))),
    ]).finally(() => clearTimeout(late));
    const service = { url, process: child, ended, output: () => output };
    this.processes.push(service);
    this.url = url;
    return service;
  }

  /** Has the account known to be read in these ways alone, as a probe would have found. */
  async letsRead(...reads: BankRead[]): Promise<void> {
    await execute(this.database.superuserUrl, 'UPDATE employer_account SET reads = $1', [reads]);
  }

  /** Makes every lease one of a holder that no longer answers: the next to claim it takes over. */
  async stealLeases(): Promise<void> {
    await execute(
      this.database.superuserUrl,
      `UPDATE lease SET holder = 'gone', leased_until = clock_timestamp() - interval '1 second' WHERE holder IS NOT NULL`,
    );
  }

  /** The processes that were spawned and not ended here, the first first. */
  get spawned(): readonly ServiceProcess[] {
    return this.processes;
  }

  /** Ends the processes that were spawned and waits for them. */
  async endProcesses(): Promise<void> {
    for (const service of this.processes.splice(0)) {
      service.process.kill('SIGTERM');
      // One that was stopped would never hear of it.
      service.process.kill('SIGCONT');
      await service.ended;
    }
  }

  /** Another service on the same database and bank. */
  async addReplica(settings: Settings = {}): Promise<Service> {
    const service = await startService({ ...this.settings, ...settings }, this.clock);
    this.services.push(service);
    return service;
  }

  as(role: keyof Payroll['keys']): AxiosInstance {
    return client(this.url, this.keys[role]);
  }

  /** The path of something of the employer. */
  path(rest: string): string {
    return `/v1/employers/${this.employer}${rest}`;
  }

  /** The first date on which the bank still executes. */
  executionDate(): string {
    return earliestExecutionDate(this.clock.now(), { cutOff: '23:59', timeZone: 'UTC' });
  }

  /** Ten minutes from now, or just before the cut-off where the day ends sooner: a run that waits while it is approved. */
  later(): { submitAt: string } {
    const cutOffMs = Date.parse(`${this.executionDate()}T23:59:00Z`);
    return {
      submitAt: new Date(Math.min(this.clock.now().getTime() + 600_000, cutOffMs - 1_000)).toISOString(),
    };
  }

  /** Waits for the next day in the last minutes of one, for what is paid otherwise than by `upload`. */
  async leaveTheLastMinutes(): Promise<void> {
    if (await leaveTheLastMinutes(this.clock)) await skipClosedDays(this.bank);
  }

  /** For the period of the execution date; a supplement for that of its run, which may be of the month before. */
  async upload(csv: string | Buffer, query: Record<string, string> = {}): Promise<AxiosResponse> {
    await this.leaveTheLastMinutes();
    const { supplementOf } = query;
    const parent = supplementOf === undefined ? undefined : await this.run(supplementOf);
    return this.as('preparer').post(this.path('/pay-files'), csv, {
      headers: { 'content-type': 'text/csv' },
      params: {
        period: parent?.period ?? this.executionDate().slice(0, 7),
        executionDate: this.executionDate(),
        submitAt: this.clock.now().toISOString(),
        ...query,
      },
    });
  }

  /** Asks for a run that pays again what is unpaid of another, due at once. */
  successorOf(runId: string, paymentIds?: readonly string[]) {
    return this.as('preparer').post(this.path(`/pay-runs/${runId}/successor`), {
      executionDate: this.executionDate(),
      submitAt: this.clock.now().toISOString(),
      paymentIds,
    });
  }

  /** Uploads and answers the run; fails the test when the file was refused. */
  async uploaded(
    csv: string,
    query: Record<string, string> = {},
  ): Promise<{ id: string; rootHash: string; total: string }> {
    const answer = await this.upload(csv, query);
    if (answer.status !== 201) throw new Error(`the upload was refused: ${JSON.stringify(answer.data)}`);
    return answer.data;
  }

  approve(run: { id: string; rootHash: string; total: string }): Promise<AxiosResponse> {
    return this.as('approver').post(this.path(`/pay-runs/${run.id}/approvals`), {
      rootHash: run.rootHash,
      total: run.total,
    });
  }

  /** Uploads, approves and answers the run's id. */
  async paid(csv: string, query: Record<string, string> = {}): Promise<string> {
    const run = await this.uploaded(csv, query);
    const answer = await this.approve(run);
    if (answer.status >= 300) throw new Error(`the approval was refused: ${JSON.stringify(answer.data)}`);
    return run.id;
  }

  async run(id: string) {
    return (await untilServed(() => this.as('finance').get(this.path(`/pay-runs/${id}`)))).data;
  }

  async attention(): Promise<
    {
      id: string;
      kind: string;
      payRunId: string | null;
      happened: string;
      certain: string;
      askBank: string;
    }[]
  > {
    return (await untilServed(() => this.as('operator').get(this.path('/attention')))).data.items;
  }

  /** Waits until people are asked about the run, and gives the path of what they are asked. */
  async askedAbout(payRunId: string, kind: string, timeoutMs = 30_000): Promise<string> {
    let id: string | undefined;
    await eventually(async () => {
      const { data } = await this.as('operator').get(this.path('/attention'));
      // A service that is short of connections for a moment is asked again.
      const open: Awaited<ReturnType<Payroll['attention']>> = data.items ?? [];
      id = open.find((one) => one.payRunId === payRunId && one.kind === kind)?.id;
      return id !== undefined;
    }, timeoutMs);
    return this.path(`/attention/${id}`);
  }

  /** A run whose one submit was lost, and what people are asked about it. */
  async parked(
    rows: readonly Row[],
    query: Record<string, string> = {},
  ): Promise<{ id: string; path: string }> {
    await this.fault({ operation: 'submit', kind: 'request-lost', nth: 1 });
    const id = await this.paid(payFile(rows), query);
    const path = await this.askedAbout(id, 'SUBMIT_UNKNOWN');
    await this.clearFaults();
    return { id, path };
  }

  /** One person proposes an action, unless it is, and another confirms it; the refusal of the proposal where there is one. */
  async decide(path: string, proposal: Record<string, unknown>): Promise<AxiosResponse> {
    const proposed = await this.propose(path, proposal);
    if (proposed.status !== 201 && proposed.data.code !== 'ACTION_IS_PROPOSED') return proposed;
    return this.confirm(path);
  }

  /** Proposes an action, as somebody who may. */
  propose(path: string, proposal: Record<string, unknown>): Promise<AxiosResponse> {
    const who = proposal.action === 'EXCLUDE_PAYMENT' ? 'preparer' : 'operator';
    return this.as(who).post(`${path}/actions`, proposal);
  }

  /** Confirms the action that is proposed, as somebody who has read it. */
  async confirm(path: string, who: keyof Payroll['keys'] = 'second'): Promise<AxiosResponse> {
    const asked = await this.as('finance').get(path);
    if (asked.status !== 200) return asked;
    const decisions: { id: string; withdrawnAt: string | null }[] = asked.data.decisions;
    const read = decisions.findLast(({ withdrawnAt }) => withdrawnAt === null);
    return this.as(who).post(`${path}/actions/confirmation`, { actionId: read?.id ?? NO_ACTION });
  }

  /** Takes back the stop of a run or of the employer, as somebody who has read it. */
  async resume(path: string, who: keyof Payroll['keys'], reason: string): Promise<AxiosResponse> {
    const { stopped } = (await this.as(who).get(path)).data;
    const stoppedAt = stopped?.at ?? stopped?.since ?? new Date(0).toISOString();
    return this.as(who).post(`${path}/resume`, { reason, stoppedAt });
  }

  /** Nobody takes up work of these kinds from now on, until their leases are woken. */
  letRest(...kinds: ('FOLLOW' | 'RUN' | 'INSTRUCTION' | 'ACCOUNT')[]): Promise<void> {
    const { superuserUrl } = this.database;
    // Not for ever: of what is watched that would be a breach.
    const never = `UPDATE lease SET wake_at = now() + interval '2 years' WHERE kind = ANY ($1) AND holder IS NULL`;
    const due = `SELECT FROM lease WHERE kind = ANY ($1) AND (holder IS NOT NULL OR wake_at < now() + interval '1 year')`;
    return eventually(async () => {
      await execute(superuserUrl, never, [kinds]);
      return (await select(superuserUrl, due, [kinds])).length === 0;
    }, 10_000);
  }

  /** Has all work that nobody holds be taken up now, or all of some kinds. */
  wakeAll(...kinds: ('FOLLOW' | 'RUN' | 'INSTRUCTION' | 'ACCOUNT')[]): Promise<void> {
    return execute(
      this.database.superuserUrl,
      `UPDATE lease SET wake_at = clock_timestamp() WHERE holder IS NULL AND (kind = ANY ($1) OR $1 = '{}')`,
      [kinds],
    );
  }

  /** Waits until the run is settled, without a pause of ours. */
  untilSettled(id: string): Promise<void> {
    return eventually(async () => {
      await this.wakeAll();
      return (await this.run(id)).status === 'SETTLED';
    }, 30_000);
  }

  /** Has the standing reconciler make a pass, and waits for its end. */
  async reconcile(): Promise<void> {
    // As if nobody had made one lately.
    await execute(this.database.superuserUrl, 'UPDATE reconciler_pass SET checked_at = to_timestamp(0)');
    await this.services[0]!.app.get(StandingReconciler).check(readId('emp', this.employer));
  }

  /** Waits until the run is in one of the states. */
  async until(id: string, states: readonly string[], timeoutMs = 30_000): Promise<string> {
    let status = '';
    await eventually(
      async () => {
        status = (await this.run(id)).status;
        return states.includes(status);
      },
      timeoutMs,
      () => `the run is ${status}, not ${states.join(' or ')}`,
    );
    return status;
  }

  async ledger(): Promise<Ledger> {
    const { data: ledger } = await axios.get<Ledger>(`${this.bank.url}/sandbox/ledger`);
    const { iban, bankInstructionIds = [] } = this.before ?? {};
    const payees = ledger.payees.filter((payee) => payee.iban !== iban);
    const instructions = ledger.instructions.filter(({ id }) => !bankInstructionIds.includes(id));
    return { ...ledger, payees, instructions };
  }

  /** How often the bank paid the account of each row. */
  async timesPaid(rows: readonly Row[]): Promise<number[]> {
    const payees = new Map((await this.ledger()).payees.map(({ iban, count }) => [iban, count]));
    return rows.map(({ iban }) => payees.get(iban) ?? 0);
  }

  async calls(): Promise<Record<string, number>> {
    const { data } = await axios.get<Record<string, number>>(`${this.bank.url}/sandbox/calls`);
    const before = this.before?.calls ?? {};
    return Object.fromEntries(
      Object.entries(data).map(([operation, count]) => [operation, count - (before[operation] ?? 0)]),
    );
  }

  async fault(script: Record<string, unknown>): Promise<void> {
    await axios.post(`${this.bank.url}/sandbox/faults`, script);
  }

  /** The faults that were asked for, and how many calls each has met. */
  async faults(): Promise<{ script: Record<string, unknown>; hits: number }[]> {
    return (await axios.get(`${this.bank.url}/sandbox/faults`)).data;
  }

  /** Posts a webhook signed with the subscription's secret, or another. */
  deliver(body: string, secret = DEFAULT_WEBHOOK_SECRET): Promise<AxiosResponse> {
    const headers = {
      'content-type': 'application/json',
      [SIGNATURE_HEADER]: signForTests(Buffer.from(body), secret),
    };
    return axios.post(`${this.url}/webhooks/bank`, body, { headers, validateStatus: () => true });
  }

  /** What the bank delivered and was stored. */
  inbox(): Promise<{ event: string; matched: number }[]> {
    return select(this.database.superuserUrl, 'SELECT event, matched FROM webhook_inbox');
  }

  /** Submits an instruction at the bank behind the service's back, as a late request would. */
  async submitAtBank(bankInstructionId: string): Promise<void> {
    const path = PATHS.submit(bankInstructionId);
    await axios.post(`${this.bank.url}${path}`, undefined, {
      headers: { authorization: `Bearer ${DEFAULT_TOKEN}` },
    });
  }

  /** Deletes an instruction at the bank behind the service's back. */
  async deleteAtBank(bankInstructionId: string): Promise<void> {
    await axios.delete(`${this.bank.url}${PATHS.creditTransfer(bankInstructionId)}`, {
      headers: { authorization: `Bearer ${DEFAULT_TOKEN}` },
    });
  }

  /** A day passes: what ended is read once more. Returns when it was. */
  async aDayLater(): Promise<void> {
    this.clock.offsetMs += 86_400_000;
    await execute(
      this.database.superuserUrl,
      `UPDATE lease SET wake_at = clock_timestamp() WHERE kind = 'FOLLOW' AND holder IS NULL`,
    );
    await this.restsForADay();
  }

  /** Waits until nothing that is followed is read again within the day. */
  restsForADay(): Promise<void> {
    return eventually(async () => {
      const soon = await select(
        this.database.superuserUrl,
        `SELECT FROM lease WHERE kind = 'FOLLOW'
           AND (holder IS NOT NULL OR wake_at < clock_timestamp() + interval '20 hours')`,
      );
      return soon.length === 0;
    }, 20_000);
  }

  /** Has every run stopped in the moment in which it passes its gate. */
  async stopPastTheGate(): Promise<void> {
    await execute(
      this.database.superuserUrl,
      `CREATE FUNCTION stop_it() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN NEW.stopped_at = now(); NEW.stopped_reason = 'a look first'; RETURN NEW; END $$;
       CREATE TRIGGER as_soon_as_submitting BEFORE UPDATE ON pay_run FOR EACH ROW
         WHEN (OLD.status = 'VERIFIED' AND NEW.status = 'SUBMITTING') EXECUTE FUNCTION stop_it()`,
    );
  }

  /** Takes every stop of a run back, at once. */
  async letRunsGoOn(): Promise<void> {
    await execute(
      this.database.superuserUrl,
      `UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL;
       UPDATE lease SET wake_at = now() WHERE kind = 'INSTRUCTION'`,
    );
  }

  /** Begins an instruction that is none of the service's, of the employer's account unless another holder is given. */
  async initiateAtBank(debtor = DEFAULT_SEED.users[1]!): Promise<string> {
    const { data } = await axios.post<{ id: number }>(
      `${this.bank.url}${PATHS.initiate()}`,
      {
        customerInstructionInformation: {
          paymentInstrument: 'CreditTransfer',
          batchBooking: true,
          requestedExecutionDate: await this.bankDate(),
        },
        customerInstructionOrderingParties: {
          debtor: { name: debtor.holderName, accountId: { type: 'IBAN', value: debtor.account!.iban } },
        },
      },
      { headers: { authorization: `Bearer ${DEFAULT_TOKEN}` } },
    );
    return String(data.id);
  }

  /** Adds a payment of somebody else to an instruction. */
  async addAtBank(bankInstructionId: string): Promise<void> {
    const instructedAmount = { value: '12345', currency: 'EUR' };
    const creditor = { name: 'Nobody', accountId: { type: 'IBAN', value: germanIban(999_999) } };
    await axios.post(
      `${this.bank.url}${PATHS.addPaymentTransaction(bankInstructionId)}`,
      { paymentTransactionAmountInformation: { instructedAmount }, paymentTransactionParties: { creditor } },
      { headers: { authorization: `Bearer ${DEFAULT_TOKEN}` } },
    );
  }

  /** Advances the bank's clock. */
  async bankClock(now: Date): Promise<void> {
    await axios.post(`${this.bank.url}/sandbox/clock`, { now: now.toISOString() });
  }

  /** The date at the bank. */
  async bankDate(): Promise<string> {
    return (await axios.get<{ date: string }>(`${this.bank.url}/sandbox/clock`)).data.date;
  }

  async clearFaults(): Promise<void> {
    await axios.delete(`${this.bank.url}/sandbox/faults`);
  }

  async close(): Promise<void> {
    await this.stopServices();
    await this.endProcesses();
    await this.bank.close();
    await this.database.drop();
  }
}

const DAY_MS = 86_400_000;
/** Before the cut-off of the tests' bank, at 23:59, in which what is paid may miss it; and the minute after it. */
const LAST_MINUTES_MS = 150_000;

/** Waits for the next day in the last minutes of one, unless the test has moved its clock; answers whether it did. */
async function leaveTheLastMinutes({ offsetMs }: MovedClock): Promise<boolean> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (offsetMs !== 0 || leftMs > LAST_MINUTES_MS) return false;
  await new Promise((resolve) => setTimeout(resolve, leftMs));
  return true;
}

/** At a weekend the bank is to be at its next banking day already: what is paid would wait for it. */
async function skipClosedDays(bank: Sandbox): Promise<void> {
  const today = new Date().toISOString().slice(0, 10);
  const date = earliestExecutionDate(new Date(`${today}T00:00:00Z`), { cutOff: '23:59', timeZone: 'UTC' });
  if (date === today) return;
  const { data } = await axios.get<{ date: string }>(`${bank.url}/sandbox/clock`);
  if (data.date < date) await axios.post(`${bank.url}/sandbox/clock`, { now: `${date}T00:00:00Z` });
}

/** A process that says by then on no machine where it listens never will. */
const STARTED_WITHIN_MS = 180_000;

/** Ports that systems give to no outgoing connection. */
const BELOW_EPHEMERAL = [10_000, 32_000] as const;

/** The id of an action that nobody proposed. */
const NO_ACTION = `act_${'0'.repeat(32)}`;

const DEFAULT_SETTINGS: Settings = {
  PORT: '0',
  LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
  PAYRUN_HASH_KEY: 'a key of the tests, long enough to be one',
  BANK_WEBHOOK_SECRETS: DEFAULT_WEBHOOK_SECRET,
  BANK_TIMEOUT_MS: '2000',
  BANK_TIME_ZONE: 'UTC',
  BANK_CUT_OFF: '23:59',
  TICK_MS: '250',
  FOLLOW_DELAYS_MS: '50,200,1000',
  FOLLOW_STEP_MS: '1000',
  SUBMIT_DOUBT_MS: '500',
  LEASE_MS: '2000',
};

/** A port that nothing listens on at the moment, and that no outgoing connection is given. */
export async function freePort(): Promise<number> {
  const port = randomInt(...BELOW_EPHEMERAL);
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (!isFree) return freePort();
  server.close();
  await once(server, 'close');
  return port;
}

function startService(settings: Settings, clock: Clock): Promise<Service> {
  return wholly((begun) => beginService(settings, clock, begun));
}

async function beginService(settings: Settings, clock: Clock, begun: Begun): Promise<Service> {
  const config = readConfig(settings);
  const tested = await Test.createTestingModule({ imports: [AppModule.with(config)] })
    .overrideProvider(Clock)
    .useValue(clock)
    .compile();
  const app = tested.createNestApplication<NestExpressApplication>(APP_OPTIONS);
  begun(() => app.close());
  configureApp(app);
  describeApi(app);
  await app.listen(config.PORT, '127.0.0.1');
  return { app, url: await app.getUrl() };
}

function client(baseURL: string, key: string): AxiosInstance {
  return axios.create({
    baseURL,
    headers: { authorization: `Bearer ${key}` },
    validateStatus: () => true,
    maxBodyLength: Infinity,
    proxy: false,
  });
}

type Keys = Payroll['keys'];
type WithPeople = Keys & { people: Record<string, string> };

async function makePeople(database: Database, people: People): Promise<WithPeople> {
  const keys: Record<string, string> = {};
  const ids: Record<string, string> = {};
  for (const name of [...EMPLOYER_ROLES, 'second', 'administrator']) {
    await database.outsideEmployers(async (tx) => {
      const person = await people.createPerson(tx, name, name === 'administrator');
      const id = typeof person === 'string' ? person : (person as { id: string }).id;
      ids[name] = id;
      keys[name] = (await people.issueKey(tx, id, 'test')).key;
    });
  }
  return { ...(keys as Keys), people: ids };
}

/** On a busy machine a probe may find nothing out: a run would wait for its account then. */
const TRIES = 4;

/** Asks again, a few times, while the bank or a connection to the database is not there in time. */
async function untilServed(ask: () => Promise<AxiosResponse>): Promise<AxiosResponse> {
  for (let tries = 1; ; tries += 1) {
    const answer = await ask();
    if (![502, 503].includes(answer.status) || tries === TRIES) return answer;
  }
}

/** Onboards the seed company with the largest balance through the API, as an operator would. */
async function onboard(service: Service, keys: WithPeople, options: PayrollOptions, bank: Sandbox) {
  const administrator = client(service.url, keys.administrator);
  const created = await administrator.post('/v1/employers', {
    name: 'Birch Foods SARL',
    timeZone: 'Europe/Paris',
    rowsPerInstruction: options.rowsPerInstruction ?? 500,
    tickIbans: options.tickIbans ?? false,
  });
  if (created.status !== 201) throw new Error(`not created: ${JSON.stringify(created.data)}`);
  const employer = String(created.data.id);
  const database = service.app.get(Database);
  const people = service.app.get(People);
  await database.inEmployer(readId('emp', employer), async (tx) => {
    for (const role of EMPLOYER_ROLES) await people.grantRole(tx, keys.people[role]!, role);
    for (const role of ['approver', 'operator'] as const)
      await people.grantRole(tx, keys.people.second!, role);
  });
  const operator = client(service.url, keys.operator);
  const birch = DEFAULT_SEED.users[1]!;
  const accounts = `/v1/employers/${employer}/accounts`;
  const attached = await untilServed(() =>
    operator.post(accounts, {
      bankAccountId: birch.account!.accountId,
      debtorName: birch.holderName,
      bankIdentityId: String(birch.identityId),
    }),
  );
  if (attached.status !== 201) throw new Error(`not attached: ${JSON.stringify(attached.data)}`);
  const account = String(attached.data.id);
  let probed: { probedAt: string | null } = attached.data;
  for (let tries = 1; probed.probedAt === null && tries < TRIES; tries += 1)
    probed = (await untilServed(() => operator.post(`${accounts}/${account}/probe`))).data;
  const portal = (await axios.get(`${bank.url}/sandbox/portal/accounts`)).data as {
    accountId: string;
    balance: string;
  }[];
  const balance = portal.find((one) => one.accountId === birch.account!.accountId)?.balance;
  const checked = await untilServed(() => operator.post(`${accounts}/${account}/balance-check`, { balance }));
  if (checked.status >= 300) throw new Error(`not checked: ${JSON.stringify(checked.data)}`);
  return { employer, account };
}
