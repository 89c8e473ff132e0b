import { DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { ZodValidationPipe } from 'nestjs-zod';
import { Connections } from './connections';
import { HealthController } from './health.controller';
import { loggingModule } from './logging';
import { Metrics } from './metrics';
import { ProblemFilter, PASSING_ERRORS } from './problem.filter';
import { Readiness } from './readiness';
import { ErrorClass, PassingErrors } from './to-problem';

/** Problems, validation of DTOs, health, metrics and logs; `Metrics` and `Readiness` are available everywhere. */
@Module({})
export class HttpModule {
  /**
   * @param unavailable error classes after which a client may try again (503).
   * @param uncertain the same, where the request may have been carried out.
   */
  static with(unavailable: readonly ErrorClass[], uncertain: readonly ErrorClass[] = []): DynamicModule {
    return {
      module: HttpModule,
      global: true,
      imports: [loggingModule()],
      controllers: [HealthController],
      providers: [
        { provide: PASSING_ERRORS, useValue: { unavailable, uncertain } satisfies PassingErrors },
        { provide: APP_FILTER, useClass: ProblemFilter },
        { provide: APP_PIPE, useClass: ZodValidationPipe },
        Connections,
        Metrics,
        Readiness,
      ],
      exports: [Metrics, Readiness],
    };
  }
}
