import { Body, Controller, Delete, Get, Inject, Logger, Param, Post, Res } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiCreatedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { Response } from 'express';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { describeError } from '../config/describe-error';
import { CONFIG, Config } from '../config/env';
import { PersonalData } from '../database/personal-data';
import { Allow } from '../http/allow';
import { IdParam } from '../http/prefixed-id';
import { Me, SignedIn } from '../http/signed-in';
import { CarriedOutOnce } from '../identity/idempotency.interceptor';
import { AccountBody, bankId, debtorName, ProbedBody } from './account-bodies';
import { AccountClosing } from './account-closing';
import { AccountOpening } from './account-opening';
import { AccountProbe } from './account-probe';
import { AccountItem, showAccount } from './account-view';
import { EmployerAccount } from './employer.entity';

/** Users and products are integers in the bank's paths and bodies; more digits than a 64-bit one has none. */
const integerId = z.string().regex(/^(0|[1-9]\d{0,18})$/, 'must be an integer, written as digits');

class OpeningBody extends createZodDto(
  z.strictObject({
    bankUserId: integerId,
    productId: integerId,
    debtorName: debtorName.optional(),
    bankIdentityId: bankId.optional(),
    lookedAtList: z.boolean().default(false),
  }),
) {}

const product = z.object({ id: z.string(), name: z.string().nullable(), type: z.string().nullable() });
class ProductsBody extends createZodDto(
  z.object({ items: z.array(z.object({ ...product.shape, currency: z.string().nullable() })) }),
) {}

class UnattachedBody extends createZodDto(
  z.object({
    opened: z.enum(['YES', 'IN_DOUBT']),
    bankAccountId: z.string().nullable(),
    detail: z.string(),
  }),
) {}

const OPENED_ONLY =
  'The account is open at the bank but could not be attached: attach it by its id. Do not open another.';
const NOT_PROBED =
  'The account is open at the bank and attached, but what the bank allows on it could not be found out now: probe it. Do not open another.';
const IN_DOUBT = 'The bank did not answer clearly. Look at bank-accounts before opening an account again.';

/** Accounts opened and closed at the bank itself. */
@ApiTags('accounts')
@Allow('operator')
@Controller('v1/employers/:employerId')
export class BankAccountController {
  private readonly logger = new Logger(BankAccountController.name);

  constructor(
    private readonly opening: AccountOpening,
    private readonly closing: AccountClosing,
    private readonly probe: AccountProbe,
    private readonly personal: PersonalData,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get('bank-products')
  @ApiOperation({ summary: 'Kinds of account the bank offers' })
  @ApiOkResponse({ type: ProductsBody })
  async products(): Promise<ProductsBody> {
    const products = await this.opening.products();
    return {
      items: products.map(({ id, name, type, currency }) => ({
        id,
        name: name ?? null,
        type: type ?? null,
        currency: currency ?? null,
      })),
    };
  }

  /** What is not known to have failed is no problem answer: its Idempotency-Key must not open a second account. */
  @Post('bank-accounts')
  @CarriedOutOnce()
  @ApiOperation({ summary: 'Opens an account at the bank for a user there, and attaches it' })
  @ApiCreatedResponse({ type: ProbedBody })
  @ApiAcceptedResponse({ type: UnattachedBody })
  async open(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
    @Body() body: OpeningBody,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ProbedBody | UnattachedBody> {
    const opening = await this.opening.open(employerId, me.personId, body);
    if (opening.kind === 'attached') return this.probed(opening.account, me, response);
    response.status(202);
    return opening.kind === 'opened'
      ? { opened: 'YES', bankAccountId: opening.bankAccountId, detail: OPENED_ONLY }
      : { opened: 'IN_DOUBT', bankAccountId: null, detail: `${IN_DOUBT} What came of it: ${opening.why}.` };
  }

  /** A probe that fails, for whatever cause, does not make the opening one that failed. */
  private async probed(
    account: EmployerAccount,
    me: SignedIn,
    response: Response,
  ): Promise<ProbedBody | UnattachedBody> {
    try {
      return await this.probe.probed(account, me.personId);
    } catch (error) {
      this.logger.error({ message: 'an opened account was not probed', error: describeError(error) });
      response.status(202);
      return { opened: 'YES', bankAccountId: account.bankAccountId, detail: NOT_PROBED };
    }
  }

  @Delete('accounts/:accountId')
  @ApiOperation({ summary: 'Closes an empty account at the bank, for good' })
  @ApiOkResponse({ type: AccountBody })
  async close(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('accountId', new IdParam('acc')) accountId: string,
    @Me() me: SignedIn,
  ): Promise<AccountItem> {
    const closed = await this.closing.close(employerId, me.personId, accountId);
    return showAccount(closed, this.personal, this.config);
  }
}
