import { Injectable } from '@nestjs/common';
import { NextFunction, Request, Response } from 'express';
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { routeOf } from './route';

/** From an answer out of memory to a large upload. */
const BUCKETS_SECONDS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

/** The service's measures. Other rooms register theirs in `registry`; labels never hold an id of anything. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  private readonly duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of HTTP requests by route template, method and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** Middleware that measures every request until its answer is sent or its connection lost. */
  readonly measure = (request: Request, response: Response, next: NextFunction): void => {
    const stop = this.duration.startTimer();
    response.once('close', () =>
      stop({ method: request.method, route: routeOf(request), status: String(response.statusCode) }),
    );
    next();
  };
}
