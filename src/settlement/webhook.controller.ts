import { Controller, Headers, HttpCode, Inject, Post, RawBodyRequest, Req } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import type { Request } from 'express';
import { SIGNATURE_HEADER } from '../bank/types';
import { verifySignature } from '../bank/webhook-signature';
import { CONFIG, Config } from '../config/env';
import { Public } from '../http/allow';
import { Problem } from '../http/problem';
import { readDelivery } from './delivery';
import { WebhookInbox } from './webhook-inbox';

/** Where the bank delivers its events: verified over the raw bytes, stored, answered with 200, then read back. */
@Controller('webhooks')
export class WebhookController {
  constructor(
    private readonly inbox: WebhookInbox,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Post('bank')
  @Public()
  @HttpCode(200)
  @ApiExcludeEndpoint()
  async receive(
    @Req() request: RawBodyRequest<Request>,
    @Headers(SIGNATURE_HEADER.toLowerCase()) signature: string | undefined,
  ): Promise<{ received: true }> {
    const body: unknown = request.body;
    const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
    const { BANK_WEBHOOK_SECRETS: secrets, BANK_WEBHOOK_FORM: form } = this.config;
    if (!verifySignature(raw, signature, secrets, form)) {
      throw new Problem(401, 'SIGNATURE_INVALID', 'The signature of this delivery does not match its body.');
    }
    await this.inbox.take(raw, readDelivery(raw));
    return { received: true };
  }
}
