import { Module } from '@nestjs/common';
import { PayFileIntake } from './intake';
import { PayFileController } from './pay-file.controller';
import { ReleaseController } from './release.controller';

/** Pay files in, pay runs out, and releases of a further payment. */
@Module({
  controllers: [PayFileController, ReleaseController],
  providers: [PayFileIntake],
  exports: [PayFileIntake],
})
export class PayFileModule {}
