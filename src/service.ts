import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module';
import { Config } from './config/env';
import { keepHeapSmall } from './config/heap';
import { APP_OPTIONS, configureApp } from './http/configure-app';
import { describeApi } from './http/openapi';

/** Starts the service and answers with it and its address; `close` drains it. */
export async function startService(config: Config): Promise<{ app: NestExpressApplication; url: string }> {
  keepHeapSmall();
  const app = await NestFactory.create<NestExpressApplication>(AppModule.with(config), APP_OPTIONS);
  configureApp(app);
  describeApi(app);
  // A process that a signal ends does not write the last lines of its log.
  app.enableShutdownHooks([], { useProcessExit: true });
  await app.listen(config.PORT, config.HOST);
  return { app, url: await app.getUrl() };
}
