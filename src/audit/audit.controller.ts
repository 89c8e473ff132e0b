import { Controller, Get, Param, Query, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { Database, Transaction } from '../database/database';
import { Allow } from '../http/allow';
import { decodeCursor, Page, pageOf, PageQuery } from '../http/cursor';
import { IdParam, showId } from '../http/prefixed-id';
import { WithheldSums } from '../http/withheld-sums';
import { INSTALLATION_CHAIN } from './audit';
import { verifyChain } from './verify-chain';

const position = z.object({ seq: z.int().min(1) });

const auditItem = z.object({
  seq: z.int(),
  at: z.iso.datetime(),
  person: z.string().nullable(),
  action: z.string(),
  subject: z.string(),
  detail: z.record(z.string(), z.unknown()),
  hash: z
    .string()
    .nullable()
    .describe('Null, as hashes of rows in `detail` are, for a role that sees no payments.'),
});
type AuditItem = z.infer<typeof auditItem>;

class AuditPage extends createZodDto(
  z.object({ items: z.array(auditItem), nextCursor: z.string().nullable() }),
) {}

class VerificationBody extends createZodDto(
  z.object({ intact: z.boolean(), entries: z.int(), brokenAt: z.int().nullable() }),
) {}

interface Row {
  seq: string;
  at: Date;
  person_id: string | null;
  action: string;
  subject: string;
  detail: Record<string, unknown>;
  entry_hash: Buffer;
}

/** An employer's audit chain: who did what, newest first, and whether it is whole. */
@ApiTags('audit')
@Allow('finance', 'operator')
@UseInterceptors(WithheldSums)
@Controller('v1/employers/:employerId/audit')
export class AuditController {
  constructor(private readonly database: Database) {}

  @Get()
  @ApiOperation({ summary: 'Audit entries, newest first' })
  @ApiOkResponse({ type: AuditPage })
  async list(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Query() query: PageQuery,
  ): Promise<Page<AuditItem>> {
    return this.database.inEmployer(employerId, (tx) => pageOfChain(tx, employerId, query));
  }

  @Get('verification')
  @ApiOperation({ summary: 'Computes the whole chain again' })
  @ApiOkResponse({ type: VerificationBody })
  async verify(@Param('employerId', new IdParam('emp')) employerId: string): Promise<VerificationBody> {
    return this.database.inEmployer(employerId, (tx) => verdictOn(tx, employerId));
  }
}

/** The installation's audit chain: its switch, its people and their keys. */
@ApiTags('audit')
@Allow('administrator')
@Controller('v1/service/audit')
export class ServiceAuditController {
  constructor(private readonly database: Database) {}

  @Get()
  @ApiOperation({ summary: 'Audit entries of the installation, newest first' })
  @ApiOkResponse({ type: AuditPage })
  async list(@Query() query: PageQuery): Promise<Page<AuditItem>> {
    return this.database.outsideEmployers((tx) => pageOfChain(tx, INSTALLATION_CHAIN, query));
  }

  @Get('verification')
  @ApiOperation({ summary: 'Computes the whole chain of the installation again' })
  @ApiOkResponse({ type: VerificationBody })
  async verify(): Promise<VerificationBody> {
    return this.database.outsideEmployers((tx) => verdictOn(tx, INSTALLATION_CHAIN));
  }
}

async function pageOfChain(
  tx: Transaction,
  chainId: string,
  { limit, cursor }: PageQuery,
): Promise<Page<AuditItem>> {
  const before = cursor === undefined ? null : decodeCursor(cursor, position).seq;
  const rows = await tx.query<Row>(
    `SELECT seq, at, person_id, action, subject, detail, entry_hash FROM audit_entry
     WHERE chain_id = $1 AND ($2::bigint IS NULL OR seq < $2) ORDER BY seq DESC LIMIT $3`,
    [chainId, before, limit + 1],
  );
  return pageOf(rows.map(show), limit, ({ seq }) => ({ seq }));
}

async function verdictOn(tx: Transaction, chainId: string): Promise<VerificationBody> {
  const { entries, brokenAt } = await verifyChain(tx, chainId);
  const intact = brokenAt === undefined;
  return { intact, entries, brokenAt: intact ? null : Number(brokenAt) };
}

function show(row: Row): AuditItem {
  const { action, subject, detail } = row;
  return {
    seq: Number(row.seq),
    at: row.at.toISOString(),
    person: row.person_id === null ? null : showId('per', row.person_id),
    action,
    subject,
    detail,
    hash: row.entry_hash.toString('hex'),
  };
}
