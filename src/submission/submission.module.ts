import { Module } from '@nestjs/common';
import { EmployerModule } from '../employer/employer.module';
import { SuccessorModule } from '../pay-run/successor.module';
import { Abandonment } from './abandonment';
import { AddWindow } from './add-window';
import { Adder } from './adder';
import { AttentionController } from './attention.controller';
import { AttentionDesk } from './attention-desk';
import { Builder } from './builder';
import { Burial } from './burial';
import { CutOff } from './cut-off';
import { EndedInstruction } from './ended-instruction';
import { ExecutedWord } from './executed-word';
import { InstructionReader } from './read-back';
import { Recovery } from './recovery';
import { GivenUpLook } from './given-up-look';
import { ReplacedLook } from './replaced-look';
import { RestoreAdoption } from './restore-adoption';
import { RestoreCheck } from './restore-check';
import { RestoreFence } from './restore-fence';
import { RestoreOwners } from './restore-owners';
import { RestoreController } from './restore.controller';
import { RestoreSweep } from './restore-sweep';
import { RestoreWatch } from './restore-watch';
import { Restores } from './restores';
import { RunGate } from './run-gate';
import { RunWorker } from './run-worker';
import { StatusMeaning } from './status-meaning';
import { UnseenWord } from './unseen-word';
import { SubmissionService } from './submission.service';
import { SubmitLooks } from './submit-looks';
import { Submitter } from './submitter';
import { TryAgain } from './try-again';
import { UnrecordedSubmits } from './unrecorded-submits';
import { UnsubmittedLook } from './unsubmitted-look';
import { UnsubmittedProof } from './unsubmitted-proof';
import { UnsentSubmits } from './unsent-submits';
import { Verifier } from './verifier';

/** Build, gate, submit; what people decide of it; and what follows a restore. */
@Module({
  imports: [EmployerModule, SuccessorModule],
  controllers: [AttentionController, RestoreController],
  providers: [
    Abandonment,
    AddWindow,
    Adder,
    AttentionDesk,
    TryAgain,
    Builder,
    Burial,
    CutOff,
    EndedInstruction,
    ExecutedWord,
    InstructionReader,
    Recovery,
    ReplacedLook,
    GivenUpLook,
    RestoreAdoption,
    RestoreCheck,
    RestoreFence,
    RestoreOwners,
    RestoreSweep,
    RestoreWatch,
    Restores,
    RunGate,
    RunWorker,
    StatusMeaning,
    UnseenWord,
    SubmissionService,
    SubmitLooks,
    Submitter,
    UnrecordedSubmits,
    UnsentSubmits,
    UnsubmittedLook,
    UnsubmittedProof,
    Verifier,
  ],
  exports: [Restores, SubmissionService],
})
export class SubmissionModule {}
