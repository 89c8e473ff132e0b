import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { ENCODINGS } from '../domain/pay-file-encoding';
import { PAY_RUN_STATUSES } from '../domain/pay-run';
import { faultPolicyField } from '../employer/employer-view';
import { faultBody } from './preview.dto';
import { holdCode } from '../pay-run/hold.dto';

const amount = z.string().regex(/^\d+\.\d{2}$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** The answer to an upload: the pay run it became. The same upload again is told of the same run, as it stands then. */
export class UploadAnswerBody extends createZodDto(
  z.object({
    id: z.string(),
    replayed: z
      .boolean()
      .describe(
        'Whether the same file was uploaded for the same terms before: nothing new was stored. Ids, `file`, `replaces`, `sameFile` and `namesChanged` are those of the first time; everything else is the run as it stands.',
      ),
    status: z.enum(PAY_RUN_STATUSES),
    advice: z
      .string()
      .nullable()
      .describe('What can be done where the run does not wait for approval any more, else null.'),
    runVersion: z.int().describe('The version that stands; the date, payments, total and hash are its own.'),
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
    faultPolicy: faultPolicyField,
    keptBack: z
      .object({ rows: z.int(), faultCount: z.int(), faults: z.array(faultBody) })
      .describe('Faulty rows of the file that nobody is paid by; `faults` has the first 1,000.'),
    sameFile: z.array(z.string()).describe('Runs of other terms made of the same bytes before.'),
    held: z
      .object({
        payments: z.int(),
        amount,
        holds: z.partialRecord(holdCode, z.int()),
      })
      .describe('Rows that wait for a person and are not among the payments; open holds by their code.'),
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
    rows: z.int().describe('Those that became payments of the run.'),
    total: amount,
    currency: z.literal('EUR'),
    payRunId: z.string(),
    profileId: z.string().nullable(),
    encoding: z
      .string()
      .nullable()
      .describe('The encoding that was said; null: UTF-8, or UTF-16 by its mark.'),
    faultPolicy: faultPolicyField,
    uploadedBy: z.string(),
    uploadedAt: z.iso.datetime(),
  }),
) {}

const READING_FIELDS = [
  { name: 'profile', required: false, description: 'The name of the profile by which the file is read.' },
  {
    name: 'encoding',
    required: false,
    description: `${ENCODINGS.join(', ')}; default: that of the profile, UTF-8, or UTF-16 with its mark.`,
  },
  {
    name: 'declaredRows',
    required: false,
    description: 'How many rows the file has; it is refused otherwise.',
  },
  {
    name: 'declaredTotal',
    required: false,
    description: 'What the amounts add up to, such as 1234.56; the file is refused otherwise.',
  },
];

const UPLOAD_FIELDS = [
  {
    name: 'period',
    required: false,
    description: 'The month that is paid, YYYY-MM; needed unless the profile names it.',
  },
  ...READING_FIELDS,
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

/** Documents the fields of an upload or a preview, each of which may stand in the form as well. */
export function ApiUploadFields(): MethodDecorator {
  return applyDecorators(...UPLOAD_FIELDS.map((field) => ApiQuery({ ...field, type: String })));
}
