import { pipeline } from 'node:stream/promises';
import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import { Request, Response } from 'express';
import { z } from 'zod';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { Database } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { DomainError } from '../domain/errors';
import { formatMinor } from '../domain/money';
import { Allow } from '../http/allow';
import { decodeCursor, Page, pageOf, PageQuery } from '../http/cursor';
import { hasHungUp } from '../http/hung-up';
import { IdParam, notFound, showId } from '../http/prefixed-id';
import { Me, SignedIn } from '../http/signed-in';
import { SkipIdempotency } from '../identity/idempotency.interceptor';
import { findRun } from '../pay-run/pay-run.store';
import { Corrected, Corrections } from './corrections';
import { withTidyHeap } from './tidy-heap';
import { CorrectedAnswer, CorrectedBody, FaultyRowPage } from './corrections.dto';
import { correctionsFile } from './corrections-file';
import {
  FaultyFile,
  findFaultyFile,
  findRefusedFile,
  KeptBackRow,
  listFaultyRows,
} from './faulty-file.store';
import { fieldsOf } from './pay-file.controller';
import { IntakeTurns } from './intake-turns';
import { readCorrectionFields } from './terms';
import { UPLOAD_TIMES, withUpload } from './upload';

/** What a row of a corrections file takes, about. */
const ROW_BYTES = 200;

const CSV = { content: { 'text/csv': { schema: { type: 'string', format: 'binary' } } } } as const;
const byLine = z.object({ line: z.int32().min(1) });

/** Rows that are kept back for their faults, and their way back into a run. */
@ApiTags('pay files')
@Controller('v1/employers/:employerId')
export class CorrectionsController {
  constructor(
    private readonly corrections: Corrections,
    private readonly turns: IntakeTurns,
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Pick<Config, 'MAX_PAY_FILE_BYTES'>,
  ) {}

  @Get('pay-runs/:runId/faulty-rows')
  @Allow('preparer', 'approver', 'finance')
  @ApiOperation({ summary: 'Rows of the file that were kept back, with their faults, by line' })
  @ApiOkResponse({ type: FaultyRowPage })
  async list(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) runId: string,
    @Query() { limit, cursor }: PageQuery,
  ): Promise<Page<FaultyRowPage['items'][number]>> {
    const after = cursor === undefined ? 0 : decodeCursor(cursor, byLine).line;
    const rows = await this.database.inEmployer(employerId, async (tx) => {
      await findRun(tx, runId);
      const file = await findFaultyFile(tx, runId);
      return file ? listFaultyRows(tx, this.personal, file.id, { after, keptBack: false }, limit + 1) : [];
    });
    const { items, nextCursor } = pageOf(rows, limit, ({ line }) => ({ line }));
    return { items: items.map(showRow), nextCursor };
  }

  @Get('pay-runs/:runId/corrections.csv')
  @Allow('preparer', 'approver', 'finance')
  @ApiOperation({ summary: 'The rows that are kept back, as the file wrote them, with a column of errors' })
  @ApiOkResponse(CSV)
  async ofRun(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) runId: string,
    @Res() response: Response,
  ): Promise<void> {
    const file = await this.database.inEmployer(employerId, async (tx) => {
      await findRun(tx, runId);
      return findFaultyFile(tx, runId);
    });
    if (!file) throw new DomainError('NOTHING_KEPT_BACK', 'No row of this run was kept back.');
    await this.send(employerId, file, showId('run', runId), response);
  }

  @Get('refused-files/:refusedId/corrections.csv')
  @Allow('preparer', 'approver', 'finance')
  @ApiOperation({
    summary: 'The faulty rows of a refused file, for seven days; of the last 20 of an employer',
  })
  @ApiOkResponse(CSV)
  async ofRefused(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('refusedId', new IdParam('rfl')) refusedId: string,
    @Res() response: Response,
  ): Promise<void> {
    const file = await this.database.inEmployer(employerId, (tx) =>
      findRefusedFile(tx, refusedId, this.clock.now()),
    );
    if (!file) throw notFound('rfl');
    await this.send(employerId, file, showId('rfl', refusedId), response);
  }

  @Post('pay-runs/:runId/corrections')
  @HttpCode(200)
  @Allow('preparer')
  @SkipIdempotency()
  @ApiOperation({
    summary: 'Takes a corrections file back: into the run before its approval, as a supplement after it',
  })
  @ApiQuery({ name: 'encoding', required: false, type: String, description: 'Default: that of the file.' })
  @ApiQuery({ name: 'executionDate', required: false, type: String, description: 'Of the supplement.' })
  @ApiQuery({ name: 'submitAt', required: false, type: String, description: 'Of the supplement.' })
  @ApiQuery({
    name: 'fileName',
    required: false,
    type: String,
    description: 'Default: the name of the file in the form.',
  })
  @ApiConsumes('text/csv', 'multipart/form-data')
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  @ApiOkResponse({ type: CorrectedBody })
  async take(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) payRunId: string,
    @Me() { personId }: SignedIn,
    @Req() request: Request,
  ): Promise<CorrectedAnswer> {
    const limits = { maxBytes: this.config.MAX_PAY_FILE_BYTES, ...UPLOAD_TIMES };
    const done = await withUpload(request, limits, (upload) => {
      const { file } = upload;
      const fields = readCorrectionFields(fieldsOf(request.query, upload));
      const delivery = { employerId, payRunId, personId, file, fields };
      return this.turns.take(file.sizeBytes, () => this.corrections.take(delivery));
    });
    return showCorrected(done);
  }

  private async send(employerId: string, file: FaultyFile, name: string, response: Response): Promise<void> {
    response.attachment(`corrections-${name}.csv`).type(`text/csv; charset=${file.layout.encoding}`);
    try {
      await withTidyHeap(file.rowCount * ROW_BYTES, () =>
        pipeline(correctionsFile(this.database, this.personal, employerId, file), response),
      );
    } catch (error) {
      if (!hasHungUp(error)) throw error;
    }
  }
}

function showRow({ line, employeeId, faults, correctedBy }: KeptBackRow): FaultyRowPage['items'][number] {
  return {
    line,
    employeeId,
    faults: faults.map((fault) => ({ ...fault, readings: undefined })),
    correctedBy: correctedBy && {
      paymentId: showId('pay', correctedBy.paymentId),
      payRunId: showId('run', correctedBy.payRunId),
    },
  };
}

function showCorrected({ run, ...counts }: Corrected): CorrectedAnswer {
  return {
    ...counts,
    faults: counts.faults.map((fault) => ({ ...fault, readings: undefined })),
    run: {
      id: showId('run', run.id),
      parentRunId: run.parentRunId === null ? null : showId('run', run.parentRunId),
      status: run.status,
      runVersion: run.runVersion,
      executionDate: run.executionDate,
      payments: run.rowCount,
      total: formatMinor(run.totalMinor),
      rootHash: run.rootHash?.toString('hex') ?? null,
    },
  };
}
