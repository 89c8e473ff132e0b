import { types } from 'node:util';
import { Logger } from '@nestjs/common';
import { QueryRunnerAlreadyReleasedError } from 'typeorm';

/** PostgreSQL was not reached, had no connection free, or ended one in the middle: nothing was committed. */
export class DatabaseAway extends Error {
  constructor(cause: unknown) {
    super(`the database is away: ${causeOf(cause)}`, { cause });
  }
}

/** A commit whose durability is not certain: nothing may be sent to the bank on its strength. */
export class NotDurable extends Error {}

/** PostgreSQL stayed silent for longer than it may. */
export class NoAnswer extends Error {
  constructor(waitedMs: number) {
    super(`no answer in ${waitedMs} ms`);
  }
}

const NETWORK_CODES: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
const DRIVER_MESSAGE = /^(Connection terminated|Client has encountered a connection error|Client was closed)/;
const ENDS_SESSION = /^(FATAL|PANIC)$/;
/**
 * SQLSTATEs with which a server ends a session, or may: connection, resources, shutdown and time-outs of sessions, its
 * system, its configuration and its internals.
 */
const MAY_END_SESSION = /^(08...|25P0[34]|53...|57P0[1-5]|58...|F0...|XX...)?$/;
/** "cached plan must not change result type", among whatever else a server does not support. */
const STALE_PLAN = '0A000';
/** Deadlock, serialization failure, lock not had in time. */
const PASSING_SQL_STATE = /^(40P01|40001|55P03)$/;

/** Whether an error of a statement, wrapped by TypeORM or bare, is the loss of its connection. */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof QueryRunnerAlreadyReleasedError) return true;
  const driver = driverErrorOf(error);
  if (!types.isNativeError(driver)) return false;
  return (
    driver instanceof NoAnswer ||
    NETWORK_CODES.has(textOf(driver, 'code')) ||
    whatTheServerDid(driver) === 'ended the session' ||
    DRIVER_MESSAGE.test(driver.message)
  );
}

/** Whether the server itself refused, and so rolled back, what it was asked. */
export function isRefusal(error: unknown): boolean {
  return whatTheServerDid(driverErrorOf(error)) === 'refused';
}

/**
 * Whether a plan that the connection keeps is of a table which is another one since, as after an upgrade or where a dump
 * was put back: its statement fails on that connection for good.
 */
export function isStalePlan(error: unknown): boolean {
  return isRefusal(error) && textOf(driverErrorOf(error), 'code') === STALE_PLAN;
}

/** Whether nothing was committed and the same work may succeed a moment later. */
export function isPassing(error: unknown): boolean {
  if (error instanceof DatabaseAway) return true;
  return isRefusal(error) && PASSING_SQL_STATE.test(textOf(driverErrorOf(error), 'code'));
}

/** Whether it is the database that failed the work, for a while: nobody's fault, be it known or not whether it was committed. */
export function isOfDatabase(error: unknown): boolean {
  return error instanceof NotDurable || isPassing(error);
}

/**
 * Does what is left of a request that committed something before.
 * @param saysUndone whether a failure besides those of the database would be taken for nothing having been carried out
 * @throws NotDurable where it failed so: it is not for sure that nothing was carried out
 */
export async function afterCommit<T>(
  rest: () => Promise<T>,
  saysUndone: (error: unknown) => boolean = () => false,
): Promise<T> {
  try {
    return await rest();
  } catch (error) {
    if (!isPassing(error) && !saysUndone(error)) throw error;
    throw new NotDurable('what is left of a request that was carried out in part failed', { cause: error });
  }
}

/** Losses that follow one another within this time are one outage. */
const ONE_OUTAGE_MS = 5_000;

/** What is known of the database by the last unit of work; an outage is told in the log once, and its end. */
export class Availability {
  private readonly logger = new Logger('Database');
  private lostAtMs: number | undefined;
  /** Whether the last unit of work reached the database. */
  available = true;

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  lost(error: Error): void {
    if (this.lostAtMs === undefined) this.logger.warn(`${error.message}; work waits until it is back`);
    this.available = false;
    this.lostAtMs = this.nowMs();
  }

  reached(): void {
    this.available = true;
    if (this.lostAtMs === undefined || this.nowMs() - this.lostAtMs < ONE_OUTAGE_MS) return;
    this.lostAtMs = undefined;
    // As loud as the loss: where only warnings are logged, it would seem to last.
    this.logger.warn('the database is back');
  }
}

function driverErrorOf(error: unknown): unknown {
  return error instanceof Error && 'driverError' in error ? error.driverError : error;
}

/**
 * By the severity where that is English, else by the SQLSTATE: the driver is told the severity in the language of the
 * server's messages (`lc_messages`). A code that leaves it open is no refusal, after which a COMMIT would count as undone.
 */
function whatTheServerDid(driver: unknown): 'refused' | 'ended the session' | undefined {
  const severity = textOf(driver, 'severity');
  if (severity === '') return undefined;
  if (severity === 'ERROR') return 'refused';
  const ends = ENDS_SESSION.test(severity) || MAY_END_SESSION.test(textOf(driver, 'code'));
  return ends ? 'ended the session' : 'refused';
}

/** By code where there is one: a message of the server could quote what was written. */
function causeOf(error: unknown): string {
  const driver = driverErrorOf(error);
  if (textOf(driver, 'severity') !== '') return `SQLSTATE ${textOf(driver, 'code')}`;
  return textOf(driver, 'code') || (driver instanceof Error ? driver.message : 'unknown');
}

function textOf(error: unknown, member: string): string {
  if (!types.isNativeError(error)) return '';
  const value: unknown = Object.getOwnPropertyDescriptor(error, member)?.value;
  return typeof value === 'string' ? value : '';
}
