import { type NotAllowed, NoReadAllowed } from '../bank/errors';
import { EmployerTransaction } from '../database/database';
import { withoutUnstorable } from '../domain/storable-text';
import type { EmployerAccount } from '../employer/employer.entity';
import type { AskedRefusal } from '../pay-run/attention.entity';
import { openAbout, raise, raiseAnew } from '../pay-run/attention.store';
import { NOTHING_TO_ASK } from '../pay-run/attention-words';
import { ENDED, IS_WATCHED } from '../pay-run/ended-reads';
import type { Instruction } from '../pay-run/instruction.entity';
import type { PayRun } from '../pay-run/pay-run.entity';
import { accessRefused } from '../pay-run/refused-access';
import { isAccessLetGoOn } from '../pay-run/stop';
import { named } from '../pay-run/stop-successors';
import type { Followed } from './followed';

const HIDDEN = 'The bank refuses to show instructions of this run that have ended';

const UNASKED = 'Instructions of this run that have ended are not read any more';

const SINCE_DETACHED = `${UNASKED}: when their account was last probed, no read of its payments was found to be allowed, and it is detached since, so that no probe can find another.`;

const UNREAD = 'Instructions of this run that have ended could not be read in full for a day';

const UNRECORDED =
  'What the bank shows of instructions of this run that have ended could not be recorded for a day';

const OUR_DEFECT = 'that is a defect of this service, of which its log tells';

/** Why an ended instruction is not read, and how that begins: what begins so is told once for its run. */
interface Obstacle {
  isHidden: boolean;
  happened: string;
  beginning: string;
}

/**
 * What ended is not shown any more, or not asked for: told once for its run, and no reason to stop what others are paid by.
 */
export async function tellOfHidden(
  tx: EmployerTransaction,
  followed: Followed,
  refusal: NotAllowed,
): Promise<void> {
  if (!(refusal instanceof NoReadAllowed)) {
    const happened = `${HIDDEN}: ${refusal.message}.`;
    return tellOf(tx, followed, { isHidden: true, happened, beginning: HIDDEN });
  }
  // The bank was not asked and may show them; of a detached account no probe finds that out.
  const { detachedAt } = followed.account;
  const happened = detachedAt === null ? `${UNASKED}: ${refusal.message}.` : SINCE_DETACHED;
  return tellOf(tx, followed, { isHidden: true, happened, beginning: happened });
}

/**
 * Our access is refused to what ended, at every read as long as it lasts: stops the employer, unless two people let it go on
 * after they were told of that refusal, since which this was not read.
 */
export async function tellOfRefused(
  tx: EmployerTransaction,
  { run, instruction }: Pick<Followed, 'run' | 'instruction'>,
  happened: string,
): Promise<void> {
  if (await isLetGoOn(tx, instruction, happened)) return;
  await accessRefused(tx, run, instruction, happened);
}

function isLetGoOn(tx: EmployerTransaction, { id }: Instruction, happened: string): Promise<boolean> {
  const told = { isHidden: false, words: withoutUnstorable(happened) };
  return isAccessLetGoOn(
    tx,
    [JSON.stringify([told]), id, ENDED],
    `a.refusals @> $4::jsonb AND a.resolved_at >= (
       SELECT missing_since FROM lease WHERE subject_id = $5 AND kind = 'FOLLOW' AND missing = $6)`,
  );
}

/**
 * What ended cannot be read, for whatever reason: asked once for its run, naming one instruction, however many are not,
 * and stops nobody.
 * @param why undefined where a defect of ours is the obstacle: the bank is asked nothing for it
 */
export async function tellOfUnread(tx: EmployerTransaction, followed: Followed, why?: string): Promise<void> {
  const beginning = why === undefined ? UNRECORDED : UNREAD;
  const suchAs = named(followed.instruction.bankInstructionId);
  const happened = `${beginning}, such as ${suchAs}: ${why ?? OUR_DEFECT}.`;
  return tellOf(tx, followed, { isHidden: false, happened, beginning });
}

/** All that keeps ended instructions of a run from being read is one question, told anew where there is more to it. */
async function tellOf(
  tx: EmployerTransaction,
  { run, account, instruction }: Followed,
  { isHidden, happened, beginning }: Obstacle,
): Promise<void> {
  const open = await openAbout(tx, { kind: 'ROW_UNSEEN', subjectId: run.id });
  const mine = { runId: run.id, instructionId: instruction.id, isHidden, words: happened };
  const isOurs = (words: string) => words.startsWith(UNRECORDED);
  const isMine = (one: AskedRefusal) =>
    one.instructionId === mine.instructionId &&
    one.isHidden === isHidden &&
    isOurs(one.words) === isOurs(happened);
  const isSaid = (words: string) => words.startsWith(beginning);
  const before = open?.refusals?.find(isMine);
  const others = (await stillUnread(tx, open?.refusals ?? [])).filter((one) => !isMine(one));
  const told = before === undefined ? others : [...others, before];
  const isTold = open?.refusals ? told.some(({ words }) => isSaid(words)) : isSaid(open?.happened ?? '');
  if (isTold && (before === undefined || isSaid(before.words))) return;
  if (!isTold && (await isDecidedOf(tx, run.id, beginning))) return;
  const refusals = [...others, mine];
  const allHappened = [...new Set(refusals.map(({ words }) => words))].join(' ');
  if (open?.happened === allHappened) return;
  const alarm = {
    kind: 'ROW_UNSEEN',
    subjectId: run.id,
    payRunId: run.id,
    happened: allHappened,
    certain:
      'Nothing more is sent for them. While they are not read in full, nobody sees whether money of them moves or comes back.',
    askBank: askOf(refusals, account),
    payments: run.rowCount,
    amountMinor: run.totalMinor,
    refusals,
  } as const;
  await (open === undefined ? raise(tx, alarm) : raiseAnew(tx, alarm));
}

/**
 * Whether people decided it since ended instructions of the run that are watched are missing: that stands for so long, and
 * is asked anew should they be missing again.
 */
async function isDecidedOf(tx: EmployerTransaction, runId: string, beginning: string): Promise<boolean> {
  const decided = await tx.query(
    `SELECT FROM attention a WHERE a.employer_id = $1 AND a.kind = 'ROW_UNSEEN' AND a.subject_id = $2
       AND strpos(a.happened, $3) > 0 AND a.resolved_at >= (
         SELECT min(l.missing_since) FROM lease l
         JOIN instruction i ON i.employer_id = l.employer_id AND i.id = l.subject_id
         WHERE i.employer_id = $1 AND i.pay_run_id = $2 AND l.kind = 'FOLLOW' AND l.missing = $4 AND ${IS_WATCHED})
       AND EXISTS (SELECT FROM attention_action d
         WHERE d.employer_id = a.employer_id AND d.attention_id = a.id AND d.confirmed_at IS NOT NULL)
     LIMIT 1`,
    [tx.employerId, runId, beginning, ENDED],
  );
  return decided.length > 0;
}

/** Without those of instructions that could be read since. */
async function stillUnread(
  tx: EmployerTransaction,
  told: readonly AskedRefusal[],
): Promise<readonly AskedRefusal[]> {
  if (told.length === 0) return told;
  const missing = await tx.query<{ id: string }>(
    `SELECT subject_id AS id FROM lease
     WHERE employer_id = $1 AND subject_id = ANY ($2) AND kind = 'FOLLOW' AND missing = $3`,
    [tx.employerId, told.map(({ instructionId }) => instructionId), ENDED],
  );
  return told.filter(({ instructionId }) => missing.some(({ id }) => id === instructionId));
}

/** What the bank is asked about all of it. */
function askOf(told: readonly AskedRefusal[], account: EmployerAccount): string {
  const all = told.map(({ words }) => questionOn(words, account)).filter((one) => one !== undefined);
  return all.length === 0 ? NOTHING_TO_ASK : [...new Set(all)].join(' ');
}

/** Undefined where the bank was not asked, and may be, or where it answered. */
function questionOn(words: string, { bankAccountId }: EmployerAccount): string | undefined {
  if (words.startsWith(HIDDEN))
    return 'Why are instructions of ours not shown any more, and did anything of them move since?';
  if (words === SINCE_DETACHED)
    return `Did anything move of our instructions from account ${bankAccountId} since they ended, and does money of them come back? We do not read them any more.`;
  if (words.startsWith(UNASKED) || words.startsWith(UNRECORDED)) return undefined;
  const suchAs = words.slice(UNREAD.length, words.indexOf(': '));
  return `Why can instructions of ours${suchAs}, not be read any more in full, and did anything of them move since?`;
}

/**
 * Closes what `tellOfHidden` and `tellOfUnread` asked once every ended instruction of the run could be read again.
 * @param instructionId which of them was read now
 */
export async function nowRead(tx: EmployerTransaction, run: PayRun, instructionId: string): Promise<void> {
  // One sweep answers several at once: who comes second sees that the first can be read.
  await tx.query(
    `SELECT FROM attention WHERE employer_id = $1 AND kind = 'ROW_UNSEEN' AND subject_id = $2 AND resolved_at IS NULL
     FOR NO KEY UPDATE`,
    [tx.employerId, run.id],
  );
  await tx.query(
    `UPDATE attention SET resolved_at = clock_timestamp(), resolution = 'the bank could be read again'
     WHERE employer_id = $1 AND kind = 'ROW_UNSEEN' AND subject_id = $2 AND resolved_at IS NULL
       AND EXISTS (SELECT FROM unnest($3::text[]) AS told WHERE starts_with(happened, told)) AND NOT EXISTS (
         SELECT FROM lease l JOIN instruction i ON i.employer_id = l.employer_id AND i.id = l.subject_id
         WHERE i.employer_id = $1 AND i.pay_run_id = $2 AND i.id <> $5 AND l.kind = 'FOLLOW' AND l.missing = $4)`,
    [tx.employerId, run.id, [UNREAD, HIDDEN, UNASKED, UNRECORDED], ENDED, instructionId],
  );
}
