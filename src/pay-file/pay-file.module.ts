import { Module } from '@nestjs/common';
import { Corrections } from './corrections';
import { CorrectionsController } from './corrections.controller';
import { PayFileIntake } from './intake';
import { IntakeTurns } from './intake-turns';
import { PayFileController } from './pay-file.controller';
import { PayFilePreview } from './preview';
import { ProfileController } from './profile.controller';
import { ReleaseController } from './release.controller';

/** Pay files in, pay runs out, and releases of a further payment. */
@Module({
  controllers: [PayFileController, CorrectionsController, ProfileController, ReleaseController],
  providers: [Corrections, IntakeTurns, PayFileIntake, PayFilePreview],
  exports: [PayFileIntake],
})
export class PayFileModule {}
