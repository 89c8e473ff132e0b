import { Module } from '@nestjs/common';
import { PayFileIntake } from './intake';
import { PayFileController } from './pay-file.controller';
import { PayFilePreview } from './preview';
import { ProfileController } from './profile.controller';
import { ReleaseController } from './release.controller';

/** Pay files in, pay runs out, and releases of a further payment. */
@Module({
  controllers: [PayFileController, ProfileController, ReleaseController],
  providers: [PayFileIntake, PayFilePreview],
  exports: [PayFileIntake],
})
export class PayFileModule {}
