import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { Database } from '../database/database';
import { MAX_EMPLOYEE_ID } from '../domain/pay-file';
import { Allow } from '../http/allow';
import { IdParam } from '../http/prefixed-id';
import { reason } from '../http/reason';
import { Me, SignedIn } from '../http/signed-in';
import { CarriedOutOnce } from '../identity/idempotency.interceptor';
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

/** Permissions to pay an employee a second time in a period. */
@ApiTags('pay files')
@Controller('v1/employers/:employerId/releases')
export class ReleaseController {
  constructor(private readonly database: Database) {}

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
