import { ArgumentsHost, Catch, ExceptionFilter, Inject, Logger } from '@nestjs/common';
import { Request, Response } from 'express';
import { ZodValidationException } from 'nestjs-zod';
import { z } from 'zod';
import { describeError } from '../config/describe-error';
import { hasBody } from './has-body';
import { Problem } from './problem';
import { requestIdOf } from './request-id';
import { PassingErrors, toProblem } from './to-problem';

/** Injection token of the error classes that mean "try again a little later": `PassingErrors`. */
export const PASSING_ERRORS = Symbol('PassingErrors');

/** What a route that reads JSON answers a body that no parser took, as it is not said to be JSON. */
const BODY_NOT_JSON = new Problem(
  415,
  'BODY_NOT_JSON',
  'This address takes JSON: send it with the header Content-Type: application/json.',
);

/** A lease or a lost connection is back within seconds. */
const RETRY_AFTER_SECONDS = '5';

/** Answers every error as `application/problem+json` (RFC 9457). */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Http');

  constructor(@Inject(PASSING_ERRORS) private readonly passing: PassingErrors) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    const problem = isUnparsed(error, request) ? BODY_NOT_JSON : toProblem(error, this.passing);
    const requestId = requestIdOf(request);
    if (problem.status >= 500) this.log(problem, requestId, error);
    // An answer that has begun cannot become another one; cutting it tells the client that it is not whole.
    if (response.headersSent) return void response.destroy();
    if (problem.status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
    if (problem.status === 503) response.setHeader('Retry-After', RETRY_AFTER_SECONDS);
    response
      .status(problem.status)
      .type('application/problem+json')
      .send(JSON.stringify(problem.toBody(request.originalUrl.split('?', 1)[0] ?? '/', requestId)));
  }

  private log({ status, code }: Problem, requestId: string, error: unknown): void {
    const line = { requestId, code, error: describeError(error) };
    if (status === 503) this.logger.warn(line);
    else this.logger.error(line);
  }
}

/** Whether a body is missed that was there: of another type, it was left to the route. */
function isUnparsed(error: unknown, request: Request): boolean {
  if (!(error instanceof ZodValidationException) || request.body !== undefined) return false;
  const faults = error.getZodError();
  if (!(faults instanceof z.core.$ZodError) || !hasBody(request)) return false;
  return faults.issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0);
}
