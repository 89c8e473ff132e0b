import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { append } from '../audit/audit';
import { BankClient } from '../bank/client';
import {
  BankClientError,
  BankError,
  isNotShown,
  isPerhapsEmpty,
  NotFound,
  Unauthorised,
} from '../bank/errors';
import { isPathId } from '../bank/link';
import type { PaymentMarks } from '../bank/payment-marks';
import type { Account } from '../bank/schema';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { Database } from '../database/database';
import { newId } from '../database/new-id';
import { addBankingDays, localDate } from '../domain/business-day';
import { showId } from '../http/prefixed-id';
import { BANK_READS } from './account-view';
import { findAccount, isFollowed, keepProbedStatus } from './account.store';
import { BankRead, EmployerAccount } from './employer.entity';
import { ProbeCalls } from './probe-calls';
import { READS_OF_PAYMENTS } from './readiness';

/** A second page of a hundred shows how pages are counted; more would tell nothing new. */
const LISTED_PAYMENTS = 150;
/** How often a record just made is looked for while a read may still be older than it. */
const LOOK_AGAIN_MS = 500;
/** The answers of a bank that does not offer a read at all, or not to us. */
const NOT_READABLE: ReadonlySet<number> = new Set([403, 404, 405, 501]);

/**
 * What was found out of one read; `unknown` when the bank could not be asked. `empty` is a list that may hold nothing, and is
 * answered with 404 or shows nothing in a way that proves it not: whether it shows payments is seen with the first of them.
 */
export type Finding = 'allowed' | 'refused' | 'unknown' | 'empty';
export type Findings = Readonly<Record<BankRead, Finding>>;

/** Of the reads of an instruction. `notInitiated`: what came of the empty one where none is known to exist, in words. */
interface OfInstruction {
  findings: Pick<Findings, 'INSTRUCTION' | 'INSTRUCTION_PAYMENTS'>;
  notInitiated: string | null;
}

/**
 * `odd`: an answer that says that no more is shown, and not in a way that is known to mean so. `unproven`: a list that shows
 * nothing, and not so that it is known to be empty. `turnedAway`: a 401, of the token or of this read alone.
 */
type Asked<T> =
  | {
      finding: 'allowed';
      value: T;
      missing?: undefined;
      odd?: undefined;
      unproven?: undefined;
      turnedAway?: undefined;
    }
  | {
      finding: 'refused' | 'unknown';
      value?: undefined;
      missing: boolean;
      odd: boolean;
      unproven: boolean;
      turnedAway: boolean;
    };

/** How an instruction is checked before its submit: ready is who allows them, or is known not to. */
const OF_INSTRUCTION = ['INSTRUCTION', 'INSTRUCTION_PAYMENTS'] as const satisfies readonly BankRead[];

/** What the empty instruction announces, and for how many banking days ahead. */
interface Announced {
  totalMinor: bigint;
  bankingDays: number;
}

const LEAST: Announced = { totalMinor: 1n, bankingDays: 1 };
/**
 * Each where the bank refused the one before: it may refuse a cent, or tomorrow, or what is far ahead, and take a payroll
 * (Limits: amount bounds not shown).
 */
const AS_PAYROLL: readonly Announced[] = [
  { totalMinor: 100_000n, bankingDays: 1 },
  { totalMinor: 100_000n, bankingDays: 10 },
];

/** Lists of payments: one of them is enough for a submit to be checked beforehand. */
const LISTS = ['INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'] as const satisfies readonly BankRead[];

/** Finds out which reads the bank allows for an account, before money depends on them (protocol rule 7). */
@Injectable()
export class Onboarding {
  constructor(
    private readonly database: Database,
    private readonly client: BankClient,
    private readonly calls: ProbeCalls,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Probes an account and keeps what was found. A read of which nothing could be found out stays as it was: a bank
   * that is down for a minute takes nothing from an account that is ready. One of whose reads of an instruction nothing was
   * found out is not probed yet. Moves no money.
   */
  async probe(
    account: EmployerAccount,
    personId: string,
  ): Promise<{ account: EmployerAccount; findings: Findings; notInitiated: string | null }> {
    const detail = await ask(() => this.client.accounts.get(account.bankAccountId));
    const listed = await ask(() => this.firstPayments());
    const single = await this.singlePayment(listed.value?.at(-1));
    const { findings: ofInstruction, notInitiated } = await this.readsOfInstruction(account);
    const findings: Findings = {
      BALANCE: balanceFinding(detail),
      PAYMENT_LIST: findingOfList(listed, 'empty'),
      PAYMENT: single,
      ...ofInstruction,
    };
    const probed = await this.keep(account, personId, findings, detail.value?.status);
    return { account: probed, findings, notInitiated };
  }

  private async firstPayments(): Promise<PaymentMarks[]> {
    const payments: PaymentMarks[] = [];
    for await (const { marks } of this.client.paymentTransactions.listed({}, () => false)) {
      payments.push(marks);
      if (payments.length === LISTED_PAYMENTS) break;
    }
    return payments;
  }

  /** Which of its two ids the path takes is not shown: what the first is answered says nothing of the other. */
  private async singlePayment({ bankPaymentId, bankTransactionId }: PaymentMarks = {}): Promise<Finding> {
    const findings: Finding[] = [];
    for (const id of new Set([bankPaymentId, bankTransactionId])) {
      if (id === undefined || !isPathId(id)) continue;
      const { finding } = await ask(() => this.client.paymentTransactions.get(id));
      if (finding === 'allowed') return finding;
      findings.push(finding);
    }
    return findings.length > 0 && findings.every((finding) => finding === 'refused') ? 'refused' : 'unknown';
  }

  private async readsOfInstruction(account: EmployerAccount): Promise<OfInstruction> {
    const { probeId, initiated } = await this.initiateSome(account);
    if ('why' in initiated) {
      const findings = { INSTRUCTION: 'unknown', INSTRUCTION_PAYMENTS: 'unknown' } as const;
      return { findings, notInitiated: initiated.why };
    }
    const { id } = initiated;
    const [instruction, payments] = await Promise.all([
      this.askUntilShown(account, 'INSTRUCTION', () => this.client.customerInstructions.get(id)),
      this.askUntilShown(account, 'INSTRUCTION_PAYMENTS', () => this.firstPaymentOf(id)),
    ]);
    await this.calls.delete(account, probeId, id);
    // While nothing is known of the instruction itself, its list may not be shown for what keeps that from being read.
    const ofMissing = instruction.finding === 'unknown' ? 'unknown' : 'empty';
    return {
      findings: {
        INSTRUCTION: instruction.finding,
        INSTRUCTION_PAYMENTS: findingOfList(payments, ofMissing),
      },
      notInitiated: null,
    };
  }

  private async initiateSome(account: EmployerAccount): ReturnType<Onboarding['initiate']> {
    let tried = await this.initiate(account, LEAST);
    for (const terms of AS_PAYROLL) {
      if (!('why' in tried.initiated && tried.initiated.isRefused)) break;
      tried = await this.initiate(account, terms);
    }
    return tried;
  }

  private async initiate(account: EmployerAccount, { totalMinor, bankingDays }: Announced) {
    const now = this.clock.now();
    const probeId = newId(now.getTime());
    const today = localDate(now, this.config.BANK_TIME_ZONE);
    const executionDate = addBankingDays(today, bankingDays, new Set(this.config.BANK_CLOSED_DAYS));
    const initiated = await this.calls.initiate(account, { probeId, totalMinor, executionDate });
    return { probeId, initiated };
  }

  /** Nothing is in it; how the list answers is what counts. */
  private async firstPaymentOf(bankInstructionId: string): Promise<void> {
    for await (const _ of this.client.customerInstructions.listPaymentTransactions(bankInstructionId)) return;
  }

  /**
   * How a path that is only a link answers is not shown: whatever says that it will not show more is a refusal, once the
   * lag bound has passed since the record was made, and so is a 401 where the token serves right after it. Either takes no
   * read away that the bank is known to allow. A fault that may pass is asked again as long.
   */
  private async askUntilShown<T>(
    { reads, bankAccountId }: EmployerAccount,
    read: BankRead,
    asking: () => Promise<T>,
  ): Promise<Asked<T>> {
    const { BANK_LAG_BOUND_MS } = this.config;
    const begunMs = performance.now();
    let isLast = BANK_LAG_BOUND_MS === 0;
    let asked = await ask(asking);
    while (!isLast && mayChange(asked)) {
      await pause(LOOK_AGAIN_MS);
      isLast = performance.now() - begunMs >= BANK_LAG_BOUND_MS;
      asked = await ask(asking);
    }
    if (!(asked.odd || asked.turnedAway) || reads.includes(read)) return asked;
    const isRefused = asked.odd || (await ask(() => this.client.accounts.get(bankAccountId))).value;
    return isRefused ? { ...asked, finding: 'refused' } : asked;
  }

  private keep(
    { employerId, id, bankStatus }: EmployerAccount,
    personId: string,
    findings: Findings,
    status: string | undefined,
  ): Promise<EmployerAccount> {
    return this.database.inEmployer(employerId, async (tx) => {
      const before = await findAccount(tx, id);
      const isFoundOut = OF_INSTRUCTION.every((read) => findings[read] !== 'unknown');
      const found = {
        reads: readsBy(findings, before.reads, await isFollowed(tx, id)),
        pageBase: this.client.habits.paymentTransactions.pageBase ?? before.pageBase,
        probedAt: isFoundOut ? this.clock.now() : before.probedAt,
      };
      await tx.manager.update(EmployerAccount, { employerId, id }, found);
      const kept = await keepProbedStatus(tx, { ...before, bankStatus }, status);
      const detail = { ...findings, pageBase: found.pageBase };
      await append(tx, { personId, action: 'account.probed', subject: showId('acc', id), detail });
      return { ...before, ...found, bankStatus: kept };
    });
  }
}

/**
 * A list that may only be empty is tried where no other is known to answer: nothing is submitted unless it shows all. While
 * something is followed the last reads of payments are kept, refused or not: else nobody would read it when that has passed.
 */
function readsBy(findings: Findings, before: readonly BankRead[], isSomeFollowed: boolean): BankRead[] {
  const tries = !LISTS.some((list) => findings[list] === 'allowed');
  const found = BANK_READS.filter((read) => {
    const finding = findings[read];
    if (finding === 'allowed' || (finding === 'empty' && tries)) return true;
    return finding !== 'refused' && before.includes(read);
  });
  if (!isSomeFollowed || READS_OF_PAYMENTS.some((read) => found.includes(read))) return found;
  return BANK_READS.filter(
    (read) => found.includes(read) || (READS_OF_PAYMENTS.includes(read) && before.includes(read)),
  );
}

/** Whether another answer may tell more a moment later: all but one that allows the read, or refuses it, or us. */
function mayChange({ finding, missing, turnedAway }: Asked<unknown>): boolean {
  return missing === true || (finding === 'unknown' && !turnedAway);
}

/** @param missing what a 404 of it says */
function findingOfList(asked: Asked<unknown>, missing: Finding): Finding {
  if (asked.unproven) return 'empty';
  return asked.missing ? missing : asked.finding;
}

function balanceFinding(detail: Asked<Account>): Finding {
  if (detail.finding !== 'allowed') return detail.finding;
  return detail.value.availableBalance ? 'allowed' : 'refused';
}

async function ask<T>(read: () => Promise<T>): Promise<Asked<T>> {
  try {
    return { finding: 'allowed', value: await read() };
  } catch (error) {
    if (!(error instanceof BankClientError)) throw error;
    const isReadable = !isNotReadable(error);
    const unproven = isPerhapsEmpty(error);
    return {
      finding: isReadable ? 'unknown' : 'refused',
      missing: error instanceof NotFound,
      odd: isReadable && isNotShown(error) && !unproven,
      unproven,
      turnedAway: error instanceof Unauthorised,
    };
  }
}

function isNotReadable(error: unknown): boolean {
  return error instanceof BankError && NOT_READABLE.has(error.status);
}
