import { Controller, Get, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiCreatedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { Request, Response } from 'express';
import { CONFIG, Config } from '../config/env';
import { Database } from '../database/database';
import { formatMinor } from '../domain/money';
import { Allow } from '../http/allow';
import { hasHungUp } from '../http/hung-up';
import { IdParam, notFound, showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { Me, SignedIn } from '../http/signed-in';
import { SkipIdempotency } from '../identity/idempotency.interceptor';
import { sendContent } from './content.store';
import { PayFileIntake, Taken } from './intake';
import { IntakeTurns } from './intake-turns';
import { PayFile } from './pay-file.entity';
import { ApiUploadFields, PayFileBody, UploadAnswerBody } from './pay-file.dto';
import { PayFilePreview, Preview } from './preview';
import { PreviewBody } from './preview.dto';
import { readPreviewFields, readUploadFields } from './terms';
import { Upload } from './spool';
import { UPLOAD_TIMES, withUpload } from './upload';
import { UploadAnswer } from './upload-answer';

/** Pay files: CSV in, pay run out. */
@ApiTags('pay files')
@Controller('v1/employers/:employerId/pay-files')
export class PayFileController {
  constructor(
    private readonly intake: PayFileIntake,
    private readonly turns: IntakeTurns,
    private readonly previews: PayFilePreview,
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Pick<Config, 'MAX_PAY_FILE_BYTES'>,
  ) {}

  @Post()
  @Allow('preparer')
  @SkipIdempotency()
  @ApiOperation({
    summary: 'Uploads a pay file; the answer is a pay run that awaits approval, or every fault',
  })
  @ApiUploadFields()
  @ApiConsumes('text/csv', 'multipart/form-data')
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  @ApiCreatedResponse({ type: UploadAnswerBody })
  async upload(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<UploadAnswer & Pick<Taken, 'replayed'>> {
    const limits = { maxBytes: this.config.MAX_PAY_FILE_BYTES, ...UPLOAD_TIMES };
    const { answer, replayed } = await withUpload(request, limits, (upload) => {
      const { file } = upload;
      const fields = readUploadFields(fieldsOf(request.query, upload));
      const delivery = { employerId, personId: me.personId, file, fields };
      return this.turns.take(file.sizeBytes, () => this.intake.take(delivery));
    });
    if (replayed) response.setHeader('Idempotent-Replayed', 'true');
    return { ...answer, replayed };
  }

  @Post('preview')
  @HttpCode(200)
  @Allow('preparer')
  @SkipIdempotency()
  @ApiOperation({
    summary: 'Shows how a pay file would be read, and its first rows as they would be paid; stores nothing',
  })
  @ApiUploadFields()
  @ApiConsumes('text/csv', 'multipart/form-data')
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  @ApiOkResponse({ type: PreviewBody })
  preview(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Req() request: Request,
  ): Promise<Preview> {
    const limits = { maxBytes: this.config.MAX_PAY_FILE_BYTES, ...UPLOAD_TIMES };
    return withUpload(request, limits, (upload) =>
      this.previews.show(employerId, upload.file, readPreviewFields(fieldsOf(request.query, upload))),
    );
  }

  @Get(':fileId')
  @Allow('preparer', 'approver', 'finance')
  @ApiOperation({ summary: 'What is known of a pay file' })
  @ApiOkResponse({ type: PayFileBody })
  async show(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('fileId', new IdParam('file')) fileId: string,
  ): Promise<PayFileBody> {
    return showFile(await this.find(employerId, fileId));
  }

  @Get(':fileId/content')
  @Allow('preparer', 'approver', 'finance')
  @ApiOperation({ summary: 'The bytes as they were uploaded' })
  @ApiOkResponse({ content: { 'text/csv': { schema: { type: 'string', format: 'binary' } } } })
  async content(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('fileId', new IdParam('file')) fileId: string,
    @Res() response: Response,
  ): Promise<void> {
    const file = await this.find(employerId, fileId);
    response.attachment(file.fileName ?? `${showId('file', file.id)}.csv`).type('text/csv');
    response.setHeader('Content-Length', file.sizeBytes.toString());
    try {
      await sendContent(this.database, employerId, fileId, response);
    } catch (error) {
      if (!hasHungUp(error)) throw error;
    }
  }

  private async find(employerId: string, id: string): Promise<PayFile> {
    const file = await this.database.inEmployer(employerId, (tx) =>
      tx.manager.findOneBy(PayFile, { employerId, id }),
    );
    if (!file) throw notFound('file');
    return file;
  }
}

/** What is said of an upload, in its address or its form. @throws Problem 422 `FIELD_TWICE` */
export function fieldsOf(query: object, { fields, fileName }: Upload): [string, unknown][] {
  const asked = Object.entries(query) as [string, unknown][];
  const twice = asked.find(([name]) => fields.has(name));
  if (twice)
    throw new Problem(422, 'FIELD_TWICE', `${twice[0]} is in the address and in the form: name it once.`);
  return [['fileName', fileName ?? ''], ...asked, ...fields];
}

function showFile(file: PayFile): PayFileBody {
  return {
    id: showId('file', file.id),
    sha256: file.sha256.toString('hex'),
    sizeBytes: file.sizeBytes.toString(),
    fileName: file.fileName,
    period: file.period,
    kindOfPay: file.kindOfPay,
    executionDate: file.executionDate,
    accountId: showId('acc', file.accountId),
    rows: file.rowCount,
    total: formatMinor(file.totalMinor),
    currency: 'EUR',
    payRunId: showId('run', file.payRunId),
    profileId: file.profileId === null ? null : showId('prf', file.profileId),
    encoding: file.readAs.encoding ?? null,
    faultPolicy: file.faultPolicy,
    uploadedBy: showId('per', file.uploadedBy),
    uploadedAt: file.uploadedAt.toISOString(),
  };
}
