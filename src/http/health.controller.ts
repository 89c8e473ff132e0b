import { Controller, Get, Header, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Response } from 'express';
import { Public } from './allow';
import { Metrics } from './metrics';
import { Readiness } from './readiness';

/** What machines ask: is the process up, does it want requests, what does it measure. */
@ApiExcludeController()
@Public()
@Controller()
export class HealthController {
  constructor(
    private readonly readiness: Readiness,
    private readonly measures: Metrics,
  ) {}

  @Get('healthz')
  up(): { status: 'up' } {
    return { status: 'up' };
  }

  @Get('readyz')
  async ready(@Res({ passthrough: true }) response: Response): Promise<Record<string, unknown>> {
    const { ready, checks } = await this.readiness.report();
    response.status(ready ? 200 : 503);
    return { status: ready ? 'ready' : 'not ready', checks };
  }

  @Get('metrics')
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  metrics(): Promise<string> {
    return this.measures.registry.metrics();
  }
}
