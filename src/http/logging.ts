import { DynamicModule } from '@nestjs/common';
import { Request, Response } from 'express';
import { LoggerModule, Params } from 'nestjs-pino';
import { Options } from 'pino-http';
import { CONFIG, Config } from '../config/env';
import { describeError } from '../config/describe-error';
import { routeOf } from './route';

/** Addresses asked every few seconds by machines. */
const UNLOGGED = /^\/(healthz|readyz|metrics)(\?|$)/;
const SECRETS = ['authorization', 'headers', 'token', 'apiKey', 'secret', 'iban', 'body'];

/**
 * JSON logs: one line for each request with its route template, never its body, query or headers. Errors are
 * described without personal data, and well-known secret fields are cut from whatever else is logged.
 */
export function loggingOptions(level: Config['LOG_LEVEL']): Options {
  return {
    level,
    genReqId: (request) => request.id,
    quietReqLogger: true,
    quietResLogger: true,
    customAttributeKeys: { reqId: 'requestId' },
    wrapSerializers: false,
    serializers: { req: () => undefined, res: () => undefined, err: describeError },
    redact: { paths: SECRETS.flatMap((field) => [field, `*.${field}`]), censor: '[hidden]' },
    autoLogging: { ignore: (request) => UNLOGGED.test((request as Request).originalUrl) },
    customSuccessObject: (request, response, value: unknown) => line(request as Request, response, value),
    customErrorObject: (request, response, _error, value: unknown) =>
      line(request as Request, response, value),
    customErrorMessage: () => 'request failed',
  };
}

/** The logger of the service, by the level of the configuration. */
export function loggingModule(): DynamicModule {
  return LoggerModule.forRootAsync({
    inject: [CONFIG],
    useFactory: (config: Config): Params => ({
      pinoHttp: loggingOptions(config.LOG_LEVEL),
      forRoutes: ['{*path}'],
    }),
  });
}

function line(
  request: Request,
  response: Pick<Response, 'statusCode'>,
  value: unknown,
): Record<string, unknown> {
  const timed = typeof value === 'object' && value !== null && 'responseTime' in value;
  return {
    method: request.method,
    route: routeOf(request),
    status: response.statusCode,
    durationMs: timed ? value.responseTime : undefined,
  };
}
