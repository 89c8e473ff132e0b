import { Module } from '@nestjs/common';
import { AuditController, ServiceAuditController } from './audit.controller';

/** Reading the audit chains; writing is the function `append`, inside the transaction of what is audited. */
@Module({ controllers: [AuditController, ServiceAuditController] })
export class AuditModule {}
