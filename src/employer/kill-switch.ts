import { Injectable } from '@nestjs/common';
import { append } from '../audit/audit';
import { PersonsStop, personsStops, STOPPED } from '../audit/who-stopped';
import { Database, EmployerTransaction, Transaction } from '../database/database';
import { wakeAll } from '../database/leases';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { Employer } from './employer.entity';
import { lockEmployer } from './employer.store';
import { STOPPED_ITS_EMPLOYER } from './stopping-kinds';

const SERVICE = 'service';

/** Whether submits are off for the whole installation, since when and why. */
export interface ServiceSwitch {
  readonly submitsOff: boolean;
  readonly reason: string | null;
  readonly changedAt: Date;
}

/** An open attention of an employer that keeps every submit off. */
export interface ServiceStop {
  readonly employerId: string;
  readonly kind: string;
  readonly stoppedAt: Date;
}

/** The stop, or stops, of persons that somebody knows of who resumes. */
export interface KnownStops {
  /** Since when it stands: the first of them. */
  readonly stoppedAt: Date;
  /** How many they are, to be said where it is more than one. */
  readonly takesBack?: number;
}

/** Stops that are told at once. */
const MOST_TOLD = 100;

/**
 * The kill switches. They are read inside the transaction of every intent and kept to its commit, so that nothing is
 * intended once a stop has been answered; what was intended before may still leave, a submit within five seconds.
 */
@Injectable()
export class KillSwitch {
  constructor(private readonly database: Database) {}

  /**
   * Stops an employer. Each person's stop stands with its reason beside those before; one that the service threw becomes
   * the person's too, so that resolving the attention alone does not take it back.
   */
  stopEmployer(employerId: string, personId: string, reason: string): Promise<Employer> {
    return this.database.inEmployer(employerId, async (tx) => {
      const employer = await lockEmployer(tx);
      const { stoppedAt } = employer;
      const subject = showId('emp', employerId);
      const stops = stoppedAt === null ? [] : await personsStops(tx, 'employer', subject, stoppedAt);
      if (stands(stops, personId, reason)) return employer;
      await tx.query(
        // Not finer than the audit's clock, by which the two are put in order.
        `UPDATE employer SET stopped_reason = $2,
           stopped_at = least(CASE WHEN $3 THEN stopped_at END, date_trunc('milliseconds', clock_timestamp()))
         WHERE id = $1`,
        [employerId, reasonOf([...stops, { reason }]), stops.length > 0],
      );
      await append(tx, { personId, action: STOPPED.employer, subject, detail: { reason } });
      return lockEmployer(tx);
    });
  }

  /**
   * Lets an employer go on and wakes its work.
   * @throws Problem 409 `NOT_STOPPED`, `ATTENTION_DECIDES` where the service itself stopped it,
   * `SECOND_PERSON_REQUIRED` for each person who stopped it, `OTHER_STOPS_STAND`
   */
  resumeEmployer(employerId: string, personId: string, reason: string, known: KnownStops): Promise<Employer> {
    return this.database.inEmployer(employerId, async (tx) => {
      const employer = await lockEmployer(tx);
      if (employer.stoppedAt === null) throw notStopped();
      const subject = showId('emp', employerId);
      const stops = await personsStops(tx, 'employer', subject, employer.stoppedAt);
      const open = await openBreaches(tx);
      if (stops.length === 0 || open.length > 0) throw attentionDecides({ attentionIds: open });
      if (stops.some((stop) => stop.personId === personId)) {
        const detail =
          'Who stopped the employer may not resume it: another operator or approver does, or somebody to whom an administrator gives that role.';
        throw new Problem(409, 'SECOND_PERSON_REQUIRED', detail, { standing: shown(stops) });
      }
      assertAllKnown(stops, employer.stoppedAt, known);
      await tx.manager.update(Employer, { id: employerId }, { stoppedAt: null, stoppedReason: null });
      wakeAll(tx, employerId);
      const detail = { reason, stoppedReason: employer.stoppedReason };
      await append(tx, { personId, action: 'employer.resumed', subject, detail });
      return { ...employer, stoppedAt: null, stoppedReason: null };
    });
  }

  /** The switch of the whole installation. */
  service(): Promise<ServiceSwitch> {
    return this.database.outsideEmployers(readSwitch);
  }

  /** What keeps every submit off besides a person, oldest first. */
  stops(): Promise<ServiceStop[]> {
    return this.database.outsideEmployers(standingStops);
  }

  /**
   * Turns every submit off. Each person's stop stands with its reason beside those before; one that the service threw
   * becomes the person's too, so that deciding the attention alone does not take it back.
   */
  stopService(personId: string, reason: string): Promise<ServiceSwitch> {
    return this.database.outsideEmployers(async (tx) => {
      const now = await readSwitch(tx, 'FOR UPDATE');
      const stops = now.submitsOff ? await stopsOfService(tx, now) : [];
      if (stands(stops, personId, reason)) return now;
      await tx.query(
        `UPDATE service_switch
         SET submits_off = true, reason = $1, stopped_by = $2,
           changed_at = least(CASE WHEN $3 THEN changed_at END, date_trunc('milliseconds', clock_timestamp()))`,
        [reasonOf([...stops, { reason }]), personId, stops.length > 0],
      );
      await append(tx, { personId, action: STOPPED.service, subject: SERVICE, detail: { reason } });
      return readSwitch(tx);
    });
  }

  /**
   * Turns submits on again and wakes what waited.
   * @throws Problem 409 `NOT_STOPPED`, `ATTENTION_DECIDES` while a breach of any employer keeps them off,
   * `OTHER_STOPS_STAND`
   */
  resumeService(personId: string, reason: string, known: KnownStops): Promise<ServiceSwitch> {
    return this.database.outsideEmployers(async (tx) => {
      const now = await readSwitch(tx, 'FOR UPDATE');
      if (!now.submitsOff) throw notStopped();
      const breaches = await standingStops(tx);
      const stops = await stopsOfService(tx, now);
      if (stops.length === 0 || breaches.length > 0)
        throw attentionDecides({
          stops: breaches.map(({ employerId, kind }) => ({ employerId: showId('emp', employerId), kind })),
        });
      assertAllKnown(stops, now.changedAt, known);
      await tx.query(
        `UPDATE service_switch
         SET submits_off = false, reason = NULL, stopped_by = NULL, changed_at = clock_timestamp() WHERE submits_off`,
      );
      wakeAll(tx);
      const detail = { reason, stoppedReason: now.reason };
      await append(tx, { personId, action: 'service.resumed', subject: SERVICE, detail });
      return readSwitch(tx);
    });
  }
}

/** What is open with which the service stopped the employer, or everything; two people resume on it. */
async function openBreaches(tx: EmployerTransaction): Promise<string[]> {
  const open = await tx.query<{ id: string }>(
    `SELECT a.id FROM attention a
     WHERE a.employer_id = $1 AND a.resolved_at IS NULL AND (${STOPPED_ITS_EMPLOYER} OR EXISTS (
       SELECT FROM service_stop s WHERE s.employer_id = a.employer_id AND s.kind = a.kind
         AND s.subject_id = a.subject_id AND s.lifted_at IS NULL))
     ORDER BY a.id LIMIT ${MOST_TOLD}`,
    [tx.employerId],
  );
  return open.map(({ id }) => showId('att', id));
}

function standingStops(tx: Transaction): Promise<ServiceStop[]> {
  return tx.query<ServiceStop>(
    `SELECT employer_id AS "employerId", kind, stopped_at AS "stoppedAt" FROM service_stop WHERE lifted_at IS NULL
     ORDER BY stopped_at, id LIMIT ${MOST_TOLD}`,
  );
}

function stopsOfService(tx: Transaction, { changedAt }: ServiceSwitch): Promise<PersonsStop[]> {
  return personsStops(tx, 'service', SERVICE, changedAt);
}

/** Whether it is the same stop, sent again. */
function stands(stops: readonly PersonsStop[], personId: string, reason: string): boolean {
  return stops.some((stop) => stop.personId === personId && stop.reason === reason);
}

function reasonOf(stops: readonly Pick<PersonsStop, 'reason'>[]): string {
  return stops.map(({ reason }) => reason).join('; ');
}

/**
 * Nobody takes back, with the stop they know of, another that came meanwhile, beside it or after somebody else took that back.
 * @param since when the switch was thrown, as `stops` have it
 * @throws Problem 409 `OTHER_STOPS_STAND`
 */
export function assertAllKnown(
  stops: readonly PersonsStop[],
  since: Date,
  { stoppedAt, takesBack = 1 }: KnownStops,
): void {
  if (stops.length === takesBack && since.getTime() === stoppedAt.getTime()) return;
  const also = stops.length > 1 ? ` and "takesBack": ${stops.length}` : '';
  const detail = `Other stops of persons stand than you name, each with its own reason: look into all of them, then resume with "stoppedAt": "${since.toISOString()}"${also}.`;
  throw new Problem(409, 'OTHER_STOPS_STAND', detail, { standing: shown(stops) });
}

function shown(stops: readonly PersonsStop[]): object[] {
  return stops.map(({ personId, reason, at }) => ({
    personId: showId('per', personId),
    reason,
    at: at.toISOString(),
  }));
}

async function readSwitch(tx: Transaction, lock: 'FOR UPDATE' | '' = ''): Promise<ServiceSwitch> {
  const [row] = await tx.query<{ submits_off: boolean; reason: string | null; changed_at: Date }>(
    `SELECT submits_off, reason, changed_at FROM service_switch ${lock}`,
  );
  if (row === undefined) throw new Error('the service switch is missing');
  return { submitsOff: row.submits_off, reason: row.reason, changedAt: row.changed_at };
}

/** @param told where the open attention is to be found */
function attentionDecides(told: { attentionIds: string[] } | { stops: object[] }): Problem {
  const detail =
    'The service itself stopped it, or everything: two people decide that on the open attention.';
  return new Problem(409, 'ATTENTION_DECIDES', detail, told);
}

function notStopped(): Problem {
  return new Problem(409, 'NOT_STOPPED', 'It is not stopped.');
}
