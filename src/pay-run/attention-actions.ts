import { ATTENTION_WORDS, type AttentionAction, type AttentionKind } from './attention-words';

/** What two people decide a status means that does not say so itself. */
export const MEANINGS: readonly AttentionAction[] = ['PAID', 'NOT_PAID'];

/** What decides which actions are on offer. */
interface Asked {
  kind: AttentionKind;
  subjectId: string;
  instructionId: string | null;
  payments: number;
  happened: string;
}

/** How the question begins that is asked of an instruction before its submit: its rows can be built again. */
export const BEFORE_SUBMIT = 'Before its submit ';

/**
 * How the question begins whether somebody submitted what is to be ended: its payments are shown, and not itself, or a
 * status that no document names. Only the bank's written word answers it.
 */
export const SUBMITTED_OR_NOT =
  'The run is to be cancelled or amended, and the bank does not say whether somebody else submitted this instruction';

/** How the same question begins of an instruction that is to be submitted: only that word has it built again. */
export const UNSENT_OR_NOT = `${BEFORE_SUBMIT}the bank does not say whether somebody else submitted this instruction`;

/** How the question begins of a payment that is shown as returned with less than was paid. */
export const BACK_IN_PART = 'Less came back of ';

/** What is said of an ended instruction of which payments were paid: what became of the others is decided of each. */
export const WERE_PAID = ' of its payments were paid.';

/** How the question begins that is asked because a successor was refused: no run waits for its answer. */
export const SUCCESSOR_REFUSED = 'A successor of ';

/** What the question says of payments that show an undocumented status after they were paid: nothing waits for them. */
const HAD_SETTLED = 'of payments that had ended as SETTLED:';

/**
 * The actions on offer. What a status means is decided while payments wait for it, and then nothing else ends them; nor
 * does anything but the bank's word let a run go on that waits for it. Of payments that ended unpaid it can only be said
 * that they stay so, and nothing of an instruction is declared not executed where payments of it were paid. What is not
 * shown is built again before the submit only. The only payment of a run is not taken out of it. That it is known what
 * became of the rest is said only of what came back in part.
 */
export function actionsFor(asked: Asked): readonly AttentionAction[] {
  const { kind, payments, happened } = asked;
  const { actions } = ATTENTION_WORDS[kind];
  if (kind === 'REPLACED_UNSEEN' && !happened.startsWith(SUCCESSOR_REFUSED)) return ['NOT_PAID'];
  if (kind === 'ROW_UNSEEN' && !happened.startsWith(BEFORE_SUBMIT)) return ['ACKNOWLEDGE'];
  if (kind === 'ROW_UNSEEN' && happened.startsWith(UNSENT_OR_NOT)) return ['TRY_AGAIN'];
  if (kind === 'ROW_REFUSED_BY_BANK' && payments === 1) return ['TRY_AGAIN'];
  if (kind === 'ECHO_MISMATCH' && !happened.startsWith(BACK_IN_PART)) return ['RESUME'];
  if (kind === 'ENDED_BY_BANK') return [happened.endsWith(WERE_PAID) ? 'ACKNOWLEDGE' : 'NOT_EXECUTED'];
  if (kind !== 'UNKNOWN_STATUS') return actions;
  const waiting = payments > 0 && !happened.includes(HAD_SETTLED);
  if (waiting && isAfterEnd(asked)) return ['NOT_PAID'];
  return actions.filter((action) => MEANINGS.includes(action) === waiting);
}

/** Whether an action rests on the reference of the bank's written word that nobody submitted the instruction. */
export function needsWord(
  { kind, happened }: Pick<Asked, 'kind' | 'happened'>,
  action: AttentionAction,
): boolean {
  if (kind !== 'ROW_UNSEEN') return false;
  return happened.startsWith(action === 'TRY_AGAIN' ? UNSENT_OR_NOT : SUBMITTED_OR_NOT);
}

/** Whether what a status means is asked of payments that had ended, and not of an instruction's open ones. */
export function isAfterEnd({
  subjectId,
  instructionId,
}: Pick<Asked, 'subjectId' | 'instructionId'>): boolean {
  return subjectId !== instructionId;
}
