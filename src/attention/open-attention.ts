import { IsNull } from 'typeorm';
import { findById } from '../database/by-id';
import { EmployerTransaction } from '../database/database';
import { DomainError } from '../domain/errors';
import { Attention, AttentionActionRow } from '../pay-run/attention.entity';

/** Locks an attention that is open. @throws DomainError ATTENTION_NOT_FOUND, ATTENTION_IS_RESOLVED */
export async function lockOpen(tx: EmployerTransaction, id: string): Promise<Attention> {
  const attention = await findById(tx, Attention, id, 'for_no_key_update');
  if (!attention) throw new DomainError('ATTENTION_NOT_FOUND', 'There is no such attention.');
  if (attention.resolvedAt !== null) {
    throw new DomainError('ATTENTION_IS_RESOLVED', `It is resolved: ${attention.resolution ?? ''}`);
  }
  return attention;
}

/** What is proposed about an attention and neither confirmed nor withdrawn. */
export function openAction(tx: EmployerTransaction, attentionId: string): Promise<AttentionActionRow | null> {
  return tx.manager.findOneBy(AttentionActionRow, {
    employerId: tx.employerId,
    attentionId,
    confirmedAt: IsNull(),
    withdrawnAt: IsNull(),
  });
}

/** @throws DomainError ACTION_NOT_FOUND */
export async function requireAction(
  tx: EmployerTransaction,
  attentionId: string,
): Promise<AttentionActionRow> {
  const action = await openAction(tx, attentionId);
  if (!action) throw new DomainError('ACTION_NOT_FOUND', 'No action is proposed for this attention.');
  return action;
}

/**
 * By its id: what was asked anew about the same meanwhile, nobody has read yet.
 * @throws DomainError ATTENTION_IS_RESOLVED
 */
export async function resolve(
  tx: EmployerTransaction,
  { id }: Attention,
  { action, reason }: AttentionActionRow,
): Promise<void> {
  const closed = await tx.query(
    `UPDATE attention SET resolved_at = clock_timestamp(), resolution = $3
     WHERE employer_id = $1 AND id = $2 AND resolved_at IS NULL RETURNING id`,
    [tx.employerId, id, `${action}: ${reason}`],
  );
  // An amendment closes what is asked about building the run, so also what it was proposed on.
  if (closed.length === 0 && action !== 'EXCLUDE_PAYMENT') {
    throw new DomainError(
      'ATTENTION_IS_RESOLVED',
      'It was resolved meanwhile, or told anew: read what is asked now.',
    );
  }
}
