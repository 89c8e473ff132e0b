import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { Counter } from 'prom-client';
import { Batches } from '../config/batches';
import { Database } from '../database/database';
import { wake, wakeThose } from '../database/leases';
import { newId } from '../database/new-id';
import { isOfDatabase } from '../database/outage';
import { PersonalData } from '../database/personal-data';
import { Metrics } from '../http/metrics';
import {
  isKnownEvent,
  keepEvents,
  keepInstallationEvents,
  plainName,
  type Received,
} from './bank-event.store';
import type { Delivery } from './delivery';
import { concernsOf, isOfAccount, Targets, targetsOf } from './webhook-targets';

interface Taken extends Delivery {
  body: Buffer;
  /** Whom it was counted for: what failed with others is stored by itself, and counted once all the same. */
  countedFor: Set<string>;
}
/** The same bytes as often as they came. */
type Copies = Delivery & { body: Buffer } & { bodyHash: Buffer; copies: readonly Taken[] };
/** These, with what they name, and the employers they concern. */
type Addressed = Copies & { targets: Targets; concerned: ReadonlySet<string> };

/** For whom is counted what concerns no employer. */
const INSTALLATION = 'installation';

/** A body that came before within a day, by its hash, is not noted again; its targets are woken all the same. */
const SAME_BODY = '1 day';

/** Of deliveries that are stored together. */
const TOGETHER = { items: 500, bytes: 4_194_304 };

/** Some seconds' work: the bank tells again what it was refused, and a process that runs out of memory tells nobody. */
const WAITING = { items: 10_000, bytes: 33_554_432 };

/**
 * Notes verified webhooks, not what is in them, and wakes what they speak of (rule 11). A bank tells of each payment of a
 * run by several of them within minutes: what comes while others are stored is stored together.
 */
@Injectable()
export class WebhookInbox {
  private readonly logger = new Logger('Webhooks');
  private readonly received: Counter<'known' | 'concerns'>;
  private readonly batches = new Batches<Taken>(
    TOGETHER,
    WAITING,
    (deliveries) => this.store(deliveries),
    (error) => !isOfDatabase(error),
  );

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

  /** Answers once the delivery is stored. */
  take(body: Buffer, delivery: Delivery): Promise<void> {
    return this.batches.add({ ...delivery, body, countedFor: new Set() }, body.length);
  }

  private async store(deliveries: readonly Taken[]): Promise<void> {
    const targeted = await this.database.asWorker((tx) => targetsOf(tx, this.personal, byBody(deliveries)));
    const addressed = targeted.map((one) => ({ ...one, concerned: concernsOf(one.event, one.targets) }));
    await this.tellInstallation(addressed.filter(({ concerned }) => concerned.size === 0));
    for (const employerId of employersOf(addressed)) await this.tell(employerId, addressed);
    const woken = await this.wakeInstructions(addressed);
    await this.database.outsideEmployers((tx) =>
      tx.query(
        `INSERT INTO webhook_inbox (id, body_hash, event, matched)
         SELECT * FROM unnest($1::uuid[], $2::bytea[], $3::text[], $4::integer[]) AS taken (id, hash, event, matched)
         WHERE NOT EXISTS (
           SELECT FROM webhook_inbox WHERE body_hash = hash AND received_at > clock_timestamp() - $5::interval)`,
        [
          addressed.map(() => newId()),
          addressed.map(({ bodyHash }) => bodyHash),
          addressed.map(({ event }) => event),
          addressed.map((one) => one.targets.accounts.length + wokenBy(one, woken).length),
          SAME_BODY,
        ],
      ),
    );
    for (const { event, concerned, copies } of addressed) {
      const known = String(isKnownEvent(event));
      this.received.inc({ known, concerns: concerned.size > 0 ? 'employer' : 'nobody' }, copies.length);
    }
  }

  /** Keeps for an employer the events that concern it, and has its accounts read that any of them is about. */
  private async tell(employerId: string, deliveries: readonly Addressed[]): Promise<void> {
    const concerning = deliveries
      .filter(({ concerned }) => concerned.has(employerId))
      .map((one) => ({ ...one, accountIds: accountsOf(employerId, one) }));
    const toRead = concerning.filter(({ event }) => isOfAccount(event));
    await this.database.inEmployer(employerId, async (tx) => {
      await keepEvents(tx, uncounted(employerId, concerning));
      wake(tx, 'ACCOUNT', [...new Set(toRead.flatMap(({ accountIds }) => accountIds))]);
    });
    counted(employerId, concerning);
  }

  private async tellInstallation(deliveries: readonly Addressed[]): Promise<void> {
    if (deliveries.length === 0) return;
    const isNew = await this.database.outsideEmployers((tx) =>
      keepInstallationEvents(tx, uncounted(INSTALLATION, deliveries)),
    );
    counted(INSTALLATION, deliveries);
    const message = 'the bank sent an event that its document does not name and that names nothing of ours';
    for (const event of isNew.filter((one) => !isKnownEvent(one)))
      this.logger.warn({ message, event: plainName(event) });
  }

  /**
   * Wakes the instructions that deliveries name by their own id or by that of one of their payments. A delivery that
   * names nothing of ours, or of payments nothing but their account, may still mean something of ours, so it wakes all whose
   * next read is near.
   * @returns those that were named
   */
  private async wakeInstructions(deliveries: readonly Addressed[]): Promise<ReadonlySet<string>> {
    const named = new Set(deliveries.flatMap(({ targets }) => targets.instructions.map(({ id }) => id)));
    const those = `kind IN ('FOLLOW', 'INSTRUCTION') AND subject_id = ANY ($1)`;
    const woken = new Set(await this.database.asWorker((tx) => wakeThose(tx, those, [[...named]])));
    const near = `kind = 'FOLLOW' AND (holder IS NOT NULL OR wake_at < clock_timestamp() + interval '1 hour')`;
    const namesNone = (one: Addressed) =>
      wokenBy(one, woken).length === 0 && (one.targets.accounts.length === 0 || !isOfAccount(one.event));
    // In a transaction of its own: no more leases are locked in it, out of their order.
    if (deliveries.some(namesNone)) await this.database.asWorker((tx) => wakeThose(tx, near));
    return woken;
  }
}

/** The same bytes together, in the order of their hashes, so that no two transactions wait for one another. */
function byBody(deliveries: readonly Taken[]): Copies[] {
  const bodies = new Map<string, Copies>();
  for (const one of deliveries) {
    const bodyHash = createHash('sha256').update(one.body).digest();
    const key = bodyHash.toString('hex');
    bodies.set(key, { ...one, bodyHash, copies: [...(bodies.get(key)?.copies ?? []), one] });
  }
  return [...bodies].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, body]) => body);
}

/** As often as they were not counted for somebody before; those that all were are left out. */
function uncounted<One extends Copies>(whom: string, bodies: readonly One[]): (One & Received)[] {
  return bodies
    .map((one) => ({ ...one, times: one.copies.filter(({ countedFor }) => !countedFor.has(whom)).length }))
    .filter(({ times }) => times > 0);
}

function counted(whom: string, bodies: readonly Copies[]): void {
  for (const { copies } of bodies) for (const { countedFor } of copies) countedFor.add(whom);
}

/** Whom deliveries concern. */
function employersOf(deliveries: readonly Addressed[]): string[] {
  return [...new Set(deliveries.flatMap(({ concerned }) => [...concerned]))].sort();
}

function accountsOf(employerId: string, { targets }: Addressed): string[] {
  return targets.accounts.flatMap((one) => (one.employerId === employerId ? [one.id] : []));
}

function wokenBy({ targets }: Addressed, woken: ReadonlySet<string>): string[] {
  return targets.instructions.flatMap(({ id }) => (woken.has(id) ? [id] : []));
}
