import { Inject, Injectable, Logger } from '@nestjs/common';
import { BankClient } from '../bank/client';
import type { Product } from '../bank/schema';
import { PATHS } from '../bank/types';
import { Clock } from '../config/clock';
import { describeError } from '../config/describe-error';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { checkName } from '../domain/latin';
import { Problem } from '../http/problem';
import { Attachment, NewAccount } from './attachment';
import { BankCalls, bodyHashOf, IntendedCall } from './bank-calls';
import { askBank, asRefusal, refusalProblem, saidInDoubt } from './bank-problem';
import { Employer, EmployerAccount } from './employer.entity';

/** The bank lists a handful of products; a list for a person ends somewhere. */
const MAX_PRODUCTS = 200;
/** After so long an opening without an answer is on the bank's list, or never was. */
const DOUBT_LASTS = '7 days';
/** Two clicks of one person come closer together than two accounts of a kind are wanted. */
const DOUBLE_CLICK = '10 seconds';

/** No user or product, or one that may have no such account. */
const REFUSALS = [404, 409, 410, 412];

/** What a person asks for. Ids are the bank's, digits only; `debtorName` is the employer's name unless given. */
export interface WantedAccount {
  readonly bankUserId: string;
  readonly productId: string;
  readonly debtorName?: string;
  /** Where it is not the user's id. */
  readonly bankIdentityId?: string;
  /** The person has looked at the bank's list: an earlier opening without an answer did not open an account. */
  readonly lookedAtList: boolean;
}

/**
 * What became of an opening. `opened`: the account exists at the bank but could not be attached, which is tried
 * again by its id. `in-doubt`: nobody can tell; the list shows the account once it exists.
 */
export type Opening =
  | { kind: 'attached'; account: EmployerAccount }
  | { kind: 'opened'; bankAccountId: string }
  | { kind: 'in-doubt'; why: string };

/** Opens accounts at the bank for the users of employers; an opening is sent once and never repeated by itself. */
@Injectable()
export class AccountOpening {
  private readonly logger = new Logger(AccountOpening.name);

  constructor(
    private readonly database: Database,
    private readonly client: BankClient,
    private readonly calls: BankCalls,
    private readonly attachment: Attachment,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** What the bank offers (Products and accounts). @throws Problem 502, 503 */
  products(): Promise<Product[]> {
    return askBank(async () => {
      const products: Product[] = [];
      for await (const product of this.client.products.list()) {
        products.push(product);
        if (products.length === MAX_PRODUCTS) break;
      }
      return products;
    });
  }

  /**
   * @throws Problem 409 `OPENING_IN_DOUBT`, `ACCOUNT_JUST_OPENED`, 422 `BANK_REFUSED` with the bank's own words (KYC
   * not completed, non-Latin characters), 422 `DEBTOR_NAME_NEEDED`, 502, 503
   */
  async open(employerId: string, personId: string, wanted: WantedAccount): Promise<Opening> {
    const debtorName = wanted.debtorName ?? (await this.nameOf(employerId));
    const call: IntendedCall = {
      employerId,
      subjectId: newId(this.clock.now().getTime()),
      operation: 'open_account',
      target: PATHS.userAccounts(wanted.bankUserId),
      body: `{"productId":${wanted.productId}}`,
    };
    // By the time that another is taken for none that is under way, it has left and was answered, or never leaves.
    const { BANK_TIMEOUT_MS: maxQueueMs } = this.config;
    const leaving = { mayLeave: this.clock.within(maxQueueMs), maxQueueMs };
    const { accounts } = this.client;
    const outcome = await this.calls.recorded(
      call,
      async () => asRefusal(await accounts.create(wanted.bankUserId, wanted.productId, leaving), REFUSALS),
      (tx) => this.refuseBesideAnother(tx, call, wanted.lookedAtList),
    );
    if (outcome.kind === 'in-doubt') return { kind: 'in-doubt', why: saidInDoubt(outcome) };
    if (outcome.kind === 'no') throw refusalProblem(outcome, 'The bank did not open the account');
    const { bankIdentityId } = wanted;
    return this.attach(employerId, personId, { bankAccountId: outcome.value.id, debtorName, bankIdentityId });
  }

  /**
   * One opening at a time: the lock is held until the intent is committed, so that whoever comes next finds it. Who
   * looked at the list cannot have seen what is under way, nor what the list need not have shown yet.
   */
  private async refuseBesideAnother(
    tx: EmployerTransaction,
    call: IntendedCall,
    lookedAtList: boolean,
  ): Promise<void> {
    const { BANK_TIMEOUT_MS, BANK_LAG_BOUND_MS } = this.config;
    const bodyHash = bodyHashOf(call);
    const lock = ['open_account', tx.employerId, call.target, bodyHash.toString('hex')].join(' ');
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [lock]);
    const [found] = await tx.query<{ opened: boolean }>(
      `SELECT outcome IS NOT DISTINCT FROM 'YES' AS opened FROM bank_call
       WHERE employer_id = $1 AND operation = $2 AND target = $3 AND body_hash = $4
         AND intended_at > clock_timestamp() - $5::interval
         AND CASE WHEN outcome IS NULL THEN NOT $7 OR intended_at > clock_timestamp() - make_interval(secs => $8)
                  WHEN outcome = 'IN_DOUBT' THEN NOT $7 OR finished_at > clock_timestamp() - make_interval(secs => $9)
                  ELSE outcome = 'YES' AND NOT $7 AND finished_at > clock_timestamp() - $6::interval END
       ORDER BY opened LIMIT 1`,
      [
        tx.employerId,
        call.operation,
        call.target,
        bodyHash,
        DOUBT_LASTS,
        DOUBLE_CLICK,
        lookedAtList,
        (2 * BANK_TIMEOUT_MS + BANK_LAG_BOUND_MS) / 1_000,
        BANK_LAG_BOUND_MS / 1_000,
      ],
    );
    if (found !== undefined) throw found.opened ? justOpened() : inDoubt();
  }

  /** What fails from here on must not look like a failed opening: the account is there. */
  private async attach(employerId: string, personId: string, wanted: NewAccount): Promise<Opening> {
    try {
      return { kind: 'attached', account: await this.attachment.attach(employerId, personId, wanted) };
    } catch (error) {
      if (!(error instanceof Problem))
        this.logger.error({ message: 'an opened account was not attached', error: describeError(error) });
      return { kind: 'opened', bankAccountId: wanted.bankAccountId };
    }
  }

  private async nameOf(employerId: string): Promise<string> {
    const { name } = await this.database.inEmployer(employerId, (tx) =>
      tx.manager.findOneByOrFail(Employer, { id: employerId }),
    );
    const checked = checkName(name);
    if (checked.ok && !checked.changed) return name;
    const detail = "The employer's name has characters that SEPA banks do not take: give a debtorName.";
    throw new Problem(422, 'DEBTOR_NAME_NEEDED', detail);
  }
}

function justOpened(): Problem {
  const detail =
    'Such an account was opened a moment ago. To have another one, ask again with lookedAtList, or a little later.';
  return new Problem(409, 'ACCOUNT_JUST_OPENED', detail);
}

function inDoubt(): Problem {
  const detail =
    'An earlier opening of such an account is under way or was not answered clearly. Look at bank-accounts whether it is there; if it is not, ask again a little later with lookedAtList.';
  return new Problem(409, 'OPENING_IN_DOUBT', detail);
}
