import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { Response } from 'express';
import { z } from 'zod';
import { Database } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { describeHold, HOLD_CODES, HoldFinding, remedyOf } from '../domain/hold';
import { maskIban } from '../domain/iban';
import { formatMinor } from '../domain/money';
import { Allow } from '../http/allow';
import { decodeCursor, pageOf } from '../http/cursor';
import { etagOf } from '../http/etag';
import { IdParam, showId } from '../http/prefixed-id';
import { CarriedOutOnce } from '../identity/idempotency.interceptor';
import { holdCode, HoldDocument, HoldListQuery, HoldPage, HoldReleaseRequest } from './hold.dto';
import { HoldRow, listHolds } from './hold.store';
import { PayRunCommands } from './pay-run.commands';
import { RunBody } from './pay-run.dto';
import { findRun } from './pay-run.store';
import { showOptional, showRun } from './pay-run.view';
import { Command, RunCommand } from './run-command';

const position = z.object({ row: z.int32().min(0), code: holdCode, version: z.int32().min(1) });
const BEFORE_ALL = { row: -1, code: '', version: 0 };

/** What of a run waits for a person before the approval. */
@ApiTags('pay runs')
@ApiParam({ name: 'employerId', type: String })
@ApiParam({ name: 'runId', type: String })
@Controller('v1/employers/:employerId/pay-runs/:runId/holds')
export class HoldController {
  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly commands: PayRunCommands,
  ) {}

  @Get()
  @Allow('preparer', 'approver', 'finance')
  @ApiOperation({ summary: 'What is held of a run, why, and what was decided' })
  @ApiOkResponse({ type: HoldPage })
  async list(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) runId: string,
    @Query() { limit, cursor, open }: HoldListQuery,
  ): Promise<HoldPage> {
    const after = cursor === undefined ? BEFORE_ALL : decodeCursor(cursor, position);
    const rows = await this.database.inEmployer(employerId, async (tx) => {
      const run = await findRun(tx, runId);
      return listHolds(tx, run, { after, open }, limit + 1);
    });
    const { items, nextCursor } = pageOf(rows, limit, ({ row_no: row, code, run_version: version }) => ({
      row,
      code,
      version,
    }));
    return { items: items.map((row) => showHold(row, (sealed) => this.personal.open(sealed))), nextCursor };
  }

  @Post('release')
  @CarriedOutOnce()
  @HttpCode(200)
  @Allow('approver')
  @ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'Only if the run still has this entity tag.',
  })
  @ApiOperation({ summary: 'Releases one hold, with a reason; not for who prepared any of the rows' })
  @ApiOkResponse({ type: RunBody })
  async release(
    @RunCommand() command: Command,
    @Body() { reason, ...choice }: HoldReleaseRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunBody> {
    const record = await this.commands.releaseHold(command, choice, reason);
    response.setHeader('ETag', etagOf(record.run.revision));
    return showRun(record);
  }
}

function showHold(row: HoldRow, open: (sealed: string) => string): HoldDocument {
  const besideRun = showOptional('run', row.beside_run_id);
  const alsoPayRunIds = row.also_beside_run_ids.map((id) => showId('run', id));
  const finding: HoldFinding = {
    code: row.code,
    besideLine: row.beside_line,
    besideRun,
    alsoBesideRuns: alsoPayRunIds,
    besideStatus: row.beside_status,
    overtaken: row.overtaken,
    boundMinor: row.bound_minor === null ? null : BigInt(row.bound_minor),
    sameRows: row.same_rows,
  };
  return {
    code: row.code,
    version: row.run_version,
    meaning: HOLD_CODES[row.code].meaning,
    remedy: remedyOf(finding),
    message: describeHold(finding),
    payment: showHeldPayment(row, open),
    beside:
      row.beside_line === null && besideRun === null
        ? null
        : { line: row.beside_line, payRunId: besideRun, alsoPayRunIds },
    decision: row.outcome && {
      outcome: row.outcome,
      at: row.decided_at?.toISOString() ?? '',
      by: showOptional('per', row.decided_by),
      reason: row.reason,
    },
  };
}

function showHeldPayment(row: HoldRow, open: (sealed: string) => string): HoldDocument['payment'] {
  const { payment_id: id, line, employee_id: employeeId, name_sealed: name, iban_sealed: iban, status } = row;
  if (id === null || line === null || employeeId === null || status === null) return null;
  return {
    id: showId('pay', id),
    row: row.row_no,
    line,
    employeeId,
    name: name === null ? '' : open(name),
    iban: iban === null ? '' : maskIban(open(iban)),
    amount: formatMinor(BigInt(row.amount_minor ?? 0)),
    status,
  };
}
