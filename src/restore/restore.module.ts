import { Module } from '@nestjs/common';
import { EmployerModule } from '../employer/employer.module';
import { SubmissionModule } from '../submission/submission.module';
import { RestoreAdoption } from './restore-adoption';
import { RestoreCheck } from './restore-check';
import { RestoreFence } from './restore-fence';
import { RestoreOwners } from './restore-owners';
import { RestoreSweep } from './restore-sweep';
import { RestoreWatch } from './restore-watch';
import { RestoreController } from './restore.controller';
import { Restores } from './restores';
import { UnrecordedSubmits } from './unrecorded-submits';

/** What follows a restore of the database: the bank is read for what the record has forgotten. */
@Module({
  imports: [EmployerModule, SubmissionModule],
  controllers: [RestoreController],
  providers: [
    RestoreAdoption,
    RestoreCheck,
    RestoreFence,
    RestoreOwners,
    RestoreSweep,
    RestoreWatch,
    Restores,
    UnrecordedSubmits,
  ],
  exports: [Restores, UnrecordedSubmits],
})
export class RestoreModule {}
