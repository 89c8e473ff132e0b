import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { ZodValidationException } from 'nestjs-zod';
import { z } from 'zod';
import { DomainError } from '../domain/errors';
import { readDriverError } from '../config/driver-error';
import { isTransient, meaningOfViolation, statusOfDomainCode } from './error-status';
import { Problem } from './problem';

/** A class of errors. */
export type ErrorClass = abstract new (...args: never[]) => Error;

/** Classes of errors after which the same request may be tried again a little later. */
export interface PassingErrors {
  /** The request was not carried out. */
  readonly unavailable: readonly ErrorClass[];
  /** Whether it was carried out is not known. */
  readonly uncertain: readonly ErrorClass[];
}

/** What PostgreSQL says of NUL in a text of an address or a form; a body in JSON is refused for it before. */
const CHARACTER_NOT_IN_REPERTOIRE = '22021';

/** Faults told at once; a client that sends more of them does not read them all. */
const MAX_FIELD_FAULTS = 100;

/** One fault of a request's body, query or parameter. `pointer` is a JSON pointer in its URI form (RFC 6901). */
export interface FieldFault {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/**
 * The one translation of what was thrown into what the client is told. What is not known becomes a 500 that says
 * nothing of the inside.
 */
export function toProblem(error: unknown, { unavailable, uncertain }: PassingErrors): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DomainError) return domainProblem(error);
  if (error instanceof ZodValidationException) return validationProblem(error.getZodError());
  if (unavailable.some((type) => error instanceof type)) return unavailableProblem();
  if (uncertain.some((type) => error instanceof type)) return uncertainProblem();
  if (error instanceof HttpException) return httpProblem(error);
  return databaseProblem(error) ?? internalProblem();
}

/** A pointer for each fault that zod found in what a client sent. */
function fieldFaults(issues: readonly z.core.$ZodIssue[]): FieldFault[] {
  const faults = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => fault([...issue.path, key], issue.code, 'This field is not known.'))
      : [fault(issue.path, issue.code, issue.message)],
  );
  return faults.slice(0, MAX_FIELD_FAULTS);
}

function fault(path: readonly PropertyKey[], code: string, detail: string): FieldFault {
  const steps = path.map((step) => String(step).replaceAll('~', '~0').replaceAll('/', '~1'));
  return { pointer: ['#', ...steps.map(encodeURIComponent)].join('/'), code, detail };
}

function validationProblem(error: unknown): Problem {
  const errors = error instanceof z.core.$ZodError ? fieldFaults(error.issues) : [];
  return new Problem(422, 'VALIDATION_FAILED', 'The request holds faults; each is listed with its place.', {
    errors,
  });
}

function domainProblem(error: DomainError): Problem {
  const extra = error.detail === undefined ? {} : { context: error.detail };
  return new Problem(statusOfDomainCode(error.code), error.code, error.message, extra);
}

function databaseProblem(error: unknown): Problem | undefined {
  const driver = readDriverError(error);
  if (driver === undefined) return undefined;
  if (isTransient(driver.sqlState)) return unavailableProblem();
  if (driver.sqlState === CHARACTER_NOT_IN_REPERTOIRE) {
    return new Problem(422, 'TEXT_NOT_STORABLE', 'A text in the request holds NUL, which no text may.');
  }
  const meaning = meaningOfViolation(driver.sqlState, driver.constraint);
  return meaning && new Problem(meaning.status ?? 409, meaning.code, meaning.detail);
}

/** The framework's messages quote the address or the body, so only the status is told. */
function httpProblem(error: HttpException): Problem {
  const status = error.getStatus();
  if (status >= 500 && status !== 503) return internalProblem();
  const title = STATUS_CODES[status] ?? 'Unknown';
  return new Problem(status, title.toUpperCase().replaceAll(/[^A-Z]+/g, '_'), `${title}.`);
}

function unavailableProblem(): Problem {
  return new Problem(
    503,
    'TEMPORARILY_UNAVAILABLE',
    'The request was not carried out; try again in a moment.',
  );
}

function uncertainProblem(): Problem {
  return new Problem(
    503,
    'OUTCOME_UNKNOWN',
    'Whether the request was carried out is not known; look before you try again.',
  );
}

function internalProblem(): Problem {
  return new Problem(
    500,
    'INTERNAL_ERROR',
    'Something went wrong inside; the request id finds it in the log.',
  );
}
