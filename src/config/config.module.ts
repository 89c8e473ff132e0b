import { DynamicModule, Global, Module } from '@nestjs/common';
import { Clock } from './clock';
import { CONFIG, Config } from './env';

@Global()
@Module({})
export class ConfigModule {
  /** Makes the configuration and the clock available everywhere. */
  static with(config: Config): DynamicModule {
    const providers = [{ provide: CONFIG, useValue: config }, Clock];
    return { module: ConfigModule, providers, exports: providers };
  }
}
