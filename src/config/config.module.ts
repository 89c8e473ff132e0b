import { DynamicModule, Global, Module } from '@nestjs/common';
import { Clock } from './clock';
import { CONFIG, Config } from './env';
import { Shutdown } from './shutdown';

/** What every room may inject. */
@Global()
@Module({})
export class ConfigModule {
  /** Makes the configuration, the clock and the time left at the end available everywhere. */
  static with(config: Config): DynamicModule {
    const providers = [{ provide: CONFIG, useValue: config }, Clock, Shutdown];
    return { module: ConfigModule, providers, exports: providers };
  }
}
