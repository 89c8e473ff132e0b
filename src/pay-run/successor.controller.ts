import { Body, Controller, Post, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { Response } from 'express';
import { REPLACEMENT_REFUSALS } from '../domain/replacement';
import { Allow } from '../http/allow';
import { etagOf } from '../http/etag';
import { CarriedOutOnce } from '../identity/idempotency.interceptor';
import { SuccessorBody, SuccessorFields } from './pay-run.dto';
import { showRun } from './pay-run.view';
import { Command, RunCommand } from './run-command';
import { Successors } from './successor';

/** Runs that pay again what another run did not and can never pay. */
@ApiTags('pay runs')
@ApiParam({ name: 'employerId', type: String })
@ApiParam({ name: 'runId', type: String })
@ApiHeader({ name: 'If-Match', required: false, description: 'Only if the run still has this entity tag.' })
@Controller('v1/employers/:employerId/pay-runs/:runId')
export class SuccessorController {
  constructor(private readonly successors: Successors) {}

  @Post('successor')
  @CarriedOutOnce()
  @Allow('preparer')
  @ApiOperation({ summary: 'Makes a run, to be approved, of payments that ended unpaid' })
  @ApiCreatedResponse({ type: SuccessorBody })
  async make(
    @RunCommand() command: Command,
    @Body() body: SuccessorFields,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SuccessorBody> {
    const { record, leftOut } = await this.successors.make(command, body);
    response.setHeader('ETag', etagOf(record.run.revision));
    return {
      ...showRun(record),
      leftOut: leftOut.map(({ code, payments }) => ({ code, meaning: REPLACEMENT_REFUSALS[code], payments })),
    };
  }
}
