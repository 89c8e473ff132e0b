import { DynamicModule, Module } from '@nestjs/common';
import { AttentionModule } from './attention/attention.module';
import { AuditModule } from './audit/audit.module';
import { BankModule } from './bank/bank.module';
import { TooMuchWaits } from './config/batches';
import { ConfigModule } from './config/config.module';
import { Config } from './config/env';
import { BankRate } from './database/bank-rate';
import { DatabaseHealth } from './database-health';
import { DatabaseModule } from './database/database.module';
import { DatabaseAway, NotDurable } from './database/outage';
import { Fenced } from './database/leases';
import { EmployerModule } from './employer/employer.module';
import { ENTITIES } from './entities';
import { HttpModule } from './http/http.module';
import { IdentityModule } from './identity/identity.module';
import { PayFileModule } from './pay-file/pay-file.module';
import { PayRunModule } from './pay-run/pay-run.module';
import { SuccessorModule } from './pay-run/successor.module';
import { ReconciliationModule } from './reconciliation/reconciliation.module';
import { RestoreModule } from './restore/restore.module';
import { ScheduleModule } from './schedule/schedule.module';
import { SettlementModule } from './settlement/settlement.module';
import { SubmissionModule } from './submission/submission.module';

/** The rooms in the order the data visits them. */
@Module({})
export class AppModule {
  static with(config: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.with(config),
        DatabaseModule.with(ENTITIES),
        HttpModule.with([DatabaseAway, Fenced, TooMuchWaits], [NotDurable]),
        BankModule.sharing(BankRate),
        IdentityModule,
        AuditModule,
        EmployerModule,
        PayRunModule,
        SuccessorModule,
        PayFileModule,
        SubmissionModule,
        RestoreModule,
        AttentionModule,
        SettlementModule,
        ReconciliationModule,
        ScheduleModule,
      ],
      providers: [DatabaseHealth],
    };
  }
}
