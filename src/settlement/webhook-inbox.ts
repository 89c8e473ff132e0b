import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { Counter } from 'prom-client';
import { Database } from '../database/database';
import { wake, wakeThose } from '../database/leases';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { Metrics } from '../http/metrics';
import { isKnownEvent, keepEvent, keepInstallationEvent, plainName } from './bank-event.store';
import { concernsOf, Targets, targetsOf } from './webhook-targets';

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
  private readonly logger = new Logger('Webhooks');
  private readonly received: Counter<'known' | 'concerns'>;

  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    { registry }: Metrics,
  ) {
    this.received = new Counter({
      name: 'bank_events_total',
      help: 'Verified events of the bank, by whether its document names them and whom they concern.',
      labelNames: ['known', 'concerns'],
      registers: [registry],
    });
  }

  /** Answers how many instructions and accounts were woken. */
  async take(body: Buffer, delivery: Delivery): Promise<number> {
    const targets = await this.database.asWorker((tx) => targetsOf(tx, this.personal, delivery.references));
    const bodyHash = createHash('sha256').update(body).digest();
    await this.tell(delivery.event, bodyHash, targets);
    const matched = targets.accounts.length + (await this.wakeInstructions(targets));
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
   * Keeps the event for each employer it concerns, or for the installation where it concerns none, and has the
   * accounts read that it names.
   */
  private async tell(event: string, bodyHash: Buffer, targets: Targets): Promise<void> {
    const concerned = concernsOf(event, targets);
    if (concerned.size === 0) await this.tellInstallation(event, bodyHash);
    const known = String(isKnownEvent(event));
    this.received.inc({ known, concerns: concerned.size > 0 ? 'employer' : 'nobody' });
    for (const employerId of new Set([...targets.accounts.map((one) => one.employerId), ...concerned])) {
      const accounts = targets.accounts.filter((one) => one.employerId === employerId);
      const accountIds = accounts.map(({ id }) => id);
      await this.database.inEmployer(employerId, async (tx) => {
        if (concerned.has(employerId)) await keepEvent(tx, { event, bodyHash, accountIds });
        wake(tx, 'ACCOUNT', employerId, accountIds);
      });
    }
  }

  private async tellInstallation(event: string, bodyHash: Buffer): Promise<void> {
    const isNew = await this.database.outsideEmployers((tx) =>
      keepInstallationEvent(tx, { event, bodyHash }),
    );
    if (!isNew || isKnownEvent(event)) return;
    const message = 'the bank sent an event that its document does not name and that names nothing of ours';
    this.logger.warn({ message, event: plainName(event) });
  }

  /**
   * Wakes the instructions a delivery names by their own id or by that of one of their payments. A delivery that
   * names nothing of ours may still mean something of ours, so it wakes all whose next read is near.
   */
  private wakeInstructions({ instructions, accounts }: Targets): Promise<number> {
    return this.database.asWorker(async (tx) => {
      const named = [instructions.map(({ id }) => id)];
      const woken = await wakeThose(tx, `kind IN ('FOLLOW', 'INSTRUCTION') AND subject_id = ANY ($1)`, named);
      if (woken > 0 || accounts.length > 0) return woken;
      const near = `wake_at < clock_timestamp() + interval '1 hour'`;
      await wakeThose(tx, `kind = 'FOLLOW' AND (holder IS NOT NULL OR ${near})`);
      return 0;
    });
  }
}
