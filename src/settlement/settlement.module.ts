import { Module } from '@nestjs/common';
import { EmployerModule } from '../employer/employer.module';
import { AccountWatch } from './account-watch';
import { BalanceLook } from './balance-look';
import { BankEventController, InstallationEventController } from './bank-event.controller';
import { FollowRecord } from './follow-record';
import { FollowService } from './follow.service';
import { Follower } from './follower';
import { InstructionGlance } from './instruction-glance';
import { Lateness } from './lateness';
import { PaymentSource } from './payment-source';
import { TombstoneWatch } from './tombstone-watch';
import { TotalsCheck } from './totals-check';
import { WebhookController } from './webhook.controller';
import { WebhookInbox } from './webhook-inbox';

/** Follow to the end: what the bank shows, and says by webhook, of what was submitted. */
@Module({
  imports: [EmployerModule],
  controllers: [BankEventController, InstallationEventController, WebhookController],
  providers: [
    AccountWatch,
    BalanceLook,
    FollowRecord,
    FollowService,
    Follower,
    InstructionGlance,
    Lateness,
    PaymentSource,
    TombstoneWatch,
    TotalsCheck,
    WebhookInbox,
  ],
  exports: [AccountWatch, FollowRecord, FollowService],
})
export class SettlementModule {}
