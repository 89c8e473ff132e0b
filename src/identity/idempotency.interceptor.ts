import { createHash } from 'node:crypto';
import {
  CallHandler,
  CustomDecorator,
  ExecutionContext,
  HttpException,
  Injectable,
  Logger,
} from '@nestjs/common';
import { NestInterceptor, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Response } from 'express';
import { catchError, concatMap, Observable, of } from 'rxjs';
import { describeError } from '../config/describe-error';
import { readDriverError } from '../config/driver-error';
import { isPassing } from '../database/outage';
import { DomainError } from '../domain/errors';
import { meaningOfViolation } from '../http/error-status';
import { hasBody } from '../http/has-body';
import { Problem } from '../http/problem';
import { SignedInRequest } from '../http/signed-in';
import { IdempotencyKeys, KeyedRequest, Reservation } from './idempotency-keys';

const SKIP = 'payrun:skip-idempotency';
const ONCE = 'payrun:carried-out-once';
/** The column's bound; printable, because it is shown in logs of proxies. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** For routes whose body is a stream: what was uploaded is recognised by its own hash. */
export function SkipIdempotency(): CustomDecorator {
  return SetMetadata(SKIP, true);
}

/**
 * For routes that do what no constraint of ours stops a repetition of, at the bank or once what they did was used, or undone
 * by somebody else: a key whose request was broken off is given back by nobody, and taken over by none.
 */
export function CarriedOutOnce(): CustomDecorator {
  return SetMetadata(ONCE, true);
}

/**
 * `Idempotency-Key` on POSTs of an employer's routes: the first request is carried out, the same one again gets
 * the kept status and body (headers are not kept). A request that failed leaves no trace and may be tried again.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  private readonly logger = new Logger('Idempotency');

  constructor(
    private readonly reflector: Reflector,
    private readonly keys: IdempotencyKeys,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler<unknown>): Promise<Observable<unknown>> {
    const marked = (as: string) =>
      this.reflector.getAllAndOverride<boolean | undefined>(as, [context.getHandler(), context.getClass()]) ??
      false;
    const skip = marked(SKIP);
    const once = marked(ONCE);
    const request = skip ? undefined : keyedRequest(context.switchToHttp().getRequest<SignedInRequest>());
    if (request === undefined) return next.handle();
    const response = context.switchToHttp().getResponse<Response>();
    const reserved = await this.keys.reserve(request, once);
    switch (reserved.kind) {
      case 'first':
        return this.carryOut(reserved.reservation, response, next, once);
      case 'replay':
        response.status(reserved.status).setHeader('Idempotent-Replayed', 'true');
        return of(reserved.body);
      case 'reused':
        throw keyReused();
      case 'unfinished':
        throw new Problem(
          409,
          'IDEMPOTENCY_UNFINISHED',
          'The first request with this key was broken off: nobody knows whether it was carried out. See whether it was, and if not, ask again with a new key.',
        );
      case 'in-progress':
        throw new Problem(
          409,
          'IDEMPOTENCY_IN_PROGRESS',
          'The first request with this key is still running: repeat this one with the same key in a moment.',
        );
    }
  }

  private carryOut(
    reservation: Reservation,
    response: Response,
    next: CallHandler<unknown>,
    once: boolean,
  ): Observable<unknown> {
    return next.handle().pipe(
      catchError(async (error: unknown) => {
        if (!once || isAnswer(error) || isPassing(error)) await this.release(reservation);
        else await this.breakOff(reservation);
        throw error;
      }),
      concatMap(async (body) => {
        if (response.statusCode >= 500) await this.release(reservation);
        else await this.complete(reservation, response.statusCode, body);
        return body;
      }),
    );
  }

  /** What was carried out is answered, also where the answer cannot be kept now: the key may be taken over later. */
  private complete(reservation: Reservation, status: number, body: unknown): Promise<void> {
    return this.orWarn('an answer was not kept by its key', this.keys.complete(reservation, status, body));
  }

  /** A key that cannot be given back now may be taken over later; the failure itself is what the client must hear. */
  private release(reservation: Reservation): Promise<void> {
    return this.orWarn('an idempotency key was not given back', this.keys.release(reservation));
  }

  /** Where it cannot be said now, whoever repeats the request is told that it runs until its key is old enough. */
  private breakOff(reservation: Reservation): Promise<void> {
    return this.orWarn('a request was not marked as broken off', this.keys.breakOff(reservation));
  }

  private async orWarn(message: string, kept: Promise<unknown>): Promise<void> {
    try {
      await kept;
    } catch (error) {
      this.logger.warn({ message, error: describeError(error) });
    }
  }
}

/** Whether it is what was decided on the request, and not a failure in the midst of it. */
export function isAnswer(error: unknown): boolean {
  if (error instanceof Problem || error instanceof HttpException || error instanceof DomainError) return true;
  const driver = readDriverError(error);
  return driver !== undefined && meaningOfViolation(driver.sqlState, driver.constraint) !== undefined;
}

function keyedRequest(request: SignedInRequest): KeyedRequest | undefined {
  const key = request.get('idempotency-key');
  const { signedIn } = request;
  if (request.method !== 'POST' || key === undefined || signedIn?.employerId === undefined) return undefined;
  // A body nobody parsed is not in the fingerprint: another one under the same key would pass for this one.
  if (request.body === undefined && hasBody(request)) return undefined;
  assertKey(key);
  const { employerId, personId } = signedIn;
  return { employerId, personId, key, fingerprint: fingerprintOf(request) };
}

/** @throws Problem 400 `IDEMPOTENCY_KEY_INVALID` */
export function assertKey(key: string): void {
  if (KEY.test(key)) return;
  const detail = 'An Idempotency-Key has 1 to 255 printable characters.';
  throw new Problem(400, 'IDEMPOTENCY_KEY_INVALID', detail);
}

/** The answer to a key that was used for another request. */
export function keyReused(): Problem {
  return new Problem(
    422,
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key was used for another request: send this one with a new key.',
  );
}

function fingerprintOf({ method, originalUrl, body }: SignedInRequest): Buffer {
  const asked = JSON.stringify([method, originalUrl, body ?? null]);
  return createHash('sha256').update(asked).digest();
}
