import { Body, Controller, Headers, HttpCode, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Response } from 'express';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { Allow } from '../http/allow';
import { reason } from '../http/reason';
import { Me, type SignedIn } from '../http/signed-in';
import { assertKey } from '../identity/idempotency.interceptor';
import { Restores } from './restores';

class RestoreReason extends createZodDto(z.strictObject({ reason })) {}

class RestoreBody extends createZodDto(z.object({ restoreId: z.uuid() })) {}

/** What nobody but a person can know: that the database was restored in a way that shows nowhere. */
@ApiTags('kill switch')
@Controller('v1/service')
export class RestoreController {
  constructor(private readonly restores: Restores) {}

  @Post('restored')
  @HttpCode(200)
  @Allow('administrator')
  @ApiOperation({ summary: 'Says that the database was restored: stops everybody until the bank was read' })
  @ApiOkResponse({ type: RestoreBody })
  async restored(
    @Me() me: SignedIn,
    @Body() { reason }: RestoreReason,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<z.infer<typeof RestoreBody.schema>> {
    if (key !== undefined) assertKey(key);
    const { restoreId, replayed } = await this.restores.say(me.personId, reason, key);
    if (replayed) response.setHeader('Idempotent-Replayed', 'true');
    return { restoreId };
  }
}
