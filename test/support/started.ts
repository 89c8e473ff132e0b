import { Test } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import type { Config } from '../../src/config/env';
import { ConfigModule } from '../../src/config/config.module';
import { DatabaseModule } from '../../src/database/database.module';
import { ENTITIES } from '../../src/entities';

/** Starts what a service looks at in its database before anything else. @returns 'started', or why it does not */
export async function started(config: Config): Promise<unknown> {
  const imports = [ConfigModule.with(config), DatabaseModule.with(ENTITIES)];
  const tested = await Test.createTestingModule({ imports }).compile();
  try {
    await tested.init();
    return 'started';
  } catch (error) {
    return error;
  } finally {
    // What was not made ready Nest does not close.
    await tested.get(DataSource).destroy();
  }
}
