import { DynamicModule, Global, Module, Type } from '@nestjs/common';
import { CONFIG, Config } from '../config/env';
import { BankClient } from './client';
import { BankGateway } from './gateway';
import { SHARED_RATE, SharedBudget, type SharedRate } from './shared-budget';

/** The bank's client made from the configuration: one per process, with one pool of connections and one token. */
@Global()
@Module({
  providers: [
    {
      provide: BankClient,
      inject: [CONFIG, { token: SHARED_RATE, optional: true }],
      useFactory: clientOf,
    },
    {
      provide: BankGateway,
      inject: [BankClient],
      useFactory: (client: BankClient) => new BankGateway(client),
    },
  ],
  exports: [BankClient, BankGateway],
})
export class BankModule {
  /** With the rate of requests shared by all replicas, kept by a provider that is known everywhere. */
  static sharing(rate: Type<SharedRate>): DynamicModule {
    return { module: BankModule, providers: [{ provide: SHARED_RATE, useExisting: rate }] };
  }
}

function clientOf(config: Config, rate: SharedRate | undefined): BankClient {
  return new BankClient({
    baseUrl: config.BANK_BASE_URL,
    token: tokenOf(config),
    amountUnit: config.BANK_AMOUNT_UNIT,
    limits: { totalTimeoutMs: config.BANK_TIMEOUT_MS },
    requestsPerMinute: config.BANK_REQUESTS_PER_MINUTE,
    budget: rate && new SharedBudget(rate, config.BANK_REQUESTS_PER_MINUTE),
  });
}

function tokenOf(config: Config): ConstructorParameters<typeof BankClient>[0]['token'] {
  const { BANK_ACCESS_TOKEN, BANK_TOKEN_URL, BANK_CLIENT_ID, BANK_CLIENT_SECRET, BANK_SCOPE } = config;
  if (BANK_ACCESS_TOKEN !== undefined) return BANK_ACCESS_TOKEN;
  if (BANK_TOKEN_URL === undefined || BANK_CLIENT_ID === undefined || BANK_CLIENT_SECRET === undefined) {
    throw new Error('readConfig lets no configuration without a token pass');
  }
  return {
    tokenUrl: BANK_TOKEN_URL,
    clientId: BANK_CLIENT_ID,
    clientSecret: BANK_CLIENT_SECRET,
    scope: BANK_SCOPE,
    form: config.BANK_TOKEN_FORM,
  };
}
