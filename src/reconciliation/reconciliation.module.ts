import { Module } from '@nestjs/common';
import { Reconciliations } from './reconciliation';
import { ReconciliationController } from './reconciliation.controller';
import { RowExport } from './row-export';

/** Compare, explain, report. */
@Module({
  controllers: [ReconciliationController],
  providers: [Reconciliations, RowExport],
  exports: [Reconciliations],
})
export class ReconciliationModule {}
