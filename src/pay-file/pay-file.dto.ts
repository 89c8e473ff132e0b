import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';

const amount = z.string().regex(/^\d+\.\d{2}$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** The answer to an upload: the pay run it became. */
export class UploadAnswerBody extends createZodDto(
  z.object({
    id: z.string(),
    status: z.literal('READY'),
    runVersion: z.int(),
    period: z.string(),
    kindOfPay: z.string(),
    executionDate: z.iso.date(),
    submitAt: z.iso.datetime().nullable(),
    accountId: z.string(),
    payments: z.int(),
    total: amount,
    currency: z.literal('EUR'),
    rootHash: sha256,
    parentRunId: z.string().nullable(),
    sequence: z.int(),
    replaces: z.int().describe('Rows that pay again what earlier payments did not.'),
    file: z.object({ id: z.string(), sha256, rows: z.int() }),
    namesChanged: z.object({
      count: z.int(),
      examples: z.array(z.object({ line: z.int(), before: z.string(), after: z.string() })),
    }),
  }),
) {}

/** What is known of a pay file. */
export class PayFileBody extends createZodDto(
  z.object({
    id: z.string(),
    sha256,
    sizeBytes: z.string(),
    fileName: z.string().nullable(),
    period: z.string(),
    kindOfPay: z.string(),
    executionDate: z.iso.date(),
    accountId: z.string(),
    rows: z.int(),
    total: amount,
    currency: z.literal('EUR'),
    payRunId: z.string(),
    uploadedBy: z.string(),
    uploadedAt: z.iso.datetime(),
  }),
) {}

const UPLOAD_FIELDS = [
  { name: 'period', required: true, description: 'The month that is paid, YYYY-MM.' },
  {
    name: 'executionDate',
    required: false,
    description: 'The banking day of the payments, YYYY-MM-DD; default: that of the schedule.',
  },
  { name: 'accountId', required: false, description: 'The account to pay from; default: the only one.' },
  { name: 'kindOfPay', required: false, description: 'Default: SALARY.' },
  {
    name: 'submitAt',
    required: false,
    description: 'When to submit, ISO 8601 with offset; default: that of the schedule, or the earliest day.',
  },
  {
    name: 'supplementOf',
    required: false,
    description: 'The approved run of the period that these rows are a supplement of, `run_…`.',
  },
  { name: 'fileName', required: false, description: 'Default: the name of the file in the form.' },
];

/** Documents the fields of an upload, each of which may stand in the form as well. */
export function ApiUploadFields(): MethodDecorator {
  return applyDecorators(...UPLOAD_FIELDS.map((field) => ApiQuery({ ...field, type: String })));
}
