import type { EmployerTransaction } from '../database/database';
import { DomainError } from '../domain/errors';
import { EMPLOYER_ROLES, EmployerRole, roleRequired } from '../http/allow';
import { Problem } from '../http/problem';
import { actionsFor, needsWord } from '../pay-run/attention-actions';
import type { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import type { AttentionAction } from '../pay-run/attention-words';
import { lockOpen, openAction, requireAction } from './open-attention';

/** What a person proposes to do about an attention. */
export interface ProposedAction {
  action: AttentionAction;
  reason: string;
  /** The bank's written reference, where the action rests on one. */
  evidence?: string;
  /** Of which payments a meaning is proposed; of all that wait for it where none is named. */
  paymentIds?: readonly string[];
}

/** @throws DomainError ACTION_NOT_OFFERED, EVIDENCE_REQUIRED, ACTION_IS_PROPOSED; Problem 403 PREPARER_REQUIRED */
export async function assertMayPropose(
  tx: EmployerTransaction,
  attention: Attention,
  personId: string,
  proposed: ProposedAction,
): Promise<void> {
  const actions = actionsFor(attention);
  if (!actions.includes(proposed.action)) {
    const offered = actions.join(', ');
    throw new DomainError(
      'ACTION_NOT_OFFERED',
      `For ${attention.kind} these actions are offered: ${offered}.`,
    );
  }
  if (needsWord(attention, proposed.action) && proposed.evidence === undefined) {
    throw new DomainError(
      'EVIDENCE_REQUIRED',
      'Have the bank say in writing that nobody submitted it, and give the reference of that as evidence.',
    );
  }
  if (isAmendment(proposed) && !(await mayPropose(tx, personId, proposed))) {
    throw new Problem(
      403,
      'PREPARER_REQUIRED',
      'Taking a payment out is an amendment, which only a preparer proposes: whoever does may not approve the run.',
    );
  }
  if (await openAction(tx, attention.id)) {
    throw new DomainError(
      'ACTION_IS_PROPOSED',
      'Another action is proposed already: confirm or withdraw it.',
    );
  }
}

/**
 * What is proposed, where this person may confirm it.
 * @throws DomainError ATTENTION_NOT_FOUND, ATTENTION_IS_RESOLVED, ACTION_NOT_FOUND, ACTION_CHANGED,
 * SECOND_PERSON_REQUIRED, PROPOSER_NOT_ENTITLED
 */
export async function readProposed(
  tx: EmployerTransaction,
  attentionId: string,
  personId: string,
  actionId: string,
): Promise<{ attention: Attention; action: AttentionActionRow }> {
  const attention = await lockOpen(tx, attentionId);
  const action = await requireAction(tx, attentionId);
  if (action.id !== actionId) {
    throw new DomainError(
      'ACTION_CHANGED',
      'Another action is proposed by now: read it, and confirm that one by its id.',
    );
  }
  if (action.proposedBy === personId) {
    throw new DomainError(
      'SECOND_PERSON_REQUIRED',
      'An action is confirmed by another person than the one who proposed it.',
    );
  }
  await assertProposerMay(tx, action);
  return { attention, action };
}

/** @throws DomainError ACTION_NOT_FOUND where it is confirmed or withdrawn by now */
export async function markConfirmed(
  tx: EmployerTransaction,
  { id }: AttentionActionRow,
  personId: string,
): Promise<void> {
  const confirmed = await tx.query(
    `UPDATE attention_action SET confirmed_by = $3, confirmed_at = clock_timestamp()
     WHERE employer_id = $1 AND id = $2 AND confirmed_at IS NULL AND withdrawn_at IS NULL RETURNING id`,
    [tx.employerId, id, personId],
  );
  if (confirmed.length === 0) {
    throw new DomainError(
      'ACTION_NOT_FOUND',
      'The action was confirmed or withdrawn by somebody else meanwhile.',
    );
  }
}

/** Who confirms what another person proposed. */
export const CONFIRMING = ['approver', 'operator'] as const;

/** @throws Problem 403 ROLE_REQUIRED where who confirms it has lost the right to since it was asked for */
export async function assertMayConfirm(tx: EmployerTransaction, personId: string): Promise<void> {
  if (await holdsOneOf(tx, personId, CONFIRMING)) return;
  throw roleRequired(CONFIRMING);
}

/** @throws DomainError PROPOSER_NOT_ENTITLED where who proposed it could not do so any more */
export async function assertProposerMay(tx: EmployerTransaction, action: AttentionActionRow): Promise<void> {
  if (await mayPropose(tx, action.proposedBy, action)) return;
  throw new DomainError(
    'PROPOSER_NOT_ENTITLED',
    'Who proposed the action holds no role here any more that may: withdraw it, and have it proposed anew.',
  );
}

function mayPropose(
  tx: EmployerTransaction,
  personId: string,
  action: Pick<AttentionActionRow, 'action'>,
): Promise<boolean> {
  return holdsOneOf(tx, personId, isAmendment(action) ? ['preparer'] : EMPLOYER_ROLES);
}

async function holdsOneOf(
  tx: EmployerTransaction,
  personId: string,
  roles: readonly EmployerRole[],
): Promise<boolean> {
  const held = await tx.query(
    `SELECT FROM person p JOIN person_role r ON r.person_id = p.id AND r.employer_id = $1
     WHERE p.id = $2 AND p.disabled_at IS NULL AND r.role = ANY ($3) LIMIT 1`,
    [tx.employerId, personId, roles],
  );
  return held.length > 0;
}

/** Whether it amends the run, whose proposer is then one of its preparers. */
function isAmendment({ action }: Pick<AttentionActionRow, 'action'>): boolean {
  return action === 'EXCLUDE_PAYMENT';
}
