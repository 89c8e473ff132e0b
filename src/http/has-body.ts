import { Request } from 'express';

/** Whether a request came with a body, whoever has read it. */
export function hasBody(request: Request): boolean {
  return request.get('transfer-encoding') !== undefined || Number(request.get('content-length') ?? 0) > 0;
}
