import { Module } from '@nestjs/common';
import { EmployerModule } from '../employer/employer.module';
import { SuccessorModule } from '../pay-run/successor.module';
import { RestoreModule } from '../restore/restore.module';
import { SettlementModule } from '../settlement/settlement.module';
import { SubmissionModule } from '../submission/submission.module';
import { AttentionController } from './attention.controller';
import { AttentionDesk } from './attention-desk';
import { EndedInstruction } from './ended-instruction';
import { ExecutedWord } from './executed-word';
import { InstructionSight } from './instruction-sight';
import { StatusMeaning } from './status-meaning';
import { TryAgain } from './try-again';
import { UnseenWord } from './unseen-word';

/** The attention desk: what people are asked, and what they decide. */
@Module({
  imports: [EmployerModule, SuccessorModule, SubmissionModule, SettlementModule, RestoreModule],
  controllers: [AttentionController],
  providers: [
    AttentionDesk,
    EndedInstruction,
    ExecutedWord,
    InstructionSight,
    StatusMeaning,
    TryAgain,
    UnseenWord,
  ],
})
export class AttentionModule {}
