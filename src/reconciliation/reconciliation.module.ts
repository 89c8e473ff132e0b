import { Module } from '@nestjs/common';
import { OpenWorkMetrics } from './open-work-metrics';
import { Reconciliations } from './reconciliation';
import { ReconciliationController } from './reconciliation.controller';
import { ReconcilerMetrics } from './reconciler-metrics';
import { RowExport } from './row-export';
import { StandingReconciler } from './standing-reconciler';

/** Compare, explain, report; and assert what always holds. */
@Module({
  controllers: [ReconciliationController],
  providers: [OpenWorkMetrics, ReconcilerMetrics, Reconciliations, RowExport, StandingReconciler],
  exports: [Reconciliations, StandingReconciler],
})
export class ReconciliationModule {}
