import { showId } from '../http/prefixed-id';
import type { Sweep, Unknown } from './restore-sweep';

/** What the bank shows of an employer and a restored database had forgotten. */
export interface Finding extends Omit<Unknown, 'debtorIban'> {
  /** The run it is of; null for a run the database does not know either. */
  payRunId: string | null;
  /** Why it was not taken back into the record; undefined where it was, or belongs to no run. */
  refusal: string | undefined;
}

/** More than these are counted: the bank's own list is the better one then. */
const MOST_NAMED = 30;

/** Before the bank was read. */
export function happenedAtFirst(what: string): string {
  return `${what} Nothing is submitted for anybody. The bank is being read; what it shows is told then.`;
}

/** What happened and what the bank shows, with ids and counts only. */
export function happenedAfter(what: string, sweep: Sweep, findings: readonly Finding[]): string {
  const submitted = findings.filter((one) => one.submitted);
  const adopted = submitted.filter(({ payRunId, refusal }) => payRunId !== null && refusal === undefined);
  const blocked = submitted.filter(({ payRunId, refusal }) => payRunId !== null && refusal !== undefined);
  const ofNoRun = submitted.filter(({ payRunId }) => payRunId === null);
  const open = findings.filter((one) => !one.submitted);
  const sentences = [
    what,
    submitted.length === 0 && 'The bank shows no submitted instruction of this employer that was forgotten.',
    told(adopted, 'submitted at the bank and taken back into the record, to be followed'),
    told(
      blocked,
      'submitted at the bank and not taken back: its run is not paid again; it is taken back once the same rows are approved as they were, or is to be cancelled',
    ),
    told(
      ofNoRun,
      'submitted at the bank for a run that was forgotten too: uploading its pay file again would pay twice',
    ),
    told(open, 'opened at the bank, forgotten, and not submitted: nobody submits it any more'),
    !sweep.readable &&
      "The bank does not let its list of payments be read: resuming takes the bank's written word.",
    sweep.unidentified > 0 &&
      `The bank shows ${sweep.unidentified} instructions that may be this service's or not: resuming takes the bank's written word.`,
  ];
  return sentences.filter((sentence) => sentence !== false && sentence !== '').join(' ');
}

function told(findings: readonly Finding[], as: string): string {
  if (findings.length === 0) return '';
  const payments = findings.reduce((sum, one) => sum + one.payments, 0);
  const named = findings.slice(0, MOST_NAMED).map(nameOf).join(', ');
  const more = findings.length > MOST_NAMED ? ` and ${findings.length - MOST_NAMED} more` : '';
  return `Forgotten, ${as}: ${findings.length} with ${payments} payments (${named}${more}).`;
}

function nameOf({ bankInstructionId, status, payRunId, refusal }: Finding): string {
  const run = payRunId === null ? '' : ` of ${showId('run', payRunId)}`;
  return `${bankInstructionId}${run}, ${status}${refusal === undefined ? '' : `, ${refusal}`}`;
}
