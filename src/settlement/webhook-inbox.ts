import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { newId } from '../database/new-id';

/** What is read of a delivery: ids only; nothing of it is believed. */
export interface Delivery {
  event: string;
  /** Every id in it that could name something of ours. */
  references: readonly string[];
}

/** A body that came before within a day is not stored again; its targets are woken all the same. */
const SAME_BODY = '1 day';

/** Stores verified webhooks and wakes what they speak of (rule 11). */
@Injectable()
export class WebhookInbox {
  constructor(private readonly database: Database) {}

  /** Answers how many instructions were woken. */
  async take(body: Buffer, delivery: Delivery): Promise<number> {
    const matched = await this.wakeTargets(delivery.references);
    const bodyHash = createHash('sha256').update(body).digest();
    await this.database.outsideEmployers((tx) =>
      tx.query(
        `INSERT INTO webhook_inbox (id, body_hash, event, body, matched)
         SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (
           SELECT FROM webhook_inbox WHERE body_hash = $2 AND received_at > clock_timestamp() - $6::interval)`,
        [newId(), bodyHash, delivery.event, body, matched, SAME_BODY],
      ),
    );
    return matched;
  }

  /**
   * The instructions a delivery names by its own id or by that of one of their payments. A delivery that names
   * nothing of ours may still mean something of ours, so it wakes all whose
   * next read is near.
   */
  private wakeTargets(references: readonly string[]): Promise<number> {
    return this.database.asWorker(async (tx) => {
      const woken = await tx.query(
        `UPDATE lease SET wake_at = least(wake_at, clock_timestamp())
         WHERE subject_id IN (
           SELECT subject_id FROM lease
           WHERE kind IN ('FOLLOW', 'INSTRUCTION') AND subject_id IN (
             SELECT instruction_id FROM bank_payment WHERE bank_payment_id = ANY ($1)
             UNION SELECT instruction_id FROM bank_payment WHERE bank_transaction_id = ANY ($1)
             UNION SELECT id FROM instruction WHERE bank_instruction_id = ANY ($1))
           ORDER BY subject_id FOR NO KEY UPDATE)
         RETURNING subject_id`,
        [references],
      );
      if (woken.length > 0) return woken.length;
      await tx.query(
        `UPDATE lease SET wake_at = least(wake_at, clock_timestamp())
         WHERE subject_id IN (
           SELECT subject_id FROM lease
           WHERE kind = 'FOLLOW' AND (holder IS NOT NULL OR wake_at < clock_timestamp() + interval '1 hour')
           ORDER BY subject_id FOR NO KEY UPDATE)`,
      );
      return 0;
    });
  }
}
