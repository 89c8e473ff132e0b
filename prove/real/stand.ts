import { setTimeout as sleep } from 'node:timers/promises';
import { isPayRunFinal, type PayRunStatus } from '../../src/domain/pay-run';
import { payFile, payRows, type Row } from '../../test/support/pay-rows';
import { type Begun, thrice, wholly } from '../../test/support/begun';
import { eventually, PATIENCE } from '../../test/support/eventually';
import { freePort, Payroll, type PayrollOptions, type ServiceProcess } from '../../test/support/payroll';
import { type Finding, wordsOf } from '../table';
import {
  type Book,
  breachesOf,
  conclusionOf,
  isStuck,
  isTold,
  judgeBook,
  type Look,
  standingOf,
} from './judge';
import { reconciledSince, tellPasses } from './passes';
import { type OwnDatabase, startOwnDatabase } from './own-database';
import { type Asking, openOf, People } from './people';
import { Proxy } from './proxy';
import {
  brokenChains,
  forgetWatches,
  isUnderway,
  raisedSince,
  readAgain,
  saidOf,
  unintended,
  untilReadDaily,
} from './record';
import { Relay } from './relay';
import { saidAgain } from './said-again';

/** Stands at once: they mostly wait, and a machine has two processors at least. */
export const AT_ONCE = 4;
export const ROWS_PER_INSTRUCTION = 3;
const INSTRUCTIONS = 2;
export const LEASE_MS = 1_000;
export const SUBMIT_DOUBT_MS = 1_200;

/** Short enough for many trials; in the proportions of the product's defaults. */
const SETTINGS = {
  TICK_MS: '100',
  // Longer than whatever else is done on a busy machine: an answer that is lost to it was never shown.
  BANK_TIMEOUT_MS: '2000',
  SUBMIT_DOUBT_MS: String(SUBMIT_DOUBT_MS),
  BANK_LAG_BOUND_MS: '300',
  LEASE_MS: String(LEASE_MS),
  // So often that it asserts the invariants in the middle of every trial.
  RECONCILE_MS: '500',
};
/** On a quick machine; every trial ends in a few seconds, and the longest of the service's own pauses is five. */
const PATIENCE_MS = 30_000;
/** A run waits so often for the lag bound to pass. */
const LAGS_OF_A_RUN = 4;
/** Characters: a stack. */
const LAST_WORDS = 2_000;
/** The longest wait of a run before its last read. */
const STRIKES_WITHIN_MS = 8_000;
/** So long with an attention open and nothing moving or under way, a run waits for people. */
const AT_REST_MS = 700;
const LOOK_MS = 120;
/** Thrown, alone or before its words, where a fault that was armed changed nothing. */
export const DID_NOT_STRIKE = 'it did not strike';

type RunToApprove = Parameters<Payroll['approve']>[0];

export interface StandOptions extends PayrollOptions {
  /** Its PostgreSQL is of this stand alone, and the network to it may meddle; one server is shared otherwise. */
  ownDatabase?: boolean;
  /** How long a run may take to end, and people to decide, on a quick machine. */
  waitsMs?: number;
}

/** A finding, and whether it is one: a fault that did not strike has shown nothing. */
export interface Conclusion extends Finding {
  /** What was armed and changed nothing. */
  missed: string[];
  /** The kinds of what people were asked since the trial began. */
  raised: string[];
  /** Where a run that is stuck stands, and what was left undecided, in words. */
  standing: string[];
}

/** A service in a process of its own, a bank, the network between them, and the people. */
export class Stand {
  /** Everything that is or was approved and not taken back: IBAN to cents. */
  private readonly approved = new Map<string, bigint>();
  private next = 1;

  /** The runs of the trials that are over. */
  private readonly trials: { ids: readonly string[]; rows: readonly Row[]; then: Look }[] = [];
  /** When the last of them was over. */
  private concludedMs = Date.now();
  /** What a trial has measured besides, told once. */
  private remarks: string[] = [];

  private readonly people: People;

  private constructor(
    readonly payroll: Payroll,
    readonly proxy: Proxy,
    /** The way of the bank's webhooks. */
    readonly hooks: Relay,
    private readonly rowsPerInstruction: number,
    /** Of every process of the service. */
    private readonly settings: Record<string, string>,
    private readonly patienceMs: number,
    private readonly own: OwnDatabase | undefined,
  ) {
    this.people = new People(payroll, patienceMs);
  }

  /**
   * Opened again where that fails, as where a port was taken meanwhile.
   * @param options hooked: the bank's webhooks come by way of the relay
   */
  static open(options: StandOptions = {}): Promise<Stand> {
    return thrice(() => wholly((begun) => Stand.begin(options, begun)));
  }

  private static async begin(
    {
      hooked,
      ownDatabase,
      waitsMs = PATIENCE_MS,
      rowsPerInstruction = ROWS_PER_INSTRUCTION,
      ...options
    }: StandOptions,
    begun: Begun,
  ): Promise<Stand> {
    const port = await freePort();
    const proxy = await Proxy.start(`http://127.0.0.1:${port}`);
    begun(() => proxy.stop());
    const hooks = await Relay.start();
    begun(() => hooks.stop());
    const settings = { ...SETTINGS, ...options.settings };
    const own = ownDatabase === true ? await startOwnDatabase(begun) : undefined;
    // What is made ready here meets no fault, and may take its time on a busy machine: the short waits come after it.
    const payroll = await Payroll.start({
      rowsPerInstruction,
      ...(own && { database: { ...own.server, url: own.proxy.through(own.server.url) } }),
      ...options,
      sandbox: { ...options.sandbox, port },
      settings: { BANK_BASE_URL: proxy.url, ...(hooked === true && { PUBLIC_URL: hooks.url }) },
    });
    begun(() => payroll.close());
    await payroll.stopServices();
    await tellPasses(payroll);
    const patienceMs = PATIENCE * waitsMs + LAGS_OF_A_RUN * Number(settings.BANK_LAG_BOUND_MS);
    hooks.target = () => payroll.url;
    const stand = new Stand(payroll, proxy, hooks, rowsPerInstruction, settings, patienceMs, own);
    await stand.spawn();
    return stand;
  }

  /** Started again where it ends while it starts, as by whatever keeps it running. */
  spawn(settings: Record<string, string> = {}): Promise<ServiceProcess> {
    return thrice(() => this.payroll.spawn({ ...this.settings, ...settings }));
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

  /** Ends all faults, and every process but a new one. */
  async recover(): Promise<void> {
    await this.calm();
    await this.restart();
  }

  async close(): Promise<void> {
    await this.payroll.endProcesses();
    await this.proxy.stop();
    this.hooks.stop();
    await this.payroll.close();
    await this.own?.proxy.stop();
  }

  /** @throws where the stand has none */
  get ownDatabase(): OwnDatabase {
    if (this.own === undefined) throw new Error('the database of this stand is shared with others');
    return this.own;
  }

  /** Rows of employees who were never paid before. */
  freshRows(instructions = INSTRUCTIONS): Row[] {
    const rows = payRows(instructions * this.rowsPerInstruction, this.next);
    this.next += rows.length;
    return rows;
  }

  /** Uploads and approves the rows, and answers the run. */
  async pay(rows: readonly Row[], terms: Record<string, string> = {}): Promise<string> {
    const run = await this.uploaded(rows, terms);
    await this.approve(run, rows);
    return run.id;
  }

  /** Uploads the rows, and answers the run. @throws where the file is refused */
  async uploaded(rows: readonly Row[], terms: Record<string, string> = {}): Promise<RunToApprove> {
    await this.payroll.leaveTheLastMinutes();
    // The same each time: whoever had no answer asks again.
    const same = { submitAt: this.payroll.clock.now().toISOString(), ...terms };
    const { status, data } = await saidAgain(() => this.payroll.upload(payFile(rows), same));
    if (status >= 300) throw new Error(`the upload was refused: ${JSON.stringify(data)}`);
    return data as RunToApprove;
  }

  /** Has people decide what is asked of a run while its faults are still on. @throws where nothing was decided */
  async decide(id: string): Promise<void> {
    if (!(await this.people.decide(id))) throw new Error('nothing was decided');
  }

  /** From the moment in which an approver says so the rows may be paid, also where no answer says that it was heard. */
  async approve(run: RunToApprove, rows: readonly Row[]): Promise<void> {
    this.noteApproved(rows);
    const { status, data } = await saidAgain(() => this.payroll.approve(run));
    // After an answer that was lost the first approval may stand.
    if (status < 300 || status === 409) return;
    this.disapprove(rows);
    throw new Error(`the approval was refused: ${JSON.stringify(data)}`);
  }

  /** The rows may be paid: an approver says so, or will. */
  noteApproved(rows: readonly Row[]): void {
    for (const row of rows) this.approved.set(row.iban, BigInt(row.amount.replace('.', '')));
  }

  /** None of the rows may be paid any more: their approval was taken back, or their run cancelled. */
  disapprove(rows: readonly Row[]): void {
    for (const { iban } of rows) this.approved.delete(iban);
  }

  /**
   * Waits for the end of a run, or for an attention, and judges; then lets people decide, has everything of the run read
   * once more from a bank that tells the truth, and judges again.
   * @param runs the run, or several that pay the same rows: those that end last, last
   */
  async conclude(
    runs: string | readonly string[],
    rows: readonly Row[],
    startedMs: number,
  ): Promise<Conclusion> {
    const ids = typeof runs === 'string' ? [runs] : runs;
    let sinceMs = startedMs;
    for (const id of ids) sinceMs = await this.rest(id);
    const { look: first, raised: raisedFirst } = await this.lookAtRest(ids, rows, startedMs);
    const missed = await this.missed();
    await this.calm();
    let decided = false;
    for (const id of ids) decided = (await this.people.decide(id)) || decided;
    await readAgain(this.payroll, ids);
    const last = await this.restingLook(ids, rows);
    const lookedMs = Date.now();
    await forgetWatches(this.payroll);
    await this.assertRecord();
    await reconciledSince(this.payroll, lookedMs);
    this.concludedMs = Date.now();
    const raised = await raisedSince(this.payroll, startedMs);
    this.trials.push({ ids, rows, then: last });
    return {
      ...conclusionOf(first, last, decided, { first: raisedFirst, all: raised }),
      recoveryS: (sinceMs - startedMs) / 1_000,
      missed,
      raised,
      standing: [...standingOf(first, last, raised), ...last.refused],
    };
  }

  /** @throws where something was sent without an intent, or an audit chain is broken */
  private async assertRecord(): Promise<void> {
    const sent = await unintended(this.payroll, this.proxy.posts);
    if (sent.length > 0) throw new Error(`sent without an earlier intent: ${sent.join(', ')}`);
    const broken = await brokenChains(this.payroll);
    if (broken.length > 0) throw new Error(`does not verify: ${broken.join(', ')}`);
  }

  /**
   * Reads once more all that was ever followed here, and judges every run against the book: what moved after its trial.
   * @returns what broke since, in words
   */
  async lastLook(): Promise<string> {
    if (this.trials.length === 0) return '';
    const ids = this.trials.flatMap((trial) => trial.ids);
    await readAgain(this.payroll, ids);
    const open = await openOf(this.payroll);
    const now = await Promise.all(
      this.trials.map(async ({ ids: runs, rows, then }) => ({
        then,
        ...(await this.restingLook(runs, rows)),
      })),
    );
    await reconciledSince(this.payroll, Date.now());
    const raised = await raisedSince(this.payroll, this.concludedMs);
    const silent = open.length === 0 && now.some(({ differs, then }) => differs && !then.differs);
    const paidTwice = now.some((one) => one.paidTwice && !one.then.paidTwice);
    const paidUnapproved = now.some((one) => one.paidUnapproved && !one.then.paidUnapproved);
    const stuck = now.some((one) => isStuck(one) && !isStuck(one.then));
    const words = wordsOf({ paidTwice, paidUnapproved, silent, stuck, attention: open.length > 0 });
    return [words, ...breachesOf(raised)].filter((word) => word !== '').join(', ');
  }

  /**
   * How things stand with the faults still on, and the kinds of what was asked by then. What is wrong and was not told yet
   * the service may still tell by its own next looks, before it looks but once a day; not by one that is forced.
   */
  private async lookAtRest(
    ids: readonly string[],
    rows: readonly Row[],
    startedMs: number,
  ): Promise<{ look: Look; raised: string[] }> {
    const look = await this.restingLook(ids, rows);
    const raised = await raisedSince(this.payroll, startedMs);
    if (isTold(look, raised)) return { look, raised };
    await untilReadDaily(this.payroll, ids).catch(() => undefined);
    return { look: await this.restingLook(ids, rows), raised: await raisedSince(this.payroll, startedMs) };
  }

  /** What was asked may clear itself between two looks while the run goes on: it is stuck only where it stays so. */
  private async restingLook(ids: readonly string[], rows: readonly Row[]): Promise<Look> {
    const endMs = Date.now() + this.patienceMs;
    for (;;) {
      const look = await this.look(ids, rows);
      if (look.final || look.asked || Date.now() > endMs) return look;
      await sleep(LOOK_MS);
    }
  }

  private async look(ids: readonly string[], rows: readonly Row[]): Promise<Look> {
    const statuses = await Promise.all(ids.map((id) => this.statusOf(id)));
    const asking = await Promise.all(ids.map((id) => this.asking(id)));
    return {
      statuses,
      final: statuses.every(isPayRunFinal),
      asked: asking.some((open) => open.length > 0),
      inDoubt: asking.flat().some(({ kind }) => kind === 'SUBMIT_UNKNOWN'),
      refused: [...new Set(asking.flat().flatMap((one) => this.people.refusalOf(one) ?? []))],
      ...judgeBook(await this.book(ids, statuses), rows, this.approved),
    };
  }

  /** The faults that were armed and changed nothing, in words; before `calm` only. */
  async missed(): Promise<string[]> {
    const scripts = await this.payroll.faults();
    const unmet = scripts.filter(({ hits }) => hits === 0);
    return [
      ...unmet.map(({ script: { operation, kind } }) => `${String(operation)} ${String(kind)}`),
      ...(this.proxy.missed ? ['what the network was to do'] : []),
      ...(this.hooks.missed ? ['what was to become of the webhooks'] : []),
    ];
  }

  /** Waits for every fault that was armed to change something. @throws where one does not */
  async untilStruck(): Promise<void> {
    await eventually(
      async () => (await this.missed()).length === 0,
      STRIKES_WITHIN_MS,
      () => DID_NOT_STRIKE,
    );
  }

  /** Ends all faults. */
  async calm(): Promise<void> {
    this.proxy.calm();
    this.hooks.calm();
    await this.payroll.clearFaults();
  }

  /** The attentions that concern a run, or all runs. */
  async asking(id: string): Promise<Asking[]> {
    const open = await openOf(this.payroll);
    return open.filter(({ payRunId }) => payRunId === id || payRunId === null);
  }

  /** When the run ended, or an attention was raised and nothing moved or was under way any more, or patience was over. */
  private async rest(id: string): Promise<number> {
    const endMs = Date.now() + this.patienceMs;
    let before = '';
    let changedMs = Date.now();
    let askedMs: number | undefined;
    for (;;) {
      const run = await this.payroll.run(id);
      const status = run.status as PayRunStatus;
      if (isPayRunFinal(status)) return Date.now();
      const now = JSON.stringify([status, run.paymentsByStatus, run.instructions]);
      if (now !== before) changedMs = Date.now();
      before = now;
      if (askedMs === undefined && (await this.asking(id)).length > 0) askedMs = Date.now();
      const resting = askedMs !== undefined && Date.now() - Math.max(changedMs, askedMs) > AT_REST_MS;
      if ((resting && !(await isUnderway(this.payroll, id))) || Date.now() > endMs)
        return askedMs ?? Date.now();
      await sleep(LOOK_MS);
    }
  }

  private async statusOf(id: string): Promise<PayRunStatus> {
    return (await this.payroll.run(id)).status;
  }

  private async book(ids: readonly string[], statuses: readonly PayRunStatus[]): Promise<Book> {
    const runs = await Promise.all(
      statuses.map(async (status, n) => ({ status, payments: await saidOf(this.payroll, ids[n] ?? '') })),
    );
    return { runs, ledger: await this.payroll.ledger() };
  }
}
