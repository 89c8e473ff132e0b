import { Module } from '@nestjs/common';
import { EmployerModule } from '../employer/employer.module';
import { FollowService } from './follow.service';
import { Follower } from './follower';
import { PaymentSource } from './payment-source';
import { TombstoneWatch } from './tombstone-watch';
import { WebhookController } from './webhook.controller';
import { WebhookInbox } from './webhook-inbox';

@Module({
  imports: [EmployerModule],
  controllers: [WebhookController],
  providers: [FollowService, Follower, PaymentSource, TombstoneWatch, WebhookInbox],
  exports: [FollowService],
})
export class SettlementModule {}
