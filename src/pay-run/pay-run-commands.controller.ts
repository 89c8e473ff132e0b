import { Body, Controller, Delete, HttpCode, Post, Res, UseInterceptors } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { Response } from 'express';
import { Allow } from '../http/allow';
import { etagOf } from '../http/etag';
import { WithheldSums } from '../http/withheld-sums';
import { CarriedOutOnce, SkipIdempotency } from '../identity/idempotency.interceptor';
import { TicksRequest } from './comparison.dto';
import { PayRunCommands } from './pay-run.commands';
import { AmendmentRequest, ApprovalRequest, ReasonRequest, ResumeRequest, RunBody } from './pay-run.dto';
import { RunRecord } from './pay-run.reads';
import { showRun } from './pay-run.view';
import { Command, RunCommand } from './run-command';

/** What people do to a pay run. Every answer is the run as it stands after it, with its entity tag. */
@ApiTags('pay runs')
@ApiParam({ name: 'employerId', type: String })
@ApiParam({ name: 'runId', type: String })
@ApiHeader({ name: 'If-Match', required: false, description: 'Only if the run still has this entity tag.' })
@UseInterceptors(WithheldSums)
@Controller('v1/employers/:employerId/pay-runs/:runId')
export class PayRunCommandsController {
  constructor(private readonly commands: PayRunCommands) {}

  @Post('approvals')
  @CarriedOutOnce()
  @HttpCode(200)
  @Allow('approver')
  @ApiOperation({
    summary: 'Approves exactly the rows behind the root hash; not for who prepared any of them',
  })
  @ApiOkResponse({ type: RunBody })
  async approve(
    @RunCommand() command: Command,
    @Body() { rootHash, total }: ApprovalRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunBody> {
    return answer(await this.commands.approve(command, { rootHash, totalMinor: total }), response);
  }

  @Post('iban-ticks')
  @HttpCode(200)
  @Allow('approver')
  @ApiOperation({
    summary:
      'Says which new IBANs were looked at, one by one or all for a reason; not for who prepared the run',
  })
  @ApiOkResponse({ type: RunBody })
  async tickIbans(
    @RunCommand() command: Command,
    @Body() body: TicksRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunBody> {
    return answer(await this.commands.tickIbans(command, body), response);
  }

  @Delete('approvals')
  @Allow('approver', 'operator')
  @ApiOperation({ summary: 'Takes every approval back, as long as nothing is at the bank' })
  @ApiOkResponse({ type: RunBody })
  async voidApprovals(
    @RunCommand() command: Command,
    @Body() { reason }: ReasonRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunBody> {
    return answer(await this.commands.voidApprovals(command, reason), response);
  }

  @Post('amendments')
  @CarriedOutOnce()
  @HttpCode(200)
  @Allow('preparer')
  @ApiOperation({
    summary: 'Takes payments out, or moves the date or the submit; the run needs a new approval',
  })
  @ApiOkResponse({ type: RunBody })
  async amend(
    @RunCommand() command: Command,
    @Body() proposal: AmendmentRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunBody> {
    return answer(await this.commands.amend(command, proposal), response);
  }

  @Post('cancellation')
  @HttpCode(200)
  @Allow('preparer', 'approver')
  @ApiOperation({ summary: 'Cancels a run of which nothing was submitted' })
  @ApiOkResponse({ type: RunBody })
  async cancel(
    @RunCommand() command: Command,
    @Body() { reason }: ReasonRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunBody> {
    return answer(await this.commands.cancel(command, reason), response);
  }

  @Post('stop')
  @SkipIdempotency()
  @HttpCode(200)
  @Allow('any')
  @ApiOperation({ summary: 'The kill switch: nothing more of this run is sent to the bank' })
  @ApiOkResponse({ type: RunBody })
  async stop(
    @RunCommand() command: Command,
    @Body() { reason }: ReasonRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunBody> {
    return answer(await this.commands.stop(command, reason), response);
  }

  @Post('resume')
  @CarriedOutOnce()
  @HttpCode(200)
  @Allow('approver', 'operator')
  @ApiOperation({ summary: 'Lets a stopped run go on; not for the person who stopped it' })
  @ApiOkResponse({ type: RunBody })
  async resume(
    @RunCommand() command: Command,
    @Body() body: ResumeRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunBody> {
    return answer(await this.commands.resume(command, body), response);
  }
}

function answer(record: RunRecord, response: Response): RunBody {
  response.setHeader('ETag', etagOf(record.run.revision));
  return showRun(record);
}
