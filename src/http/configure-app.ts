import { NestApplicationOptions } from '@nestjs/common';
import { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import helmet, { contentSecurityPolicy } from 'helmet';
import { Logger } from 'nestjs-pino';
import { jsonBody, refusedBody, webhookBody } from './body-parsers';
import { endLogContexts } from './log-context';
import { Metrics } from './metrics';
import { DOCS_PATH } from './openapi';
import { requestId } from './request-id';

/** How the application must be created: the framework's own parsers would eat uploads and webhooks. */
export const APP_OPTIONS = { bodyParser: false, bufferLogs: true } as const satisfies NestApplicationOptions;

/** Everything comes from this process; nobody may frame it. No `upgrade-insecure-requests`: a proxy ends TLS. */
const POLICY = {
  defaultSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'self'"],
  frameAncestors: ["'none'"],
  imgSrc: ["'self'", 'data:'],
  objectSrc: ["'none'"],
  scriptSrc: ["'self'"],
};

/** Swagger UI writes style attributes; only its page may. */
const DOCS_POLICY = { ...POLICY, styleSrc: ["'self'", "'unsafe-inline'"] };

/** What stands before every route; the same for the service and for tests. Call it before the app listens. */
export function configureApp(app: NestExpressApplication): void {
  app.useLogger(app.get(Logger));
  app.disable('x-powered-by');
  // Express would make tags of bodies; ours are of revisions, for If-Match.
  app.disable('etag');
  app.use(requestId);
  app.use(endLogContexts);
  app.use(app.get(Metrics).measure);
  app.use(helmet({ contentSecurityPolicy: { useDefaults: false, directives: POLICY } }));
  // Almost every answer holds salaries, or what tells of them.
  app.use('/v1', (_: Request, response: Response, next: NextFunction) => {
    response.setHeader('Cache-Control', 'no-store');
    next();
  });
  app.use(DOCS_PATH, contentSecurityPolicy({ useDefaults: false, directives: DOCS_POLICY }));
  app.use('/webhooks', webhookBody());
  app.use(jsonBody());
  app.use(refusedBody);
}
