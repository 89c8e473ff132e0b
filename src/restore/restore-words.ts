import { mayBeSubmitted } from '../domain/bank-status';
import { textOfFirstFew } from '../domain/first-few';
import { showId } from '../http/prefixed-id';
import { isListWhole, type Sweep, type Unknown } from './restore-sweep';

/** What the bank shows of an employer and a restored database had forgotten. */
export interface Finding extends Omit<Unknown, 'debtorIban'> {
  /** The run it is of; null for a run the database does not know either. */
  payRunId: string | null;
  /** Why it was not taken back into the record; undefined where it was, or belongs to no run. */
  refusal: string | undefined;
  /** Whether its run can be neither approved nor cancelled any more. */
  isPast?: boolean;
}

/**
 * Whether it is kept as forgotten, so that its run sends nothing more before it is taken back or decided: it was submitted,
 * or no document names its status.
 */
export function isKept({ status }: Finding): boolean {
  return mayBeSubmitted(status);
}

/** What a restore holds back, by ids. */
export interface HeldByRestore {
  /** At the bank, of instructions that are not submitted in the record, and that the bank lets nobody read, or has no more. */
  hidden: readonly string[];
  /** The runs that stay stopped, since they, or others in their place, may have been submitted and forgotten. */
  older: readonly string[];
  /** The runs whose rest stays stopped, since what was submitted of them may be of a version that was forgotten. */
  inPart: readonly string[];
  /** The runs whose approvals have lapsed, since what people decided of them may be forgotten. */
  lapsed: readonly string[];
  /** How many releases of further pay were withdrawn, since people may have withdrawn them before. */
  withdrawn: number;
}

/** More than these are counted: the bank's own list is the better one then. */
const MOST_NAMED = 30;

/** Of a run that the service stopped. */
const BY_TWO = '(one person stops it, another then resumes it)';

const WORD_ON_QUEUED =
  "resuming takes the bank's written word (was a submit of it received, or is one queued?)";

const CANCEL_FIRST =
  'Where that names submits of runs that are not in the record, first cancel what they paid instead.';

/** Before the bank was read. */
export function happenedAtFirst(what: string): string {
  return `${what} Nothing is submitted for anybody. The bank is being read; what it shows is told then.`;
}

/** Whether the bank shows everything, and of everything whose it is: else resuming takes its written word. */
export function isWhole(sweep: Sweep): boolean {
  return isListWhole(sweep) && sweep.unidentified.length === 0;
}

/** What happened, what the bank shows, and what people have to do, with ids and counts only. */
export function happenedAfter(
  what: string,
  sweep: Sweep,
  findings: readonly Finding[],
  { hidden, older, inPart, lapsed, withdrawn }: HeldByRestore,
): string {
  const submitted = findings.filter((one) => one.submitted);
  const adopted = submitted.filter(({ payRunId, refusal }) => payRunId !== null && refusal === undefined);
  const blocked = submitted.filter(({ payRunId, refusal }) => payRunId !== null && refusal !== undefined);
  const [past, notPast] = partition(blocked);
  const ofNoRun = submitted.filter(({ payRunId }) => payRunId === null);
  const [unprovenPast, unproven] = partition(findings.filter((one) => one.isUnclear && !isKept(one)));
  const unnamed = findings.filter((one) => one.isUnclear && isKept(one));
  const open = findings.filter(({ submitted, isUnclear }) => !submitted && !isUnclear);
  const sentences = [
    what,
    submitted.length === 0 &&
      hidden.length === 0 &&
      unproven.length + unprovenPast.length + unnamed.length === 0 &&
      isWhole(sweep) &&
      'The bank shows no submitted instruction of this employer that was forgotten.',
    told(adopted, 'submitted at the bank and taken back into the record, to be followed'),
    told(
      past,
      'submitted at the bank and not taken back: its run is not paid again; what the bank executed of it is decided by its UNRECORDED_SUBMIT, unless it is already',
    ),
    told(
      notPast,
      'submitted at the bank and not taken back: its run is not paid again; it is taken back once the same rows are approved as they were, or is to be cancelled',
    ),
    told(
      ofNoRun,
      'submitted at the bank for a run that was forgotten too: uploading its pay file again would pay twice; what older runs did not pay is held for a person',
    ),
    told(
      unnamed.filter(({ payRunId }) => payRunId !== null),
      "opened at the bank, in a status that no document names, so that nobody knows whether it was submitted: resuming takes the bank's written word, and its run stays stopped until each UNRECORDED_SUBMIT is decided by that word, as far as it can be, or the run is cancelled",
    ),
    told(
      unnamed.filter(({ payRunId }) => payRunId === null),
      "opened at the bank for a run that was forgotten too, in a status that no document names: resuming takes the bank's written word; where that is that it was submitted, uploading its pay file again would pay twice",
    ),
    inDoubt(older),
    resting(inPart),
    told(
      unproven,
      `opened at the bank, and not shown to be unsubmitted, or not deleted there: ${WORD_ON_QUEUED}, and its run stays stopped; where the word is that something of it was submitted, or it was cancelled or amended since, cancel it; otherwise resume that too ${BY_TWO}, and have it approved again`,
    ),
    told(
      unprovenPast,
      `opened at the bank, and not shown to be unsubmitted, or not deleted there: ${WORD_ON_QUEUED}; its run can be neither approved nor cancelled any more, and where it is stopped it is resumed ${BY_TWO} only if nothing of it was submitted`,
    ),
    told(
      open,
      'opened at the bank, not submitted, and deleted there by now, or ended: nobody submits it any more',
    ),
    !sweep.readable &&
      `The bank does not let its list of payments be read, or not whole and to an end that its count confirms, or it was not seen to show what has settled before, and from a date on it may show only what has settled since: resuming takes the bank's written word. ${CANCEL_FIRST}`,
    sweep.readable &&
      !sweep.showsUnsubmitted &&
      `The bank's list of payments was not seen to show any of this service that is not submitted yet, so that it may not show what is queued: ${WORD_ON_QUEUED}. ${CANCEL_FIRST}`,
    unclear(sweep),
    unread(hidden),
    DECIDED_SINCE,
    undecided(lapsed),
    withdrawn > 0 &&
      `${withdrawn} releases of a further payment that nobody used are withdrawn, as each may have been since: release again what is still owed.`,
  ];
  return sentences.filter((sentence) => sentence !== false && sentence !== '').join(' ');
}

/** Those whose runs are past what people could still approve or cancel, and the others. */
function partition(findings: readonly Finding[]): [Finding[], Finding[]] {
  return [findings.filter(({ isPast }) => isPast), findings.filter(({ isPast }) => !isPast)];
}

function unclear({ unidentified: ids, unread }: Sweep): string {
  if (ids.length === 0) return '';
  const named = textOfFirstFew(ids, MOST_NAMED);
  const left = unread > 0 ? `, of which ${unread}, the oldest, were not read singly` : '';
  return `The bank shows ${ids.length} instructions that may be this service's or not, or nobody knows for which employer${left} (${named}): resuming takes the bank's written word.`;
}

const DECIDED_SINCE =
  'What people did since is forgotten as well: disable again whom, and revoke again what keys and roles, were, set again what was set (as limits, and how many approvals are required), and stop again what was stopped. What was proposed is withdrawn, as it may have been since: propose again what holds still.';

function undecided(payRunIds: readonly string[]): string {
  if (payRunIds.length === 0) return '';
  return `The approvals of ${payRunIds.length} runs that the record has as not submitted have lapsed (${namesOf(payRunIds)}): each may have been cancelled or amended since, or its approval taken back.`;
}

function inDoubt(payRunIds: readonly string[]): string {
  if (payRunIds.length === 0) return '';
  return `A submit that was forgotten may be of one of ${payRunIds.length} runs that the record has as not submitted (${namesOf(payRunIds)}), or of a run made in the stead of one: they stay stopped. Cancel those whose people it paid (what is being submitted is released at the cut-off), and resume each of the others ${BY_TWO} once it is certain that none of its people was.`;
}

function resting(payRunIds: readonly string[]): string {
  if (payRunIds.length === 0) return '';
  return `The record has ${payRunIds.length} runs of which a part was submitted (${namesOf(payRunIds)}) as they were before, and maybe not as they were approved last: the rest of each stays stopped. Resume it ${BY_TWO} where the run was not amended since; otherwise leave it stopped, and pay its people by a successor once it is released at the cut-off.`;
}

function unread(ids: readonly string[]): string {
  if (ids.length === 0) return '';
  const named = textOfFirstFew(ids, MOST_NAMED);
  return `The bank does not let ${ids.length} instructions be read that were not submitted yet, or does not find them (${named}): ${WORD_ON_QUEUED}. Where that is that one was submitted, cancel its run first. Where nothing of a run is submitted, its older approvals lapse when people resume: it may have been cancelled or amended since, or its approval taken back. None of the others is submitted before its payments are read.`;
}

function told(findings: readonly Finding[], as: string): string {
  if (findings.length === 0) return '';
  const payments = findings.reduce((sum, one) => sum + one.payments, 0);
  const named = textOfFirstFew(findings.map(nameOf), MOST_NAMED);
  return `Forgotten, ${as}: ${findings.length} with ${payments} payments (${named}).`;
}

function namesOf(payRunIds: readonly string[]): string {
  return textOfFirstFew(
    payRunIds.map((id) => showId('run', id)),
    MOST_NAMED,
  );
}

function nameOf({ bankInstructionId, status, payRunId, refusal }: Finding): string {
  const run = payRunId === null ? '' : ` of ${showId('run', payRunId)}`;
  return `${bankInstructionId}${run}, ${status}${refusal === undefined ? '' : `, ${refusal}`}`;
}
