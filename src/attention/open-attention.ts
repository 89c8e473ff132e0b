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
