import { Injectable } from '@nestjs/common';
import { Database, EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { DAY_MS } from '../domain/durations';

/** No request of this service runs that long: its process has died, and the work may be tried again. */
const TAKE_OVER_AFTER = `interval '5 minutes'`;
const KEEP_MS = 30 * DAY_MS;
/** Deleted in one transaction; what is left goes the next time. */
const FORGET_AT_ONCE = 10_000;

/** A request under an idempotency key: the person's own, at one employer. */
export interface KeyedRequest {
  readonly employerId: string;
  readonly personId: string;
  readonly key: string;
  /** SHA-256 of what was asked. */
  readonly fingerprint: Buffer;
}

/** The right to carry the request out; `token` fences off whoever held it before a take-over. */
export interface Reservation extends KeyedRequest {
  readonly token: string;
}

interface Kept {
  fingerprint: Buffer;
  status: number | null;
  body: string | null;
  is_old: boolean;
}

/** What a key says of a request. */
export type Reserved =
  | { readonly kind: 'first'; readonly reservation: Reservation }
  | { readonly kind: 'replay'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'reused' }
  | { readonly kind: 'in-progress' }
  /** It was broken off, or its process must have ended, and it is not to be carried out again. */
  | { readonly kind: 'unfinished' };

/**
 * Answers by idempotency key. A reservation is committed before the work, the answer after it; between a commit of
 * the work and that of the answer a crash is possible, and then the schema's own constraints stop a repetition; where they do
 * not, the key is for once.
 */
@Injectable()
export class IdempotencyKeys {
  constructor(
    private readonly database: Database,
    private readonly personalData: PersonalData,
  ) {}

  /** Reserves the key, or tells what became of its first use. @param once whether it is never taken over */
  reserve(request: KeyedRequest, once = false): Promise<Reserved> {
    return this.database.inEmployer(request.employerId, async (tx) => {
      const [mine] = await tx.query<{ token: string }>(
        `INSERT INTO idempotency_key AS k (employer_id, person_id, key, fingerprint, created_at)
         VALUES ($1, $2, $3, $4, clock_timestamp())
         ON CONFLICT (employer_id, person_id, key) DO UPDATE SET created_at = excluded.created_at
           WHERE NOT $5 AND k.response_status IS NULL AND k.fingerprint = excluded.fingerprint
             AND k.created_at < clock_timestamp() - ${TAKE_OVER_AFTER}
         RETURNING created_at::text AS token`,
        [...keyOf(request), request.fingerprint, once],
      );
      if (mine === undefined) return this.recall(tx, request);
      return { kind: 'first', reservation: { ...request, token: mine.token } };
    });
  }

  /** Keeps the answer for whoever asks again. Without effect when the reservation was taken over. */
  async complete(reservation: Reservation, status: number, body: unknown): Promise<void> {
    const sealed = body === undefined ? null : JSON.stringify(this.personalData.seal(JSON.stringify(body)));
    await this.database.inEmployer(reservation.employerId, (tx) =>
      tx.query(
        `UPDATE idempotency_key SET response_status = $5, response_body = $6
         WHERE employer_id = $1 AND person_id = $2 AND key = $3 AND created_at = $4::timestamptz
           AND response_status IS NULL`,
        [...keyOf(reservation), reservation.token, status, sealed],
      ),
    );
  }

  /**
   * Says that the request ended, and nobody knows whether it was carried out: its reservation is as old from now on as one
   * whose process has died.
   */
  async breakOff(reservation: Reservation): Promise<void> {
    await this.database.inEmployer(reservation.employerId, (tx) =>
      tx.query(
        `UPDATE idempotency_key SET created_at = created_at - ${TAKE_OVER_AFTER}
         WHERE employer_id = $1 AND person_id = $2 AND key = $3 AND created_at = $4::timestamptz
           AND response_status IS NULL`,
        [...keyOf(reservation), reservation.token],
      ),
    );
  }

  /** Gives the key back after a failure, so that the request may be tried again. */
  async release(reservation: Reservation): Promise<void> {
    await this.database.inEmployer(reservation.employerId, (tx) =>
      tx.query(
        `DELETE FROM idempotency_key WHERE employer_id = $1 AND person_id = $2 AND key = $3
           AND created_at = $4::timestamptz AND response_status IS NULL`,
        [...keyOf(reservation), reservation.token],
      ),
    );
  }

  /** Forgets keys of an employer that are older than 30 days. @returns how many, at most 10,000 at once. */
  async forgetOldKeys(employerId: string, now: Date): Promise<number> {
    const forgotten = await this.database.inEmployer(employerId, (tx) =>
      tx.query(
        `DELETE FROM idempotency_key WHERE (employer_id, person_id, key) IN (
           SELECT employer_id, person_id, key FROM idempotency_key
           WHERE employer_id = $1 AND created_at < $2 LIMIT ${FORGET_AT_ONCE})
         RETURNING key`,
        [employerId, new Date(now.getTime() - KEEP_MS)],
      ),
    );
    return forgotten.length;
  }

  private async recall(tx: EmployerTransaction, request: KeyedRequest): Promise<Reserved> {
    const [kept] = await tx.query<Kept>(
      `SELECT fingerprint, response_status AS status, response_body AS body,
         created_at < clock_timestamp() - ${TAKE_OVER_AFTER} AS is_old FROM idempotency_key
       WHERE employer_id = $1 AND person_id = $2 AND key = $3`,
      keyOf(request),
    );
    if (kept !== undefined && !kept.fingerprint.equals(request.fingerprint)) return { kind: 'reused' };
    if (kept?.status == null) return { kind: kept?.is_old ? 'unfinished' : 'in-progress' };
    const body: unknown = kept.body === null ? undefined : JSON.parse(this.personalData.open(kept.body));
    return { kind: 'replay', status: kept.status, body };
  }
}

function keyOf({ employerId, personId, key }: KeyedRequest): [string, string, string] {
  return [employerId, personId, key];
}
