import { setTimeout as sleep } from 'node:timers/promises';
import { runMigrations } from '../../src/database/migrate';
import { startTemporaryServer } from '../../src/database/temporary-server';
import { isPayRunFinal, type PayRunStatus } from '../../src/domain/pay-run';
import { buildWithCrashPoints } from '../../test/support/crash-build';
import { execute, SERVER_ENV } from '../../test/support/database';
import { payFile, payRows, type Row } from '../../test/support/pay-rows';
import { freePort, Payroll, type PayrollOptions, type ServiceProcess } from '../../test/support/payroll';
import type { Finding } from '../table';
import { type Book, judgeBook } from './judge';
import { Proxy } from './proxy';
import { Relay } from './relay';

/** Stands at once: they mostly wait, and a machine has two processors at least. */
export const AT_ONCE = 4;
export const ROWS_PER_INSTRUCTION = 3;
const INSTRUCTIONS = 2;
export const LEASE_MS = 1_000;
export const SUBMIT_DOUBT_MS = 1_200;

/** Short enough for many trials; in the proportions of the product's defaults. */
const SETTINGS = {
  BANK_TIMEOUT_MS: '500',
  SUBMIT_DOUBT_MS: String(SUBMIT_DOUBT_MS),
  BANK_LAG_BOUND_MS: '300',
  LEASE_MS: String(LEASE_MS),
};
/** Every trial ends in a few seconds; the longest of the service's own pauses is five. */
const PATIENCE_MS = 45_000;
/** A run waits so often for the lag bound to pass. */
const LAGS_OF_A_RUN = 4;
/** A process that ended while it started is started again, as by whatever keeps it running. */
const STARTS = 3;
/** Characters: a stack. */
const LAST_WORDS = 2_000;
/** So long with an attention open and nothing moving, a run waits for people. */
const AT_REST_MS = 700;
const LOOK_MS = 60;

interface Asking {
  id: string;
  kind: string;
  payRunId: string | null;
  actions: string[];
}

/** Starts the one PostgreSQL of a proof and makes the build that keeps its crash points. */
export async function startServer(): Promise<{ stop(): Promise<void> }> {
  buildWithCrashPoints();
  const server = await startTemporaryServer();
  await runMigrations(server.databaseAdminUrl);
  process.env[SERVER_ENV.superuserUrl] = server.superuserUrl;
  process.env[SERVER_ENV.appUrl] = server.databaseUrl;
  process.env[SERVER_ENV.ownerUrl] = server.databaseAdminUrl;
  return server;
}

/** A service in a process of its own, a bank, the network between them, and the people. */
export class Stand {
  /** Everything that was ever approved: IBAN to cents. */
  private readonly approved = new Map<string, bigint>();
  private next = 1;

  /** What a trial has measured besides, told once. */
  private remarks: string[] = [];

  private constructor(
    readonly payroll: Payroll,
    readonly proxy: Proxy,
    /** The way of the bank's webhooks. */
    readonly hooks: Relay,
    private readonly patienceMs: number,
  ) {}

  /** @param options hooked: the bank's webhooks come by way of the relay */
  static async open({ hooked, ...options }: PayrollOptions = {}): Promise<Stand> {
    const port = await freePort();
    const proxy = await Proxy.start(`http://127.0.0.1:${port}`);
    const hooks = await Relay.start();
    const settings = {
      ...SETTINGS,
      BANK_BASE_URL: proxy.url,
      ...(hooked === true && { PUBLIC_URL: hooks.url }),
      ...options.settings,
    };
    const payroll = await Payroll.start({
      rowsPerInstruction: ROWS_PER_INSTRUCTION,
      ...options,
      sandbox: { ...options.sandbox, port },
      settings,
    });
    await payroll.stopServices();
    const patienceMs = PATIENCE_MS + LAGS_OF_A_RUN * Number(settings.BANK_LAG_BOUND_MS);
    hooks.target = () => payroll.url;
    const stand = new Stand(payroll, proxy, hooks, patienceMs);
    await stand.spawn();
    return stand;
  }

  async spawn(settings: Record<string, string> = {}): Promise<ServiceProcess> {
    for (let start = 1; ; start += 1) {
      try {
        return await this.payroll.spawn(settings);
      } catch (error) {
        if (start === STARTS) throw error;
      }
    }
  }

  /** The last words of processes that ended by themselves. */
  lastWords(): string {
    const ended = this.payroll.spawned.filter(({ process }) => process.exitCode !== null);
    return ended
      .map(({ process, output }) => `\n${process.exitCode}: ${output().slice(-LAST_WORDS)}`)
      .join('');
  }

  remark(text: string): void {
    this.remarks.push(text);
  }

  takeRemarks(): string[] {
    return this.remarks.splice(0);
  }

  /** Ends every process of the service and starts one. */
  async restart(settings: Record<string, string> = {}): Promise<ServiceProcess> {
    await this.payroll.endProcesses();
    return this.spawn(settings);
  }

  async close(): Promise<void> {
    await this.payroll.endProcesses();
    await this.proxy.stop();
    this.hooks.stop();
    await this.payroll.close();
  }

  /** Rows of employees who were never paid before. */
  freshRows(instructions = INSTRUCTIONS): Row[] {
    const rows = payRows(instructions * ROWS_PER_INSTRUCTION, this.next);
    this.next += rows.length;
    for (const row of rows) this.approved.set(row.iban, BigInt(row.amount.replace('.', '')));
    return rows;
  }

  pay(rows: readonly Row[], terms: Record<string, string> = {}): Promise<string> {
    return this.payroll.paid(payFile(rows), terms);
  }

  /** Waits for the end of a run, or for an attention; then judges, and lets people decide and judges again. */
  async conclude(id: string, rows: readonly Row[], startedMs: number): Promise<Finding> {
    const rest = await this.rest(id);
    const recoveryS = (rest.sinceMs - startedMs) / 1_000;
    const asked = (await this.asking(id)).length > 0;
    const first = judgeBook(await this.book(id), rows, this.approved);
    const stuck = !isPayRunFinal(rest.status) && !asked;
    await this.calm();
    const decided = await this.decide(id);
    const wasAsked = asked || decided;
    await this.forgetWatches();
    const last = judgeBook(await this.book(id), rows, this.approved);
    return {
      paidTwice: last.paidTwice,
      paidUnapproved: last.paidUnapproved,
      silent: !wasAsked && (first.differs || last.differs || last.paidTwice || last.paidUnapproved),
      stuck,
      attention: wasAsked,
      recoveryS,
    };
  }

  /** What was watched for this run must not meet the faults of the next. */
  private forgetWatches(): Promise<void> {
    const { superuserUrl } = this.payroll.database;
    return execute(
      superuserUrl,
      `UPDATE lease SET wake_at = 'infinity' WHERE kind = 'FOLLOW' AND holder IS NULL`,
    );
  }

  /** Ends all faults. */
  async calm(): Promise<void> {
    this.proxy.meddle = undefined;
    this.hooks.calm();
    await this.payroll.clearFaults();
  }

  /** The attentions that concern a run, or all runs. */
  async asking(id: string): Promise<Asking[]> {
    const open = (await this.payroll.attention()) as unknown as Asking[];
    return open.filter(({ payRunId }) => payRunId === id || payRunId === null);
  }

  /** When the run ended, or an attention was raised and nothing moved any more. */
  private async rest(id: string): Promise<{ status: PayRunStatus; sinceMs: number }> {
    const endMs = Date.now() + this.patienceMs;
    let before = '';
    let changedMs = Date.now();
    let askedMs: number | undefined;
    for (;;) {
      const run = await this.payroll.run(id);
      const status = run.status as PayRunStatus;
      if (isPayRunFinal(status)) return { status, sinceMs: Date.now() };
      const now = JSON.stringify([status, run.paymentsByStatus, run.instructions]);
      if (now !== before) changedMs = Date.now();
      before = now;
      if (askedMs === undefined && (await this.asking(id)).length > 0) askedMs = Date.now();
      const resting = Date.now() - Math.max(changedMs, askedMs ?? 0) > AT_REST_MS;
      if ((askedMs !== undefined && resting) || Date.now() > endMs)
        return { status, sinceMs: askedMs ?? Date.now() };
      await sleep(LOOK_MS);
    }
  }

  /** Two people decide every attention that is open, by the bank's book; answers whether any was. */
  private async decide(id: string): Promise<boolean> {
    const endMs = Date.now() + this.patienceMs;
    let decided = false;
    while (Date.now() < endMs) {
      const open = (await this.payroll.attention()) as unknown as Asking[];
      for (const one of open) decided = (await this.answer(one)) || decided;
      const { status } = await this.payroll.run(id);
      if (open.length === 0 && (!decided || isPayRunFinal(status as PayRunStatus))) break;
      await sleep(LOOK_MS * 4);
    }
    return decided;
  }

  private async answer({ id, actions, payRunId }: Asking): Promise<boolean> {
    const path = this.payroll.path(`/attention/${id}`);
    const [first = 'ACKNOWLEDGE'] = actions;
    const choices = actions.includes('RESUME')
      ? ['RESUME']
      : actions.includes('EXECUTED')
        ? await this.doubt(id)
        : [first];
    for (const action of choices) {
      const word = { action, reason: 'decided in the proof', evidence: 'by the book of the bank' };
      await this.payroll.as('operator').post(`${path}/actions`, word);
      const confirmed = await this.payroll.as('second').post(`${path}/actions/confirmation`);
      if (confirmed.status === 200) {
        await this.approveAgain(payRunId);
        return true;
      }
      await this.payroll.as('operator').delete(`${path}/actions`);
    }
    return false;
  }

  /** Whether a parked submit was executed, as the bank's written word says it. */
  private async doubt(attentionId: string): Promise<string[]> {
    const { data } = await this.payroll.as('operator').get(this.payroll.path(`/attention/${attentionId}`));
    const { data: run } = await this.payroll
      .as('finance')
      .get(this.payroll.path(`/pay-runs/${data.payRunId}`));
    const part = run.instructions.find((one: { id: string }) => one.id === data.instructionId);
    const { instructions } = await this.payroll.ledger();
    const atBank = instructions.find((one) => String(one.id) === String(part?.bankInstructionId));
    return [(atBank?.submits ?? 0) > 0 ? 'EXECUTED' : 'NOT_EXECUTED'];
  }

  /** An amendment that excludes a refused row is approved by the other person. */
  private async approveAgain(payRunId: string | null): Promise<void> {
    if (payRunId === null) return;
    for (let look = 0; look < 20; look += 1) {
      const run = await this.payroll.run(payRunId);
      if (run.status === 'READY') await this.payroll.approve({ ...run, total: run.total });
      if (run.status !== 'BUILDING' || look > 5) return;
      await sleep(LOOK_MS);
    }
  }

  private async book(id: string): Promise<Book> {
    const { data } = await this.payroll
      .as('finance')
      .get(this.payroll.path(`/pay-runs/${id}/payments`), { params: { limit: 100 } });
    return { said: data.items, ledger: await this.payroll.ledger() };
  }
}
