import { randomUUID } from 'node:crypto';
import { NextFunction, Request, Response } from 'express';

/** Longer ones, or ones with other characters, are replaced: the id goes into logs and headers as it is. */
const SAFE_ID = /^[A-Za-z0-9._:-]{1,64}$/;

/** Middleware: takes over the caller's `X-Request-Id` or makes one, and echoes it. */
export function requestId(request: Request, response: Response, next: NextFunction): void {
  const given = request.get('x-request-id');
  const id = given !== undefined && SAFE_ID.test(given) ? given : randomUUID();
  request.id = id;
  response.setHeader('X-Request-Id', id);
  next();
}

/** The id of a request, as echoed. */
export function requestIdOf(request: Request): string {
  return typeof request.id === 'string' ? request.id : '';
}
