import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { words } from '../database/words';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { AskedLoss, AskedRecord, AskedRefusal, AskedRows, Attention } from './attention.entity';
import { SUCCESSOR_REFUSED } from './attention-actions';
import { ATTENTION_WORDS, AttentionAction, AttentionKind, HOLDS_NOTHING } from './attention-words';
import { Instruction, PlannedInstruction } from './instruction.entity';
import type { Totals } from './match';

/** A doubt or a refusal that a person must hear of. `happened` holds no name, IBAN or amount of a person. */
export interface Alarm {
  kind: AttentionKind;
  subjectId: string;
  happened: string;
  /** The bank's own on a refusal, masked; for whoever may see payments. */
  bankWords?: string;
  /** Where more, or less, is certain than the kind alone says. */
  certain?: string;
  /** What to ask the bank where it is not what the kind asks; `{ref}` as there. */
  askBank?: string;
  payRunId?: string;
  instructionId?: string;
  paymentId?: string;
  /** The bank's id of what it is about, for the question to the bank. */
  bankReference?: string | null;
  payments?: number;
  amountMinor?: bigint;
  /** Each record it is about, where the sum is theirs. */
  records?: AskedRecord[];
  /** Each difference it is about, in words that tell it from others. */
  differing?: readonly string[] | null;
  /** Each refusal of our access it is about. */
  refusals?: AskedRefusal[];
  /** The rows it is about, by the status of each: others are another question, though no more of them. */
  askedRows?: readonly AskedRows[];
  /** What the balance falls short by, before a submit with charges to be expected: that more lacks is another question. */
  lackingMinor?: bigint;
  /** What the bank shows, or seems to have paid, beyond the approved payments; negative where it is less. */
  beyond?: Totals;
  /** The loss of its account that others are asked of too. */
  loss?: AskedLoss;
  /** Whether another amount is another question: `happened` cannot tell the two apart. */
  isAboutSum?: boolean;
  /** Whether more payments, or more money, than was told is another question: who decides must have read of all. */
  isAboutAll?: boolean;
  /** When it began, where what was decided of one before is another question. */
  since?: Date | null;
}

/** How what was asked about open payments is resolved once none is, by whatever end. */
export const ALL_ENDED = 'every payment reached its end';

/** What an alarm about an instruction says of it; with its plan, that it holds up all its payments. */
export function aboutInstruction(
  { id, payRunId, bankInstructionId }: Pick<Instruction, 'id' | 'payRunId' | 'bankInstructionId'>,
  planned?: Pick<PlannedInstruction, 'rowCount' | 'totalMinor'>,
) {
  return {
    subjectId: id,
    payRunId,
    instructionId: id,
    bankReference: bankInstructionId,
    payments: planned?.rowCount,
    amountMinor: planned?.totalMinor,
  };
}

/** How an instruction differs from what was approved: asked of its plan once it is given up, unless its run is stopped for it. */
const DIFFERENCES: readonly AttentionKind[] = ['ECHO_MISMATCH', 'FOREIGN_RECORD'];

/**
 * Whether something of a run that is not sent may wait for the answer to the attention `a`: not where it asks about an
 * instruction that was sent or given up, which holds back no other, or why a successor was refused. What else is asked of
 * a planned one outlives its attempts.
 */
export const MAY_HOLD = `(a.kind NOT IN (${words(HOLDS_NOTHING)})
  AND NOT (a.kind = 'REPLACED_UNSEEN' AND starts_with(a.happened, '${SUCCESSOR_REFUSED}'))
  AND NOT EXISTS (SELECT FROM instruction i
    WHERE i.employer_id = a.employer_id AND i.id = a.instruction_id AND i.status NOT IN (${words(INSTRUCTION_UNSENT)})
      AND (i.planned_instruction_id <> a.subject_id OR a.kind IN (${words(DIFFERENCES)}))))`;

/**
 * Whether what is stopped stays so while the attention `a` is open: not for how an instruction differs that is being built,
 * or was given up before its run was submitted, which stopped nothing.
 */
export const KEEPS_STOPPED = `NOT (a.kind IN (${words(DIFFERENCES)}) AND EXISTS (SELECT FROM instruction i
    WHERE i.employer_id = a.employer_id AND i.id = a.instruction_id
      AND (i.planned_instruction_id = a.subject_id OR i.status IN (${words(INSTRUCTION_UNSENT)}))))`;

/** Opens an attention, unless the same one is open already. */
export async function raise(tx: EmployerTransaction, alarm: Alarm): Promise<void> {
  const words = ATTENTION_WORDS[alarm.kind];
  await tx.manager
    .createQueryBuilder()
    .insert()
    .into(Attention)
    .values({
      employerId: tx.employerId,
      id: newId(),
      kind: alarm.kind,
      subjectId: alarm.subjectId,
      payRunId: alarm.payRunId ?? null,
      instructionId: alarm.instructionId ?? null,
      paymentId: alarm.paymentId ?? null,
      happened: alarm.happened,
      bankWords: alarm.bankWords ?? null,
      certain: alarm.certain ?? words.certain,
      askBank: (alarm.askBank ?? words.askBank).replaceAll('{ref}', alarm.bankReference ?? 'of this run'),
      payments: alarm.payments ?? 0,
      amountMinor: alarm.amountMinor ?? 0n,
      lackingMinor: alarm.lackingMinor ?? null,
      records: alarm.records ?? null,
      differing: alarm.differing ?? null,
      refusals: alarm.refusals ?? null,
      askedRows: alarm.askedRows ?? null,
      beyondPayments: alarm.beyond?.count ?? null,
      beyondMinor: alarm.beyond?.totalMinor ?? null,
      loss: alarm.loss ?? null,
      // What the same work found before was there before it was asked about.
      openedAt: () => 'clock_timestamp()',
    })
    .orIgnore()
    .updateEntity(false)
    .execute();
}

function jsonOf(rows: readonly AskedRows[] | undefined): string | null {
  return rows ? JSON.stringify(rows) : null;
}

/** In SQL, each row of what `askedRows` has at `json`, with its status. */
function rowsIn(json: string): string {
  return `SELECT status, row_no FROM jsonb_to_recordset(${json}) AS g(status text, rows int[]), unnest(rows) AS row_no`;
}

/** In SQL, whether a question that asked about the rows at `told` asked about all at `now`, each by its status. */
function isToldOfAll(now: string, told: string): string {
  return `NOT EXISTS (${rowsIn(now)} EXCEPT ${rowsIn(told)})`;
}

/** In SQL, for how long a question stays as it was told where others, no more of them, took the place of some rows. */
const TOLD_FOR = `interval '10 minutes'`;

/** In minor units; null where another sum is no other question. */
function sumAsked({ isAboutSum, amountMinor }: Pick<Alarm, 'isAboutSum' | 'amountMinor'>): bigint | null {
  return isAboutSum ? (amountMinor ?? 0n) : null;
}

/**
 * Whether two people have decided the same thing, told in the same words: what lasts is not asked again. Where some words
 * matter, it is the same while those are, and no more payments than were decided; what ended some of them decided no other,
 * nor did the bank's word on what it did not show, nor that a run goes on though it lacks so much.
 */
export async function isDecided(
  tx: EmployerTransaction,
  alarm: Alarm,
  words: readonly string[] = [],
): Promise<boolean> {
  const { kind, subjectId, happened, payments = 0 } = alarm;
  const decided = await tx.query(
    `SELECT FROM attention a JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
     WHERE a.employer_id = $1 AND a.kind = $2 AND a.subject_id = $3
       AND (a.happened = $4 AND (a.payments >= $6 OR NOT $10) OR cardinality($5::text[]) > 0 AND a.payments >= $6 AND d.action IN ('ACKNOWLEDGE', 'RESUME')
         AND NOT EXISTS (SELECT FROM unnest($5::text[]) AS word WHERE strpos(a.happened, word) = 0))
       AND (a.kind <> 'REPLACED_UNSEEN' OR d.action <> 'NOT_PAID') AND d.action <> 'GO_ON'
       AND a.resolved_at IS NOT NULL AND d.confirmed_at IS NOT NULL AND ($7::bigint IS NULL OR a.amount_minor = $7)
       AND ($8::timestamptz IS NULL OR d.confirmed_at >= $8) AND ($9::bigint IS NULL OR a.lacking_minor >= $9)
       AND ($11::jsonb IS NULL OR a.asked_rows IS NULL OR ${isToldOfAll('$11', 'a.asked_rows')})
     LIMIT 1`,
    [
      tx.employerId,
      kind,
      subjectId,
      happened,
      words,
      payments,
      sumAsked(alarm),
      alarm.since ?? null,
      alarm.lackingMinor ?? null,
      alarm.isAboutAll ?? false,
      jsonOf(alarm.askedRows),
    ],
  );
  return decided.length > 0;
}

/** An action, by which two people answer a question of a kind about a subject. */
interface Answer extends Pick<Alarm, 'kind' | 'subjectId'> {
  action: AttentionAction;
}

/**
 * Whether two people have answered so a question that told of something.
 * @param isOfIt in SQL, whether the attention `a` told of that, and their action `d` rests on it, by the parameters from $4 on
 */
export async function isConfirmed(
  tx: EmployerTransaction,
  { kind, subjectId, action }: Answer,
  parameters: readonly unknown[],
  isOfIt: string,
): Promise<boolean> {
  const decided = await tx.query(
    `SELECT FROM attention a JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
     WHERE a.employer_id = $1 AND a.kind = $2 AND a.subject_id = $3 AND a.resolved_at IS NOT NULL
       AND d.action = '${action}' AND d.confirmed_at IS NOT NULL AND (${isOfIt})
     LIMIT 1`,
    [tx.employerId, kind, subjectId, ...parameters],
  );
  return decided.length > 0;
}

/** What an open attention asks, and what it is about. */
export type Open = Pick<
  Attention,
  'payRunId' | 'instructionId' | 'happened' | 'certain' | 'askBank' | 'records' | 'differing' | 'refusals'
>;

/** The open attention about the same; undefined where none is open. */
export async function openAbout(
  tx: EmployerTransaction,
  { kind, subjectId }: Pick<Alarm, 'kind' | 'subjectId'>,
): Promise<Open | undefined> {
  const [open] = await tx.query<Open>(
    `SELECT pay_run_id AS "payRunId", instruction_id AS "instructionId", happened, certain, ask_bank AS "askBank",
       records, differing, refusals
     FROM attention WHERE employer_id = $1 AND kind = $2 AND subject_id = $3 AND resolved_at IS NULL`,
    [tx.employerId, kind, subjectId],
  );
  return open;
}

/** Opens an attention about what every read shows again as long as it lasts, unless it is decided. */
export async function raiseUndecided(tx: EmployerTransaction, alarm: Alarm): Promise<void> {
  await raiseNaming(tx, alarm, []);
}

/**
 * As `raiseUndecided`, and anew where the open one lacks one of the words that matter: who decides must have read all of
 * them, so what was proposed on the former goes with it. Where others took the place of some rows it is told anew after a
 * while only: many may just pass, and what was not told of is not decided.
 * @param until when it is asked no more: a decision may end what it was about, so that what is left was not decided
 */
export async function raiseNaming(
  tx: EmployerTransaction,
  alarm: Alarm,
  words: readonly string[],
  until: 'decided' | 'over' = 'decided',
): Promise<void> {
  // Before the decisions: two people may decide what is open at this moment, and it must not be asked once more.
  const open = await tx.query<{ names_all: boolean }>(
    `SELECT NOT EXISTS (SELECT FROM unnest($4::text[]) AS word WHERE strpos(happened, word) = 0)
       AND ($5::bigint IS NULL OR amount_minor = $5)
       AND ($6::bigint IS NULL OR payments >= $6 AND amount_minor >= $7)
       AND ($8::bigint IS NULL OR lacking_minor >= $8)
       AND ($9::jsonb IS NULL OR asked_rows IS NOT NULL
         AND (opened_at > clock_timestamp() - ${TOLD_FOR} OR ${isToldOfAll('$9', 'asked_rows')})) AS names_all
     FROM attention WHERE employer_id = $1 AND kind = $2 AND subject_id = $3 AND resolved_at IS NULL`,
    [
      tx.employerId,
      alarm.kind,
      alarm.subjectId,
      words,
      sumAsked(alarm),
      alarm.isAboutAll ? (alarm.payments ?? 0) : null,
      alarm.amountMinor ?? 0n,
      alarm.lackingMinor ?? null,
      jsonOf(alarm.askedRows),
    ],
  );
  if (open.some((one) => one.names_all)) return;
  if (until === 'decided' && (await isDecided(tx, alarm, words))) return;
  await (open.length > 0 ? raiseAnew(tx, alarm) : raise(tx, alarm));
}

/** Opens an attention in the place of what is open about the same: there is more to it. */
export async function raiseAnew(tx: EmployerTransaction, alarm: Alarm): Promise<void> {
  await clear(tx, [alarm.kind], alarm.subjectId, 'there is more to it: told anew');
  await raise(tx, alarm);
}

/** In SQL, the subject of what is asked of a month of a schedule, of which there need not be a run. */
export function monthOfSchedule(scheduleId: string, period: string): string {
  return `md5(${scheduleId}::text || ${period})::uuid`;
}

/** Closes what evidence has cleared. */
export async function clear(
  tx: EmployerTransaction,
  kinds: readonly AttentionKind[],
  subjectIds: string | readonly string[],
  resolution: string,
): Promise<void> {
  await tx.query(
    `UPDATE attention SET resolved_at = clock_timestamp(), resolution = $4
     WHERE employer_id = $1 AND kind = ANY ($2) AND subject_id = ANY ($3) AND resolved_at IS NULL`,
    [tx.employerId, kinds, [subjectIds].flat(), resolution],
    'kept',
  );
}

/** Closes what is asked by a kind, but about the subjects of which it lasts. */
export async function clearOthers(
  tx: EmployerTransaction,
  kind: AttentionKind,
  lasting: readonly string[],
  resolution: string,
): Promise<void> {
  await tx.query(
    `UPDATE attention SET resolved_at = clock_timestamp(), resolution = $4
     WHERE employer_id = $1 AND kind = $2 AND subject_id <> ALL ($3) AND resolved_at IS NULL`,
    [tx.employerId, kind, lasting, resolution],
  );
}

/** What is asked about one attempt to build an instruction: pointless once it is verified, given up or released. */
const OF_ATTEMPT: readonly AttentionKind[] = [
  'ROW_REFUSED_BY_BANK',
  'ROW_REFUSED_IN_MID_RUN',
  'INITIATE_REFUSED',
  'ROW_UNSEEN',
];

/** Closes what is asked about building an instruction, but for one question. */
export function clearAttempt(
  tx: EmployerTransaction,
  instructionId: string,
  resolution: string,
  exceptId: string | null = null,
): Promise<void> {
  return clearOf(tx, OF_ATTEMPT, instructionId, resolution, exceptId);
}

/** Closes what is asked about an instruction, whatever its subject, but for one question. */
export async function clearOf(
  tx: EmployerTransaction,
  kinds: readonly AttentionKind[],
  instructionId: string,
  resolution: string,
  exceptId: string | null = null,
): Promise<void> {
  await tx.query(
    `UPDATE attention SET resolved_at = clock_timestamp(), resolution = $3
     WHERE employer_id = $1 AND instruction_id = $2 AND id IS DISTINCT FROM $4
       AND kind = ANY ($5) AND resolved_at IS NULL`,
    [tx.employerId, instructionId, resolution, exceptId, kinds],
  );
}

/**
 * What is asked about an instruction that is being built: pointless once the run was amended, cancelled or ended. An
 * ECHO_MISMATCH is not: what the bank showed otherwise than it was sent may have been changed there, whatever was paid.
 */
const WHILE_BUILDING: readonly AttentionKind[] = [
  'ROW_REFUSED_BY_BANK',
  'ROW_REFUSED_IN_MID_RUN',
  'INITIATE_REFUSED',
  'REBUILD_LIMIT',
];

/** What a run itself is asked about while it waits, as for its account or at its gate, and nothing of it is submitted. */
const AT_THE_GATE: readonly AttentionKind[] = [
  'LOW_BALANCE',
  'ACCOUNT_UNUSABLE',
  'REPLACED_UNSEEN',
  'DUE_BUT_STOPPED',
  'DUE_BUT_WAITING',
  'CONTRACT_DRIFT',
];

/** What it is asked about besides: pointless for the same reasons as what is asked about building it. */
const OF_RUN: readonly AttentionKind[] = [...AT_THE_GATE, 'POSSIBLE_DUPLICATE_PAY'];

/** Closes what a run is asked about while nothing of it is submitted. What lasts of that is told anew of a part of it. */
export function clearGate(tx: EmployerTransaction, payRunId: string, resolution: string): Promise<void> {
  return clear(tx, AT_THE_GATE, payRunId, resolution);
}

/** Closes the questions about building a run, and about its gate, that nobody needs to answer any more. */
export async function clearBuilding(
  tx: EmployerTransaction,
  payRunId: string,
  resolution: string,
): Promise<void> {
  await tx.query(
    `UPDATE attention SET resolved_at = clock_timestamp(), resolution = $4
     WHERE employer_id = $1 AND pay_run_id = $2 AND resolved_at IS NULL
       AND (kind = ANY ($3) OR kind = ANY ($5) AND subject_id = $2)`,
    [tx.employerId, payRunId, WHILE_BUILDING, resolution, OF_RUN],
  );
}
