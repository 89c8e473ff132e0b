import { Module } from '@nestjs/common';
import { ScheduleModule as IntervalModule } from '@nestjs/schedule';
import { allEnded } from '../config/all-ended';
import { CONFIG, Config } from '../config/env';
import { ClockWatch } from '../database/clock-watch';
import { Database } from '../database/database';
import { LeaseKind, Leases } from '../database/leases';
import { DAY_MS, HOUR_MS } from '../domain/durations';
import { EmployerModule } from '../employer/employer.module';
import { HookService } from '../employer/hook.service';
import { IdentityModule } from '../identity/identity.module';
import { ReconciliationModule } from '../reconciliation/reconciliation.module';
import { StandingReconciler } from '../reconciliation/standing-reconciler';
import { RestoreModule } from '../restore/restore.module';
import { Restores } from '../restore/restores';
import { AccountWatch } from '../settlement/account-watch';
import { FollowService } from '../settlement/follow.service';
import { SettlementModule } from '../settlement/settlement.module';
import { SubmissionModule } from '../submission/submission.module';
import { SubmissionService } from '../submission/submission.service';
import { forEveryEmployer } from './every-employer';
import { Maintenance } from './maintenance';
import { OverduePeriods } from './overdue-periods';
import { PayScheduleController } from './pay-schedule.controller';
import { PaySchedules } from './pay-schedules';
import { PeriodMaker } from './period-maker';
import { Tick, Ticker, TICKS } from './ticker';
import { WaitingRuns } from './waiting-runs';

/** Periods are made two months ahead, and a new schedule's at once. */
const PERIODS_LOOK_MS = HOUR_MS;
const CLOCK_CHECK_MS = 30_000;
/** Often enough that what is over, as a stop, is not asked about for long, and an approval can still be given. */
const DUE_LOOK_MS = 60_000;

/** Everything the service does by the clock, and the pay schedules of employers. */
@Module({
  imports: [
    IntervalModule.forRoot(),
    IdentityModule,
    EmployerModule,
    SubmissionModule,
    RestoreModule,
    SettlementModule,
    ReconciliationModule,
  ],
  controllers: [PayScheduleController],
  providers: [
    Maintenance,
    OverduePeriods,
    PaySchedules,
    PeriodMaker,
    Ticker,
    WaitingRuns,
    {
      provide: TICKS,
      inject: [
        CONFIG,
        Restores,
        Leases,
        SubmissionService,
        FollowService,
        AccountWatch,
        HookService,
        PeriodMaker,
        OverduePeriods,
        WaitingRuns,
        Maintenance,
        StandingReconciler,
        Database,
        ClockWatch,
      ],
      useFactory: ticksOf,
    },
  ],
})
export class ScheduleModule {}

function ticksOf(
  { TICK_MS, HOOK_CHECK_MS, RECONCILE_MS }: Config,
  restores: Restores,
  leases: Leases,
  submission: SubmissionService,
  follow: FollowService,
  accounts: AccountWatch,
  hooks: HookService,
  periods: PeriodMaker,
  overdue: OverduePeriods,
  waiting: WaitingRuns,
  maintenance: Maintenance,
  reconciler: StandingReconciler,
  database: Database,
  clock: ClockWatch,
): readonly Tick[] {
  return [
    // No partition can be made of a month of which rows are in the rest already.
    { name: 'partitions', everyMs: DAY_MS, first: true, run: () => maintenance.ensurePartitions() },
    { name: 'clock', everyMs: CLOCK_CHECK_MS, run: () => clock.check() },
    { name: 'times ahead', everyMs: CLOCK_CHECK_MS, run: () => leases.setRight() },
    { name: 'restores', everyMs: TICK_MS, run: () => restores.tick() },
    leasedWork(TICK_MS, leases, [submission, follow, accounts]),
    { name: 'unsent submits', everyMs: TICK_MS, run: () => submission.takeBackUnsent() },
    { name: 'hook', everyMs: HOOK_CHECK_MS, run: () => hooks.ensureHook() },
    {
      name: 'reconciler',
      everyMs: RECONCILE_MS,
      run: () => forEveryEmployer(database, 'all', async (id) => void (await reconciler.check(id))),
      drain: () => reconciler.drain(),
    },
    { name: 'pay periods', everyMs: PERIODS_LOOK_MS, run: () => periods.tick() },
    { name: 'overdue periods', everyMs: DUE_LOOK_MS, run: () => overdue.tick() },
    { name: 'waiting runs', everyMs: DUE_LOOK_MS, run: () => waiting.tick() },
    { name: 'idempotency keys', everyMs: DAY_MS, run: () => maintenance.forgetIdempotencyKeys() },
    { name: 'refused files', everyMs: DAY_MS, run: () => maintenance.forgetRefusedFiles() },
  ];
}

interface Claiming {
  tick(due: ReadonlySet<LeaseKind>): Promise<void>;
  drain(): Promise<void>;
}

/** Work that a tick only starts, where one question for all of it says that any is due: it is waited for at the end. */
function leasedWork(everyMs: number, leases: Leases, claiming: readonly Claiming[]): Tick {
  return {
    name: 'leased work',
    everyMs,
    run: async () => {
      const due = await leases.due();
      await allEnded(claiming.map((one) => one.tick(due)));
    },
    drain: () => allEnded(claiming.map((one) => one.drain())),
  };
}
