import { DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { ZodValidationPipe } from 'nestjs-zod';
import { HealthController } from './health.controller';
import { loggingModule } from './logging';
import { Metrics } from './metrics';
import { ProblemFilter, UNAVAILABLE_ERRORS } from './problem.filter';
import { Readiness } from './readiness';
import { ErrorClass } from './to-problem';

/** Problems, validation of DTOs, health, metrics and logs; `Metrics` and `Readiness` are available everywhere. */
@Module({})
export class HttpModule {
  /** @param unavailable error classes of the rooms above, after which a client may try again (503). */
  static with(unavailable: readonly ErrorClass[]): DynamicModule {
    return {
      module: HttpModule,
      global: true,
      imports: [loggingModule()],
      controllers: [HealthController],
      providers: [
        { provide: UNAVAILABLE_ERRORS, useValue: unavailable },
        { provide: APP_FILTER, useClass: ProblemFilter },
        { provide: APP_PIPE, useClass: ZodValidationPipe },
        Metrics,
        Readiness,
      ],
      exports: [Metrics, Readiness],
    };
  }
}
