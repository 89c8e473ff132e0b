import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Controller, Get, Inject, Param, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Response } from 'express';
import { z } from 'zod';
import { Clock } from '../config/clock';
import { CONFIG } from '../config/env';
import { Database } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { Allow } from '../http/allow';
import { decodeCursor, NoQuery, pageOf, PageQuery } from '../http/cursor';
import { etagOf } from '../http/etag';
import { hasHungUp } from '../http/hung-up';
import { IdParam, showId } from '../http/prefixed-id';
import { Me, SignedIn } from '../http/signed-in';
import { SEE_PAYMENTS, seesPayments, WithheldSums } from '../http/withheld-sums';
import { DifferenceListQuery, DifferencePage } from './comparison.dto';
import { listDifferences } from './comparison.reads';
import { showDifference } from './comparison.view';
import { differencesFile } from './differences-file';
import { HistoryPage, PaymentListQuery, PaymentPage, RunBody, RunListQuery, RunPage } from './pay-run.dto';
import { listChanges, listPayments, listRuns, readRun } from './pay-run.reads';
import { findRun } from './pay-run.store';
import { showChange, showPayment, showRun, showRunSummary } from './pay-run.view';
import { SendSettings } from './send-outlook';

const byId = z.object({ id: z.uuid() });
const byRow = z.object({ row: z.int32().min(1) });
const byPlace = z.object({ n: z.int32().min(1) });
const bySeq = z.object({ seq: z.int().min(1) });

/** Pay runs and what is in them. */
@ApiTags('pay runs')
@UseInterceptors(WithheldSums)
@Controller('v1/employers/:employerId/pay-runs')
export class PayRunController {
  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: SendSettings,
  ) {}

  @Get()
  @Allow('any')
  @ApiOperation({ summary: 'Pay runs, the newest first' })
  @ApiOkResponse({ type: RunPage })
  async list(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Query() { limit, cursor, status, period }: RunListQuery,
  ): Promise<RunPage> {
    const before = cursor === undefined ? undefined : decodeCursor(cursor, byId).id;
    const runs = await this.database.inEmployer(employerId, (tx) =>
      listRuns(tx, { before, status, period }, limit + 1),
    );
    const { items, nextCursor } = pageOf(runs, limit, ({ id }) => ({ id }));
    return { items: items.map(showRunSummary), nextCursor };
  }

  @Get(':runId')
  @Allow('any')
  @ApiOperation({ summary: 'A pay run: what there is to approve, and where it stands' })
  @ApiOkResponse({ type: RunBody, headers: { ETag: { schema: { type: 'string' } } } })
  async show(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) runId: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunBody> {
    const record = await this.database.inEmployer(employerId, (tx) =>
      readRun(tx, runId, this.config, this.clock.now()),
    );
    response.setHeader('ETag', etagOf(record.run.revision));
    return showRun(record);
  }

  @Get(':runId/payments')
  @Allow(...SEE_PAYMENTS)
  @ApiOperation({ summary: 'The payments of a run in the order of its rows' })
  @ApiOkResponse({ type: PaymentPage })
  async payments(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) runId: string,
    @Query() { limit, cursor, status, ...only }: PaymentListQuery,
  ): Promise<PaymentPage> {
    const after = cursor === undefined ? 0 : decodeCursor(cursor, byRow).row;
    const rows = await this.database.inEmployer(employerId, async (tx) => {
      await findRun(tx, runId);
      const narrowed = { nameChanged: only.nameChanged === 'true', further: only.further === 'true' };
      return listPayments(tx, runId, { after, status, ...narrowed }, limit + 1);
    });
    const { items, nextCursor } = pageOf(rows, limit, ({ row_no: row }) => ({ row }));
    return {
      items: items.map((row) => showPayment(row, (sealed) => this.personal.open(sealed))),
      nextCursor,
    };
  }

  @Get(':runId/differences')
  @Allow(...SEE_PAYMENTS)
  @ApiOperation({ summary: 'What the run differs in from the pay before it, by kind, with what was ticked' })
  @ApiOkResponse({ type: DifferencePage })
  async differences(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) runId: string,
    @Query() { limit, cursor, kind }: DifferenceListQuery,
  ): Promise<DifferencePage> {
    const after = cursor === undefined ? 0 : decodeCursor(cursor, byPlace).n;
    const rows = await this.database.inEmployer(employerId, async (tx) =>
      listDifferences(tx, await findRun(tx, runId), { kind, after }, limit + 1),
    );
    const { items, nextCursor } = pageOf(rows, limit, ({ n }) => ({ n }));
    return {
      items: items.map((row) => showDifference(row, (sealed) => this.personal.open(sealed))),
      nextCursor,
    };
  }

  @Get(':runId/differences.csv')
  @Allow(...SEE_PAYMENTS)
  @ApiOperation({ summary: 'All of these differences as one file' })
  @ApiOkResponse({ content: { 'text/csv': { schema: { type: 'string' } } } })
  async differencesCsv(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) runId: string,
    @Query(new NoQuery()) _: object,
    @Res() response: Response,
  ): Promise<void> {
    const run = await this.database.inEmployer(employerId, (tx) => findRun(tx, runId));
    response.attachment(`differences-${showId('run', runId)}.csv`).type('text/csv; charset=utf-8');
    try {
      const lines = differencesFile(this.database, this.personal, employerId, run);
      await pipeline(Readable.from(lines), response);
    } catch (error) {
      if (!hasHungUp(error)) throw error;
    }
  }

  @Get(':runId/history')
  @Allow('any')
  @ApiOperation({ summary: 'Every change of state, the oldest first' })
  @ApiOkResponse({ type: HistoryPage })
  async history(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) runId: string,
    @Query() { limit, cursor }: PageQuery,
    @Me() me: SignedIn,
  ): Promise<HistoryPage> {
    const after = cursor === undefined ? 0 : decodeCursor(cursor, bySeq).seq;
    const singlePayments = seesPayments(me);
    const rows = await this.database.inEmployer(employerId, async (tx) => {
      await findRun(tx, runId);
      return listChanges(tx, runId, { after, singlePayments }, limit + 1);
    });
    const { items, nextCursor } = pageOf(rows, limit, ({ seq }) => ({ seq: Number(seq) }));
    return { items: items.map(showChange), nextCursor };
  }
}
