import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { Database } from '../database/database';
import { isPeriod } from '../domain/business-day';
import { findEmployer } from '../employer/employer.store';
import { Allow } from '../http/allow';
import { decodeCursor, Page, pageOf, PageQuery } from '../http/cursor';
import { IdParam } from '../http/prefixed-id';
import { Me, SignedIn } from '../http/signed-in';
import { CarriedOutOnce } from '../identity/idempotency.interceptor';
import {
  NewScheduleBody,
  PeriodBody,
  PeriodPage,
  readTerms,
  ScheduleBody,
  ScheduleChangeBody,
  SchedulePage,
  showPeriod,
  showSchedule,
} from './pay-schedule-bodies';
import { OverduePeriods } from './overdue-periods';
import { PaySchedules } from './pay-schedules';

const schedulePosition = z.object({ id: z.uuid() });
const periodPosition = z.object({ period: z.string().refine(isPeriod) });

/** When an employer pays every month, and the months made of it. */
@ApiTags('schedules')
@Controller('v1/employers/:employerId/schedules')
export class PayScheduleController {
  constructor(
    private readonly database: Database,
    private readonly schedules: PaySchedules,
    private readonly overduePeriods: OverduePeriods,
  ) {}

  @Post()
  @CarriedOutOnce()
  @Allow('operator')
  @ApiOperation({ summary: 'A new schedule; its next periods are made at once' })
  @ApiCreatedResponse({ type: ScheduleBody })
  async create(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Body() body: NewScheduleBody,
    @Me() me: SignedIn,
  ): Promise<ScheduleBody> {
    const schedule = await this.database.inEmployer(employerId, async (tx) =>
      this.schedules.create(tx, me.personId, readTerms(body, await findEmployer(tx))),
    );
    return showSchedule(schedule);
  }

  @Get()
  @Allow('any')
  @ApiOperation({ summary: 'Schedules, newest first' })
  @ApiOkResponse({ type: SchedulePage })
  async list(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Query() { limit, cursor }: PageQuery,
  ): Promise<Page<ScheduleBody>> {
    const before = cursor === undefined ? undefined : decodeCursor(cursor, schedulePosition).id;
    const schedules = await this.database.inEmployer(employerId, (tx) =>
      this.schedules.list(tx, before, limit + 1),
    );
    const { items, nextCursor } = pageOf(schedules, limit, ({ id }) => ({ id }));
    return { items: items.map(showSchedule), nextCursor };
  }

  @Patch(':scheduleId')
  @Allow('operator')
  @ApiOperation({ summary: 'Ends a schedule for good' })
  @ApiOkResponse({ type: ScheduleBody })
  async change(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('scheduleId', new IdParam('sch')) scheduleId: string,
    @Body() _change: ScheduleChangeBody,
    @Me() me: SignedIn,
  ): Promise<ScheduleBody> {
    const schedule = await this.database.inEmployer(employerId, (tx) =>
      this.schedules.deactivate(tx, me.personId, scheduleId),
    );
    return showSchedule(schedule);
  }

  @Get(':scheduleId/periods')
  @Allow('any')
  @ApiOperation({ summary: 'Periods of a schedule, the latest month first' })
  @ApiOkResponse({ type: PeriodPage })
  async periods(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('scheduleId', new IdParam('sch')) scheduleId: string,
    @Query() { limit, cursor }: PageQuery,
  ): Promise<Page<PeriodBody>> {
    const before = cursor === undefined ? undefined : decodeCursor(cursor, periodPosition).period;
    return this.database.inEmployer(employerId, async (tx) => {
      const schedule = await this.schedules.find(tx, scheduleId);
      const periods = await this.schedules.periods(tx, scheduleId, before, limit + 1);
      const overdue = await this.overduePeriods.among(tx, schedule, periods);
      const shown = periods.map((one) => showPeriod(one, overdue.has(one.period)));
      return pageOf(shown, limit, ({ period }) => ({ period }));
    });
  }
}
