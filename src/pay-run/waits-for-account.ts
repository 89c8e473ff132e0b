import { Config } from '../config/env';
import { readById } from '../database/by-id';
import { EmployerTransaction } from '../database/database';
import { PAY_RUN_GOING_ON } from '../domain/pay-run';
import { EmployerAccount } from '../employer/employer.entity';
import { ASK_BANK, notReady, type NotReady, OTHER_UNIT } from '../employer/readiness';
import { showId } from '../http/prefixed-id';
import { approvedVersion } from './approval';
import { clear, openAbout, raiseNaming } from './attention.store';
import { ATTENTION_WORDS, NOTHING_TO_ASK } from './attention-words';
import { PayRun } from './pay-run.entity';
import { unsentOf } from './unsent';

type Settings = Pick<Config, 'BANK_AMOUNT_UNIT'>;

/** Why a run waits for its account, and what to ask the bank about it; nothing where it can say nothing of it. */
interface Reason {
  code?: NotReady['code'];
  detail: string;
  askBank?: string;
}

const IS_IT_OPEN = ATTENTION_WORDS.ACCOUNT_UNUSABLE.askBank;

const NOT_SHOWN: Reason = { detail: 'the bank does not show it', askBank: IS_IT_OPEN };

function reasonOf({ code, detail }: NotReady): Reason {
  return { code, detail, askBank: code === 'ACCOUNT_NOT_OPENED' ? IS_IT_OPEN : ASK_BANK[code] };
}

/**
 * Tells people why a run waits for an account that is not ready; of one that is, or a run that does not go on, nothing.
 * @param run as it is locked in this transaction: what people give up meanwhile waits for nothing
 * @param account with its status as the bank gave it last
 */
export async function raiseNotReady(
  tx: EmployerTransaction,
  run: PayRun,
  account: EmployerAccount,
  config: Settings,
): Promise<void> {
  const reasons = notReady(account, config).map(reasonOf);
  if (reasons.length > 0) await raiseWaiting(tx, run, reasons);
}

/** As `raiseNotReady`, where the bank does not show the account. */
export async function raiseNotShown(tx: EmployerTransaction, run: PayRun, config: Settings): Promise<void> {
  const account = await readById(tx, EmployerAccount, run.accountId);
  await raiseWaiting(tx, run, [...notReady(account, config).map(reasonOf), NOT_SHOWN]);
}

const MID_RUN = ' waits in mid-run';

/** What is certain of a run that waits while it is being submitted. */
const IN_MID_RUN =
  'What of this run was submitted, or may have been, is not sent again. What is not submitted goes on by itself once the account can be used; what is not by the cut-off of its execution date becomes VOID, and its STALE_DATE says what can pay it.';

/** How much of a run waits: of one that is being submitted, what no submit may have left for. */
async function heldOf(tx: EmployerTransaction, run: PayRun) {
  const { status, rowCount, totalMinor } = run;
  if (status !== 'SUBMITTING') return { waits: ' waits', payments: rowCount, amountMinor: totalMinor };
  const unsent = await unsentOf(tx, run);
  // Both ways another number is told anew.
  return {
    waits: `${MID_RUN}, with ${unsent.payments} of its ${rowCount} payments,`,
    certain: IN_MID_RUN,
    ...unsent,
  };
}

/** The moment before which what was decided of such reasons says nothing of them; undefined where any decision holds. */
async function reasonsSince(
  tx: EmployerTransaction,
  run: PayRun,
  account: EmployerAccount,
  reasons: readonly Reason[],
): Promise<Date | undefined> {
  const isNotOpened = reasons.some(({ code }) => code === 'ACCOUNT_NOT_OPENED');
  const blockedAt = isNotOpened ? account.bankStatusAt : null;
  const rightAt = await rightUntil(tx, run, account, reasons);
  const moments = [blockedAt, rightAt].flatMap((moment) => moment?.getTime() ?? []);
  return moments.length === 0 ? undefined : new Date(Math.max(...moments));
}

/**
 * When the setting was right last, as far as the run shows: nothing of it is written, or moves on, under another one.
 * Undefined where it does not wait for that.
 */
async function rightUntil(
  tx: EmployerTransaction,
  { id }: PayRun,
  { unitConfirmedAt }: EmployerAccount,
  reasons: readonly Reason[],
): Promise<Date | undefined> {
  if (!reasons.some(({ detail }) => detail === OTHER_UNIT)) return undefined;
  const [row] = await tx.query<{ at: Date | null }>(
    `SELECT greatest($3::timestamptz,
       (SELECT max(at) FROM state_change WHERE employer_id = $1 AND pay_run_id = $2 AND subject = 'instruction'
         AND to_status IN ('BUILDING', 'VERIFIED', 'SUBMIT_INTENT')),
       (SELECT max(a.finished_at) FROM add_intent a WHERE a.employer_id = $1 AND a.instruction_id = ANY (ARRAY(
         SELECT i.id FROM instruction i WHERE i.employer_id = $1 AND i.pay_run_id = $2)))) AS at`,
    [tx.employerId, id, unitConfirmedAt],
  );
  return row?.at ?? undefined;
}

/**
 * Tells people once that a run waits for its account, and anew for another reason. What is decided of one run, or under
 * one approval, says nothing of the next; nor what is decided before its first submit of what is left after it, nor of an
 * account that was blocked then of one that is blocked again.
 */
async function raiseWaiting(tx: EmployerTransaction, run: PayRun, reasons: readonly Reason[]): Promise<void> {
  if (!PAY_RUN_GOING_ON.includes(run.status)) return;
  const version = await approvedVersion(tx, run, showId('run', run.id));
  const account = await readById(tx, EmployerAccount, run.accountId);
  const details = reasons.map(({ detail }) => detail);
  const asks = reasons.flatMap(({ askBank }) => askBank ?? []);
  const { waits, ...held } = await heldOf(tx, run);
  const alarm = {
    kind: 'ACCOUNT_UNUSABLE',
    subjectId: run.id,
    payRunId: run.id,
    bankReference: account.bankAccountId,
    happened: `${version}${waits} for its account ${showId('acc', account.id)}, which is not ready: ${details.join('; ')}.`,
    askBank: asks.length === 0 ? NOTHING_TO_ASK : [...new Set(asks)].join(' '),
    ...held,
    since: await reasonsSince(tx, run, account, reasons),
  } as const;
  const open = (await openAbout(tx, alarm))?.happened;
  // A reason that ended is told no more, nor is the bank asked about it.
  if (open !== undefined && open !== alarm.happened)
    await clear(tx, [alarm.kind], run.id, 'it waits for something else now: told anew');
  const phase = run.status === 'SUBMITTING' ? [MID_RUN] : [];
  await raiseNaming(tx, alarm, [version, ...phase, ...details]);
}

/** In words, of an account of which nothing is read that was submitted. */
export const NOT_FOLLOWED = ' is not followed at present: ';

/**
 * Tells people once, of an account, that nothing that was submitted from it is read: amounts would be read in another unit.
 * @param since moments before which what was decided of it says nothing of this
 */
export async function raiseNotFollowed(
  tx: EmployerTransaction,
  { id, unitConfirmedAt }: EmployerAccount,
  since: readonly (Date | null)[],
): Promise<void> {
  const moments = [unitConfirmedAt, ...since].map((moment) => moment?.getTime() ?? 0);
  const alarm = {
    kind: 'ACCOUNT_UNUSABLE',
    subjectId: id,
    happened: `What was submitted from account ${showId('acc', id)}${NOT_FOLLOWED}${OTHER_UNIT}.`,
    certain:
      'What was submitted is not sent again, and the bank goes on with it. Until the setting is right again nobody sees what becomes of it, or whether money of it comes back; it is followed by itself from then on.',
    askBank: NOTHING_TO_ASK,
    since: new Date(Math.max(...moments)),
  } as const;
  await raiseNaming(tx, alarm, [NOT_FOLLOWED]);
}

/** Closes what people are asked about an account, and about the runs that wait for it. */
export async function clearUnusable(
  tx: EmployerTransaction,
  accountId: string,
  resolution: string,
): Promise<void> {
  await tx.query(
    `UPDATE attention a SET resolved_at = clock_timestamp(), resolution = $3
     WHERE a.employer_id = $1 AND a.kind = 'ACCOUNT_UNUSABLE' AND a.resolved_at IS NULL
       AND (a.subject_id = $2 OR EXISTS (SELECT FROM pay_run r
         WHERE r.employer_id = $1 AND r.id = a.pay_run_id AND r.account_id = $2))`,
    [tx.employerId, accountId, resolution],
  );
}
