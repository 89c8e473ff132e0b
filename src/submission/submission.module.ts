import { Module } from '@nestjs/common';
import { EmployerModule } from '../employer/employer.module';
import { SuccessorModule } from '../pay-run/successor.module';
import { Abandonment } from './abandonment';
import { AttentionController } from './attention.controller';
import { AttentionDesk } from './attention-desk';
import { Builder } from './builder';
import { Burial } from './burial';
import { InstructionReader } from './read-back';
import { Recovery } from './recovery';
import { RunGate } from './run-gate';
import { RunWorker } from './run-worker';
import { SubmissionService } from './submission.service';
import { Submitter } from './submitter';
import { UnsentSubmits } from './unsent-submits';
import { Verifier } from './verifier';

@Module({
  imports: [EmployerModule, SuccessorModule],
  controllers: [AttentionController],
  providers: [
    Abandonment,
    AttentionDesk,
    Builder,
    Burial,
    InstructionReader,
    Recovery,
    RunGate,
    RunWorker,
    SubmissionService,
    Submitter,
    UnsentSubmits,
    Verifier,
  ],
  exports: [SubmissionService],
})
export class SubmissionModule {}
