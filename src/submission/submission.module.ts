import { Module } from '@nestjs/common';
import { EmployerModule } from '../employer/employer.module';
import { SuccessorModule } from '../pay-run/successor.module';
import { Abandonment } from './abandonment';
import { AddWindow } from './add-window';
import { Adder } from './adder';
import { Builder } from './builder';
import { Burial } from './burial';
import { CutOff } from './cut-off';
import { GivenUpLook } from './given-up-look';
import { Initiation } from './initiation';
import { InstructionReader } from './read-back';
import { Recovery } from './recovery';
import { ReplacedLook } from './replaced-look';
import { RunGate } from './run-gate';
import { RunWorker } from './run-worker';
import { SubmissionService } from './submission.service';
import { SubmitLooks } from './submit-looks';
import { Submitter } from './submitter';
import { UnsentSubmits } from './unsent-submits';
import { UnsubmittedLook } from './unsubmitted-look';
import { UnsubmittedProof } from './unsubmitted-proof';
import { Verifier } from './verifier';

/** Build, gate, submit. */
@Module({
  imports: [EmployerModule, SuccessorModule],
  providers: [
    Abandonment,
    AddWindow,
    Adder,
    Builder,
    Burial,
    CutOff,
    GivenUpLook,
    Initiation,
    InstructionReader,
    Recovery,
    ReplacedLook,
    RunGate,
    RunWorker,
    SubmissionService,
    SubmitLooks,
    Submitter,
    UnsentSubmits,
    UnsubmittedLook,
    UnsubmittedProof,
    Verifier,
  ],
  exports: [Burial, InstructionReader, SubmissionService, UnsubmittedProof],
})
export class SubmissionModule {}
