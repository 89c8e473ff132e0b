import { Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AuthGuard } from './auth.guard';
import { IdempotencyInterceptor } from './idempotency.interceptor';
import { IdempotencyKeys } from './idempotency-keys';
import { KeyHolders } from './key-holder';
import { MeController } from './me.controller';
import { People } from './people.service';

/** Who asks, and whether this was asked before. Guards every route of the application. */
@Module({
  controllers: [MeController],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
    IdempotencyKeys,
    KeyHolders,
    People,
  ],
  exports: [IdempotencyKeys, People],
})
export class IdentityModule {}
