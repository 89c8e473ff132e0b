import { Controller, Delete, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { Allow } from '../http/allow';
import { IdParam } from '../http/prefixed-id';
import { Me, SignedIn } from '../http/signed-in';
import { CarriedOutOnce } from '../identity/idempotency.interceptor';
import { HookService, HookState } from './hook.service';

class HookBody extends createZodDto(z.object({ hook: z.enum(['ON', 'OFF', 'FAILED']) })) {}
class HookRemoval extends createZodDto(z.object({ subscriptionEnded: z.boolean() })) {}

/** Whether the bank's events of an employer reach this service. */
@ApiTags('accounts')
@Allow('operator')
@Controller('v1/employers/:employerId/hook')
export class HookController {
  constructor(private readonly hooks: HookService) {}

  @Post()
  @CarriedOutOnce()
  @HttpCode(200)
  @ApiOperation({
    summary: "Links the identities of the employer's accounts to the hook, also given-up ones",
  })
  @ApiOkResponse({ type: HookBody })
  async ensure(@Param('employerId', new IdParam('emp')) employerId: string): Promise<{ hook: HookState }> {
    return { hook: await this.hooks.ensureHookOf(employerId, true) };
  }

  @Delete()
  @ApiOperation({ summary: "Gives the employer's events up; the hook ends with its last employer" })
  @ApiOkResponse({ type: HookRemoval })
  async remove(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
  ): Promise<{ subscriptionEnded: boolean }> {
    return { subscriptionEnded: await this.hooks.remove(employerId, me.personId) };
  }
}
