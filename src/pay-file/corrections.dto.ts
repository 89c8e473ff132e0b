import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { faultBody } from './preview.dto';

/** Faulty rows of a run in the order of their lines. */
export class FaultyRowPage extends createZodDto(
  z.object({
    items: z.array(
      z.object({
        line: z.int().describe('In the file that was uploaded.'),
        employeeId: z.string().nullable().describe('Null where it cannot be read.'),
        faults: z
          .array(faultBody)
          .describe('Those of its last correction, under the line of the first file.'),
        correctedBy: z.object({ paymentId: z.string(), payRunId: z.string() }).nullable(),
      }),
    ),
    nextCursor: z.string().nullable(),
  }),
) {}

/** What became of the rows of a corrections file. */
export class CorrectedBody extends createZodDto(
  z.object({
    corrected: z.int().describe('Rows that the run named here pays from now on.'),
    held: z.int().describe('Those of them that wait for a person, as in an upload.'),
    unchanged: z.int().describe('Rows that were corrected before, and alike.'),
    stillFaulty: z.int(),
    keptBack: z.int().describe('Rows of the run that are kept back after it.'),
    faultCount: z.int(),
    faults: z.array(faultBody).describe('The first 1,000, by the lines of the corrections file.'),
    run: z.object({
      id: z.string(),
      parentRunId: z.string().nullable(),
      status: z.string(),
      runVersion: z.int(),
      executionDate: z.iso.date(),
      payments: z.int(),
      total: z.string().regex(/^\d+\.\d{2}$/),
      rootHash: z.string().nullable(),
    }),
  }),
) {}
/** What became of the rows of a corrections file. */
export type CorrectedAnswer = z.infer<typeof CorrectedBody.schema>;
