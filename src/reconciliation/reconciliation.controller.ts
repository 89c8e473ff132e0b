import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { Request, Response } from 'express';
import { Allow } from '../http/allow';
import { hasHungUp } from '../http/hung-up';
import { IdParam, showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { Reconciliations } from './reconciliation';
import { PeriodQuery, PeriodReportBody, ReportQuery, RowsQuery, RunReportBody } from './reconciliation.dto';
import { csvOfPeriodReport, csvOfRunReport, showPeriodReport, showRunReport } from './reconciliation.view';
import { RowExport } from './row-export';

const TYPES = { json: 'application/json', csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;
const TEXT = { schema: { type: 'string' } } as const;

/** Compares the file, the approved run and the bank to the cent. */
@ApiTags('reconciliation')
@ApiExtraModels(RunReportBody, PeriodReportBody)
@Allow('finance', 'approver', 'preparer')
@Controller('v1/employers/:employerId')
export class ReconciliationController {
  constructor(
    private readonly reconciliations: Reconciliations,
    private readonly rows: RowExport,
  ) {}

  @Get('pay-runs/:runId/reconciliation')
  @ApiOperation({ summary: 'Where every row and cent of the file is, and what does not add up' })
  @ApiOkResponse({
    content: { [TYPES.json]: { schema: { $ref: getSchemaPath(RunReportBody) } }, [TYPES.csv]: TEXT },
  })
  async ofRun(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) runId: string,
    @Query() { format }: ReportQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunReportBody | string> {
    const chosen = format ?? negotiate(request, ['json', 'csv']);
    const report = await this.reconciliations.ofRun(employerId, runId);
    if (chosen === 'json') return showRunReport(report);
    attach(response, `reconciliation-${showId('run', runId)}.csv`, chosen);
    return csvOfRunReport(report);
  }

  @Get('pay-runs/:runId/reconciliation/rows')
  @ApiOperation({ summary: 'Every row of the run with what we and the bank say of it, as a stream' })
  @ApiOkResponse({ content: { [TYPES.csv]: TEXT, [TYPES.ndjson]: TEXT } })
  async rowsOf(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('runId', new IdParam('run')) runId: string,
    @Query() { format }: RowsQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const chosen = format ?? negotiate(request, ['csv', 'ndjson']);
    try {
      await this.rows.send(employerId, runId, chosen, () =>
        attach(response, `rows-${showId('run', runId)}.${chosen}`, chosen),
      );
    } catch (error) {
      if (!hasHungUp(error)) throw error;
    }
  }

  @Get('reconciliation')
  @ApiOperation({ summary: 'The runs of a pay period and their sum; cancelled runs are listed, not summed' })
  @ApiOkResponse({
    content: { [TYPES.json]: { schema: { $ref: getSchemaPath(PeriodReportBody) } }, [TYPES.csv]: TEXT },
  })
  async ofPeriod(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Query() { period, format }: PeriodQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PeriodReportBody | string> {
    const chosen = format ?? negotiate(request, ['json', 'csv']);
    const report = await this.reconciliations.ofPeriod(employerId, period);
    if (chosen === 'json') return showPeriodReport(report);
    attach(response, `reconciliation-${period}.csv`, chosen);
    return csvOfPeriodReport(report);
  }
}

/** The first of the formats the header `Accept` likes best. */
function negotiate<Format extends keyof typeof TYPES>(request: Request, formats: readonly Format[]): Format {
  const accepted = request.accepts(formats.map((format) => TYPES[format]));
  const chosen = formats.find((format) => TYPES[format] === accepted);
  if (chosen !== undefined) return chosen;
  throw new Problem(406, 'NOT_ACCEPTABLE', `This is answered as ${formats.join(' or ')}.`);
}

/** What holds salaries: browsers save it rather than show it. */
function attach(response: Response, fileName: string, format: keyof typeof TYPES): Response {
  return response.attachment(fileName).type(`${TYPES[format]}; charset=utf-8`);
}
