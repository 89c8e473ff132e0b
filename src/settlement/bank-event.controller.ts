import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { Database } from '../database/database';
import { isIsoDate } from '../domain/business-day';
import { Allow } from '../http/allow';
import { decodeCursor, pageOf, PageQuery } from '../http/cursor';
import { IdParam, showId } from '../http/prefixed-id';
import {
  BankEvent,
  InstallationEvent,
  isKnownEvent,
  listEvents,
  listInstallationEvents,
} from './bank-event.store';

const installationItem = z.object({
  event: z.string(),
  known: z.boolean(),
  times: z.int(),
  firstReceivedAt: z.iso.datetime(),
  lastReceivedAt: z.iso.datetime(),
});
const eventItem = z.object({ ...installationItem.shape, accountIds: z.array(z.string()) });
class InstallationEventPage extends createZodDto(
  z.object({ items: z.array(installationItem), nextCursor: z.string().nullable() }),
) {}
class BankEventPage extends createZodDto(
  z.object({ items: z.array(eventItem), nextCursor: z.string().nullable() }),
) {}

/** As PostgreSQL writes a moment after its date: a cursor's text reaches a cast. */
const TIME = / ([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,6})?[+-](0\d|1[0-5])(:[0-5]\d){0,2}$/;
const moment = z
  .string()
  .regex(TIME)
  .refine((text) => isIsoDate(text.replace(TIME, '')));
const position = z.object({ at: moment, id: z.uuid() });

/** What the bank reported on its own account. Events are never believed; they only have things read again. */
@ApiTags('accounts')
@Controller('v1/employers/:employerId/bank-events')
export class BankEventController {
  constructor(private readonly database: Database) {}

  @Get()
  @Allow('operator')
  @ApiOperation({ summary: "The bank's events that concern the employer, the newest first" })
  @ApiOkResponse({ type: BankEventPage })
  async list(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Query() { limit, cursor }: PageQuery,
  ): Promise<BankEventPage> {
    const before = cursor === undefined ? undefined : decodeCursor(cursor, position);
    const rows = await this.database.inEmployer(employerId, (tx) => listEvents(tx, before, limit + 1));
    const { items, nextCursor } = pageOf(rows, limit, (last) => ({ at: last.position, id: last.id }));
    return { items: items.map(showEvent), nextCursor };
  }
}

/** What the bank reported that concerns nobody here, such as IBAN structures, or that could not be understood. */
@ApiTags('accounts')
@Controller('v1/bank-events')
export class InstallationEventController {
  constructor(private readonly database: Database) {}

  @Get()
  @Allow('administrator')
  @ApiOperation({ summary: "The bank's events that concern no employer, the newest first" })
  @ApiOkResponse({ type: InstallationEventPage })
  async list(@Query() { limit, cursor }: PageQuery): Promise<InstallationEventPage> {
    const before = cursor === undefined ? undefined : decodeCursor(cursor, position);
    const rows = await this.database.outsideEmployers((tx) => listInstallationEvents(tx, before, limit + 1));
    const { items, nextCursor } = pageOf(rows, limit, (last) => ({ at: last.position, id: last.id }));
    return { items: items.map(showInstallationEvent), nextCursor };
  }
}

function showEvent(row: BankEvent): z.infer<typeof eventItem> {
  return { ...showInstallationEvent(row), accountIds: row.account_ids.map((id) => showId('acc', id)) };
}

function showInstallationEvent(row: InstallationEvent): z.infer<typeof installationItem> {
  return {
    event: row.event,
    known: isKnownEvent(row.event),
    times: row.times,
    firstReceivedAt: row.first_received_at.toISOString(),
    lastReceivedAt: row.last_received_at.toISOString(),
  };
}
