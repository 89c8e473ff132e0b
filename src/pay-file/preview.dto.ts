import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';

/** A fault as it is told. */
export const faultBody = z.object({
  line: z.int(),
  column: z.string().nullable(),
  code: z.string(),
  value: z.string(),
  message: z.string(),
  remedy: z.string(),
  readings: z.array(z.object({ encoding: z.string(), text: z.string() })).optional(),
});

/** How a pay file would be read. */
export class PreviewBody extends createZodDto(
  z.object({
    dialect: z
      .object({
        encoding: z.string(),
        delimiter: z.string(),
        lineEnding: z.enum(['LF', 'CRLF', 'CR']),
        headerLine: z.int(),
        quoted: z.boolean(),
        marked: z.boolean(),
      })
      .nullable(),
    columns: z.array(
      z.object({
        header: z.string(),
        meaning: z.string().nullable(),
        by: z.enum(['profile', 'name']).nullable().describe('Whether the profile or a known name says so.'),
      }),
    ),
    unknownColumns: z.array(z.string()).describe('They refuse the file until they are known or ignored.'),
    missingColumns: z.array(z.string()),
    constants: z.array(z.object({ column: z.string(), value: z.string() })),
    rows: z.array(
      z.object({
        line: z.int(),
        payment: z
          .object({
            employeeId: z.string(),
            name: z.string(),
            writtenName: z.string(),
            iban: z.string(),
            bic: z.string().nullable(),
            amount: z.string(),
            currency: z.string(),
            remittance: z.string(),
          })
          .nullable(),
        faults: z.array(faultBody),
      }),
    ),
    faults: z.array(faultBody),
  }),
) {}
