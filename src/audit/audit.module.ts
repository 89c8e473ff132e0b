import { Module } from '@nestjs/common';
import { AuditController } from './audit.controller';

/** Reading the audit chains; writing is the function `append`, inside the transaction of what is audited. */
@Module({ controllers: [AuditController] })
export class AuditModule {}
