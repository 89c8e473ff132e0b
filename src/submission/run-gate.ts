import { Inject, Injectable } from '@nestjs/common';
import { BankGateway } from '../bank/gateway';
import type { BankAccount } from '../bank/records';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { CONFIG, Config } from '../config/env';
import { queryByHash } from '../database/by-hash';
import { readById } from '../database/by-id';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence, isThere, missingForMs, wake } from '../database/leases';
import { WakeIn } from '../database/lease-worker';
import { PersonalData } from '../database/personal-data';
import { words } from '../database/words';
import { BANK_LADDER } from '../domain/bank-status';
import { isOverdue, localDate } from '../domain/business-day';
import { DAY_MS } from '../domain/durations';
import { INSTRUCTION_UNDER_WAY } from '../domain/instruction';
import { LAST_CALL_MS, sendingCloses } from '../domain/send-window';
import { ONE_AT_BANK } from '../employer/account.store';
import { Employer, EmployerAccount } from '../employer/employer.entity';
import { isUnitConfirmed, notReady } from '../employer/readiness';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { everyInstructionIs, plannedInstructions } from '../pay-run/instruction.store';
import { approvedVersion, standingApprovals } from '../pay-run/approval';
import { clear, isConfirmed, raiseUndecided } from '../pay-run/attention.store';
import { lapseRun } from '../pay-run/lapse';
import { clearPaidAlready, tellOfPaidAlready } from '../pay-run/paid-already';
import { PayRun } from '../pay-run/pay-run.entity';
import { lockRun, moveRun } from '../pay-run/pay-run.store';
import { approvedHash } from '../pay-run/plan';
import { expectedSubmits } from '../pay-run/send-outlook';
import { type Lapse, lapseByPeople, whyLapsed } from './lapse';
import { ReplacedLook } from './replaced-look';
import { submitWindow } from './submit-window';
import { reportTampering } from './tampering';
import { UnsubmittedLook } from './unsubmitted-look';
import { raiseNotReady } from '../pay-run/waits-for-account';
import { hashOfRows, lockSwitches, obstacleOf, payableRows, raiseUnusable } from './work';

/** How often a run that waits for money or for its account is tried again. */
const TRY_AGAIN_MS = 15_000;

/** What a run waits for that lacks money, as it is remembered with its work. */
const MONEY = 'MONEY';

/** How long the payments of other runs may take to be read before a person is asked for money that these may hold. */
const HOLDS_READ_MS = 60_000;

/** Charges of so many days tell what to expect: three monthly payrolls, and an older price list counts no more. */
const CHARGES_OF_DAYS = 90;

const NOT_COVERED = 'The available balance does not cover this run and what other runs have reserved.';
const CHARGES_NOT_COVERED =
  'The available balance covers this run and what other runs have reserved, but not the charges to be expected on ' +
  `top: the highest the bank took for one payment of this account in the last ${CHARGES_OF_DAYS} days, for each payment.`;

/** The run gate, once per run, in VERIFIED → SUBMITTING (rule 7). */
@Injectable()
export class RunGate {
  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly personal: PersonalData,
    private readonly replaced: ReplacedLook,
    private readonly unsubmitted: UnsubmittedLook,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async step(claim: Claim, run: PayRun): Promise<WakeIn> {
    const account = await this.database.inEmployer(claim.employerId, (tx) =>
      readById(tx, EmployerAccount, run.accountId),
    );
    if (!isUnitConfirmed(account, this.config)) {
      await this.database.inEmployer(claim.employerId, async (tx) => {
        const now = await lockRun(tx, run.id);
        await fence(tx, claim);
        await raiseNotReady(tx, now, account, this.config);
      });
      return TRY_AGAIN_MS;
    }
    const shownInMs = await this.shownInMs(run, account);
    if (shownInMs > 0) return shownInMs;
    await this.unsubmitted.at('gate', run, account);
    const replaced = await this.replaced.of(run);
    const { computed, tampered } = await this.readRun(run);
    // Last: what the bank holds for others after this read may not count as reserved any more, and not as taken yet.
    const { atBank, ...readAt } = await this.readBalance(account);
    const wakeIn = await this.database.inEmployer(claim.employerId, async (tx) => {
      const now = await lockRun(tx, run.id);
      await fence(tx, claim);
      if (now.status !== 'VERIFIED' || (await obstacleOf(tx, now))) return 0;
      // Two people may have had one of them built again while the bank was read.
      if (!(await everyInstructionIs(tx, now, ['VERIFIED']))) return 0;
      if (!(await this.replaced.standsAtGate(tx, claim, now, replaced))) return TRY_AGAIN_MS;
      if (await tellOfPaidAlready(tx, now.id)) return TRY_AGAIN_MS;
      for (const part of tampered) await reportTampering(tx, part);
      if (tampered.length > 0) return TRY_AGAIN_MS;
      // Not before what may stop something: of two that kept the switches each would wait for the other to throw one.
      await lockSwitches(tx);
      if (await obstacleOf(tx, now)) return 0;
      await lockAccount(tx, now);
      const refusal = await this.refusalOf(tx, now, computed);
      if (refusal) {
        await lapseRun(tx, now, refusal.why, refusal.mend);
        return 0;
      }
      if (!(await this.funded(tx, claim, now, atBank))) return TRY_AGAIN_MS;
      await this.open(tx, now, { balanceBeforeMinor: atBank?.balanceMinor, ...readAt });
      return 0;
    });
    crashPoint('gate.passed');
    return wakeIn;
  }

  /** With when it was asked for, and when it was answered by the clock of the submits that it may show. */
  private async readBalance(account: EmployerAccount) {
    const balanceAskedAt = this.clock.now();
    const atBank = account.reads.includes('BALANCE')
      ? await this.gateway.getAccount(account.bankAccountId)
      : undefined;
    const balanceReadAt = await this.database.inEmployer(account.employerId, timeOf);
    return { atBank, balanceAskedAt, balanceReadAt };
  }

  /**
   * For how long the balance may still be from before the last run of the account ended: what one begins with that can be
   * so old is not compared after its own end. Not where another is under way, nor past the last moment for its submits.
   */
  private async shownInMs(run: PayRun, account: EmployerAccount): Promise<number> {
    if (!account.reads.includes('BALANCE')) return 0;
    const nowMs = this.clock.now().getTime();
    const shownTo = new Date(nowMs - this.config.BANK_LAG_BOUND_MS);
    return this.database.inEmployer(run.employerId, async (tx) => {
      const [others] = await tx.query<{ ended_at: Date | null; under_way: boolean | null }>(
        `SELECT max(i.closed_at) AS ended_at, bool_or(i.status <> 'CLOSED') AS under_way
         FROM pay_run r JOIN instruction i ON i.employer_id = r.employer_id AND i.pay_run_id = r.id
         WHERE r.employer_id = $1 AND r.account_id = ANY (${ONE_AT_BANK}) AND r.id <> $3
           AND (i.status IN (${words(INSTRUCTION_UNDER_WAY)})
             OR i.status = 'CLOSED' AND i.closed_at >= $4)`,
        [tx.employerId, run.accountId, run.id, shownTo],
      );
      if (!others?.ended_at || others.under_way) return 0;
      const waitMs = others.ended_at.getTime() - shownTo.getTime() + 1;
      return nowMs + waitMs < (await this.submitsBegin(tx, run)) ? waitMs : 0;
    });
  }

  /** When the submits of a run have to begin, in milliseconds, to end before the cut-off. */
  private async submitsBegin(tx: EmployerTransaction, run: PayRun): Promise<number> {
    const { ms } = await expectedSubmits(tx, run, this.config);
    return sendingCloses(run.executionDate, bankHours(this.config)).getTime() - ms;
  }

  /** The root hash computed from the rows themselves, and the parts whose rows are not those approved. */
  private async readRun(run: PayRun): Promise<{ computed: Buffer; tampered: PlannedInstruction[] }> {
    const planned = await this.database.inEmployer(run.employerId, (tx) => plannedInstructions(tx, run));
    const hashes: Buffer[] = [];
    for (const part of planned) {
      const rows = await this.database.inEmployer(run.employerId, (tx) =>
        payableRows(tx, this.personal, { planned: part }),
      );
      hashes.push(hashOfRows(rows));
    }
    const computed = await this.database.inEmployer(run.employerId, (tx) =>
      approvedHash(tx, this.personal, run, hashes),
    );
    return { computed, tampered: planned.filter((part, n) => hashes[n]?.equals(part.rowHash) !== true) };
  }

  /** Why the approval cannot be used: what was approved is not what stands, or who approved may not. */
  private async refusalOf(
    tx: EmployerTransaction,
    run: PayRun,
    computed: Buffer,
  ): Promise<Lapse | undefined> {
    if (!run.rootHash?.equals(computed))
      return { why: 'the account or terms of the run are not those that were approved', mend: 'amend' };
    const employer = await tx.manager.findOneByOrFail(Employer, { id: tx.employerId });
    const { length: standing } = await standingApprovals(tx, run);
    if (standing < employer.approvalsRequired)
      return { why: 'fewer approvals stand than its employer requires', mend: 'approve' };
    const byPeople = await lapseByPeople(tx, run);
    if (byPeople) return byPeople;
    const { ms } = await expectedSubmits(tx, run, this.config);
    const window = submitWindow(run, run.createdAt, this.clock.now(), bankHours(this.config), ms);
    const why = whyLapsed(window, 'cannot be met');
    return why === undefined ? undefined : { why, mend: 'amend' };
  }

  /**
   * Whether the account is ready and its available balance covers this run and what others have reserved on it, or two
   * people let the run go on without.
   */
  private async funded(
    tx: EmployerTransaction,
    claim: Claim,
    run: PayRun,
    atBank: BankAccount | undefined,
  ): Promise<boolean> {
    // As it is now: a probe while the run waited may have found no read by which a submit could be checked.
    const account = await readById(tx, EmployerAccount, run.accountId);
    const bankStatus = atBank?.status ?? account.bankStatus;
    if (notReady({ ...account, bankStatus }, this.config).length > 0) {
      await raiseUnusable(tx, run, this.config, bankStatus);
      return false;
    }
    await clear(tx, ['ACCOUNT_UNUSABLE'], [run.id, run.accountId], 'the account can be used');
    if (atBank === undefined) return true;
    const available = atBank.availableMinor;
    const charge = await this.highestCharge(tx, run);
    const reserved = await this.reservedByOthers(tx, run);
    const needed = run.totalMinor + reserved.amountMinor;
    const charges = charge * BigInt(run.rowCount + reserved.payments);
    const lackingMinor = available === undefined ? 0n : needed + charges - available;
    const isCovered = available === undefined || lackingMinor <= 0n;
    if (!isCovered && !(await isLetGoOnWithout(tx, run, lackingMinor))) {
      const coversAlone = available >= run.totalMinor + charge * BigInt(run.rowCount);
      if (coversAlone && (await awaitsHolds(tx, claim, reserved))) return false;
      const lack = available < needed ? NOT_COVERED : CHARGES_NOT_COVERED;
      await tellOfLack(tx, run, { lack, lackingMinor, since: await this.lastCall(tx, run) });
      return false;
    }
    isThere(tx, claim, MONEY);
    const resolution = isCovered
      ? 'the account is open and funded'
      : 'the account is open, and two people let the run go on';
    await clear(tx, ['LOW_BALANCE'], run.id, resolution);
    return true;
  }

  /**
   * What other runs on the account are about to take: all of a run that is being submitted, be it built again, and of
   * submitted payments those on which the bank has not placed its hold yet. What is overdue it has taken long ago, if it
   * ever does: a transfer within the bank may rest at SUBMITTED (States and transitions), its money gone, and would be
   * counted twice.
   */
  private async reservedByOthers(tx: EmployerTransaction, run: PayRun): Promise<Reserved> {
    const others = await tx.query<{ id: string; executionDate: string }>(
      `SELECT id, execution_date::text AS "executionDate" FROM pay_run
       WHERE employer_id = $1 AND account_id = ANY (${ONE_AT_BANK}) AND id <> $3 AND status IN ('SUBMITTING', 'FOLLOWING')`,
      [tx.employerId, run.accountId, run.id],
    );
    const today = localDate(this.clock.now(), this.config.BANK_TIME_ZONE);
    const closed = new Set(this.config.BANK_CLOSED_DAYS);
    const overdue = others.filter(({ executionDate }) => isOverdue(executionDate, today, closed));
    const [row] = await queryByHash<{ payments: number; reserved: string; submitted: string[] | null }>(
      tx,
      `SELECT count(*)::int AS payments, coalesce(sum(p.amount_minor), 0) AS reserved,
         array_agg(DISTINCT b.instruction_id) FILTER (WHERE p.status = 'SUBMITTED') AS submitted
       FROM payment p
       LEFT JOIN bank_payment b ON b.employer_id = $1 AND b.payment_id = p.id AND b.row_no = p.row_no
         AND b.instruction_id = ANY (ARRAY(
           SELECT id FROM instruction
           WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND pay_run_id <> ALL ($3) AND status = 'SUBMITTED'))
       WHERE p.employer_id = $1 AND p.pay_run_id = ANY ($2)
         AND (p.status IN ('APPROVED', 'AT_BANK') OR p.status = 'SUBMITTED' AND b.row_no IS NOT NULL AND b.bank_rank < $4)`,
      [tx.employerId, others.map(({ id }) => id), overdue.map(({ id }) => id), BANK_LADDER.PRO_DEBIT_HOLD],
    );
    return {
      payments: row?.payments ?? 0,
      amountMinor: BigInt(row?.reserved ?? 0),
      submitted: row?.submitted ?? [],
    };
  }

  /** The most the bank charged lately for one payment from the account, in minor units; 0 where it shows no charge. */
  private async highestCharge(tx: EmployerTransaction, run: PayRun): Promise<bigint> {
    const since = new Date(this.clock.now().getTime() - CHARGES_OF_DAYS * DAY_MS);
    const [row] = await tx.query<{ charge: string | null }>(
      `SELECT max(p.charges_minor) AS charge
       FROM pay_run r JOIN payment p ON p.employer_id = r.employer_id AND p.pay_run_id = r.id
       WHERE r.employer_id = $1 AND r.account_id = ANY (${ONE_AT_BANK}) AND r.execution_date >= $3::date`,
      [tx.employerId, run.accountId, since.toISOString().slice(0, 10)],
    );
    return BigInt(row?.charge ?? 0);
  }

  /** When its people are asked once more, before it is too late to let it go on; undefined before that. */
  private async lastCall(tx: EmployerTransaction, run: PayRun): Promise<Date | undefined> {
    const agoMs = this.clock.now().getTime() - ((await this.submitsBegin(tx, run)) - LAST_CALL_MS);
    if (agoMs < 0) return undefined;
    // Decisions bear the time of the database.
    const [row] = await tx.query<{ at: Date }>(
      `SELECT clock_timestamp() - make_interval(secs => $1::float8 / 1000) AS at`,
      [agoMs],
    );
    return row?.at;
  }

  private async open(
    tx: EmployerTransaction,
    run: PayRun,
    read: { balanceBeforeMinor: bigint | undefined; balanceAskedAt: Date; balanceReadAt: Date },
  ): Promise<void> {
    await moveRun(tx, run, 'SUBMITTING', 'service');
    await clear(tx, ['CONTRACT_DRIFT'], run.id, 'a later read followed the interface');
    // It says that nothing of the run is submitted.
    await clear(tx, ['DUE_BUT_WAITING'], run.id, 'the run passed its gate');
    await clearPaidAlready(tx, run.id);
    if (read.balanceBeforeMinor !== undefined)
      await tx.manager.update(PayRun, { employerId: tx.employerId, id: run.id }, read);
    const instructions = await tx.manager.findBy(Instruction, {
      employerId: tx.employerId,
      payRunId: run.id,
      status: 'VERIFIED',
    });
    wake(
      tx,
      'INSTRUCTION',
      instructions.map((one) => one.id),
    );
  }
}

/** The time by the clock of the database. */
async function timeOf(tx: EmployerTransaction): Promise<Date> {
  const [row] = await tx.query<{ at: Date }>('SELECT clock_timestamp() AS at');
  return row?.at ?? new Date(NaN);
}

/** Two runs of one account pass their gates one after the other: each counts what the other has reserved. */
async function lockAccount(tx: EmployerTransaction, run: PayRun): Promise<void> {
  await tx.query(
    `SELECT FROM employer_account WHERE employer_id = $1 AND id = ANY (${ONE_AT_BANK}) ORDER BY id FOR NO KEY UPDATE`,
    [tx.employerId, run.accountId],
  );
}

/** What other runs have reserved on an account, and their instructions whose payments the bank is not known to hold. */
interface Reserved {
  payments: number;
  amountMinor: bigint;
  submitted: string[];
}

/**
 * The bank may hold already what others reserve, so that it is counted twice until their payments are read: they are
 * read at once, and nobody is asked for so long.
 */
async function awaitsHolds(tx: EmployerTransaction, claim: Claim, { submitted }: Reserved): Promise<boolean> {
  if (missingForMs(tx, claim, MONEY) >= HOLDS_READ_MS) return false;
  wake(tx, 'FOLLOW', submitted);
  return true;
}

/** Whether two people let the run go on under this approval though it lacks so much: more they have not read of. */
async function isLetGoOnWithout(
  tx: EmployerTransaction,
  run: PayRun,
  lackingMinor: bigint,
): Promise<boolean> {
  return isConfirmed(
    tx,
    { kind: 'LOW_BALANCE', subjectId: run.id, action: 'GO_ON' },
    [await approvedVersion(tx, run), lackingMinor],
    'strpos(a.happened, $4) > 0 AND a.lacking_minor >= $5',
  );
}

/** Asks once under an approval, and at the last call: an amended run, or one that is approved anew, may lack money anew. */
async function tellOfLack(
  tx: EmployerTransaction,
  run: PayRun,
  { lack, lackingMinor, since }: { lack: string; lackingMinor: bigint; since: Date | undefined },
): Promise<void> {
  await raiseUndecided(tx, {
    kind: 'LOW_BALANCE',
    subjectId: run.id,
    payRunId: run.id,
    happened: `${lack} ${await approvedVersion(tx, run)} waits for it.`,
    payments: run.rowCount,
    amountMinor: run.totalMinor,
    lackingMinor,
    since,
  });
}
