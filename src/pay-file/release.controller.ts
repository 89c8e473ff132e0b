import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { Database } from '../database/database';
import { MAX_EMPLOYEE_ID } from '../domain/pay-file';
import { Allow } from '../http/allow';
import { decodeCursor, pageOf, PageQuery } from '../http/cursor';
import { IdParam, showId } from '../http/prefixed-id';
import { reason } from '../http/reason';
import { Me, SignedIn } from '../http/signed-in';
import { SEE_PAYMENTS } from '../http/withheld-sums';
import { CarriedOutOnce } from '../identity/idempotency.interceptor';
import { allowed, instant } from '../pay-run/pay-run.dto';
import { listReleases, ReleaseRow } from '../pay-run/release.reads';
import { releaseFurtherPay, withdrawFurtherPay } from './release';
import { kindOfPayField, periodField } from './terms';

const releaseFields = z.strictObject({
  employeeId: z.string().min(1).max(MAX_EMPLOYEE_ID),
  period: periodField,
  kindOfPay: kindOfPayField,
  reason,
});

class ReleaseBody extends createZodDto(releaseFields) {}

class ReleaseAnswer extends createZodDto(
  releaseFields.extend({ sequence: z.int().min(1), releasedAt: z.iso.datetime() }),
) {}

class WithdrawalAnswer extends createZodDto(releaseFields.extend({ withdrawn: z.int().min(1) })) {}

class ReleaseListQuery extends createZodDto(
  PageQuery.schema.extend({
    period: periodField.optional(),
    unused: z
      .literal('true')
      .optional()
      .describe('Only what nobody was paid by nor can be, so that a withdrawal takes it back.'),
  }),
) {}

const listedRelease = z.object({
  employeeId: z.string(),
  period: z.string(),
  kindOfPay: z.string(),
  ...allowed,
  status: z
    .enum(['UNUSED', 'USED', 'WITHDRAWN', 'LAPSED'])
    .describe(
      'UNUSED: nobody was paid by it or can be, so it may be withdrawn; the next file uses it unless a row by it was left out. USED: a payment has its place, or ended unpaid in it. LAPSED: it was made with a row that was left out or cancelled since, and allows nothing.',
    ),
  usedBy: z
    .object({ paymentId: z.string(), payRunId: z.string() })
    .nullable()
    .describe('The payment that has its place, or ended unpaid in it.'),
  withdrawn: z
    .object({
      at: instant,
      by: z
        .object({ id: z.string(), name: z.string() })
        .nullable()
        .describe('Null: the service, after a restore.'),
      reason: z.string(),
    })
    .nullable(),
});

class ReleasePage extends createZodDto(
  z.object({ items: z.array(listedRelease), nextCursor: z.string().nullable() }),
) {}

const position = z.object({ id: z.uuid() });

/** Permissions to pay an employee a second time in a period. */
@ApiTags('pay files')
@Controller('v1/employers/:employerId/releases')
export class ReleaseController {
  constructor(private readonly database: Database) {}

  @Get()
  @Allow(...SEE_PAYMENTS)
  @ApiOperation({ summary: 'Who allowed which further pay, why, and what became of it; the newest first' })
  @ApiOkResponse({ type: ReleasePage })
  async list(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Query() { limit, cursor, period, unused }: ReleaseListQuery,
  ): Promise<ReleasePage> {
    const before = cursor === undefined ? undefined : decodeCursor(cursor, position).id;
    const rows = await this.database.inEmployer(employerId, (tx) =>
      listReleases(tx, { before, period, unused: unused === 'true' }, limit + 1),
    );
    const { items, nextCursor } = pageOf(rows, limit, ({ id }) => ({ id }));
    return { items: items.map(showRelease), nextCursor };
  }

  @Post()
  @CarriedOutOnce()
  @Allow('approver')
  @ApiOperation({
    summary: 'Allows a file of somebody else one further payment to an employee paid in the period already',
  })
  @ApiCreatedResponse({ type: ReleaseAnswer })
  async release(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
    @Body() body: ReleaseBody,
  ): Promise<ReleaseAnswer> {
    const made = await this.database.inEmployer(employerId, (tx) => releaseFurtherPay(tx, me.personId, body));
    return { ...body, sequence: made.sequence, releasedAt: made.releasedAt.toISOString() };
  }

  @Post('withdrawal')
  @CarriedOutOnce()
  @HttpCode(200)
  @Allow('approver')
  @ApiOperation({ summary: 'Takes back what was allowed to be paid once more and was not used' })
  @ApiOkResponse({ type: WithdrawalAnswer })
  async withdraw(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
    @Body() body: ReleaseBody,
  ): Promise<WithdrawalAnswer> {
    const withdrawn = await this.database.inEmployer(employerId, (tx) =>
      withdrawFurtherPay(tx, me.personId, body),
    );
    return { ...body, withdrawn };
  }
}

function showRelease(row: ReleaseRow): z.infer<typeof listedRelease> {
  const { payment_id: paymentId, pay_run_id: payRunId, withdrawn_at: withdrawnAt } = row;
  return {
    employeeId: row.employee_id,
    period: row.period,
    kindOfPay: row.kind_of_pay,
    sequence: row.sequence,
    reason: row.reason,
    releasedBy: { id: showId('per', row.released_by), name: row.releaser_name },
    releasedAt: row.released_at.toISOString(),
    status: statusOf(row),
    usedBy:
      paymentId === null || payRunId === null
        ? null
        : { paymentId: showId('pay', paymentId), payRunId: showId('run', payRunId) },
    withdrawn: withdrawnAt && {
      at: withdrawnAt.toISOString(),
      by:
        row.withdrawn_by === null
          ? null
          : { id: showId('per', row.withdrawn_by), name: row.withdrawer_name ?? '' },
      reason: row.withdrawn_reason ?? '',
    },
  };
}

function statusOf(row: ReleaseRow): z.infer<typeof listedRelease>['status'] {
  if (row.withdrawn_at !== null) return 'WITHDRAWN';
  if (row.payment_id !== null) return 'USED';
  return row.stands ? 'UNUSED' : 'LAPSED';
}
