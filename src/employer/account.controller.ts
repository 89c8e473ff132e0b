import { Body, Controller, Get, HttpCode, Inject, Param, Patch, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { append } from '../audit/audit';
import { CONFIG, Config } from '../config/env';
import { Database } from '../database/database';
import { afterCommit } from '../database/outage';
import { PersonalData } from '../database/personal-data';
import { parseDecimalAmount } from '../domain/money';
import { Allow } from '../http/allow';
import { IdParam, showId } from '../http/prefixed-id';
import { reason } from '../http/reason';
import { Me, SignedIn } from '../http/signed-in';
import { CarriedOutOnce, isAnswer } from '../identity/idempotency.interceptor';
import {
  AccountBody,
  AccountDetail,
  AccountDetailBody,
  bankId,
  debtorName,
  ProbedBody,
  ProbedItem,
} from './account-bodies';
import { AccountProbe } from './account-probe';
import { attachedAccountsOf, findAccount, findAccountEver } from './account.store';
import { accountBody, AccountItem, showAccount } from './account-view';
import { Attachment, ListedAccount } from './attachment';
import { Detachment } from './detachment';
import { EmployerAccount } from './employer.entity';
import { HookService } from './hook.service';
import { UnitCheck } from './unit-check';

/** A balance has more digits than a payment; this many are no longer one. */
const BALANCE_BOUNDS = { minMinor: 0n, maxMinor: 10n ** 17n };
const balance = z.string().transform((text, context) => {
  const parsed = parseDecimalAmount(text, BALANCE_BOUNDS);
  if (parsed.ok) return parsed.amountMinor;
  context.addIssue('must be an amount such as 12345.67');
  return z.NEVER;
});

class NewAccountBody extends createZodDto(
  z.strictObject({ bankAccountId: bankId, debtorName, bankIdentityId: bankId.optional() }),
) {}
class AccountChange extends createZodDto(z.strictObject({ bankIdentityId: bankId })) {}
class BalanceCheck extends createZodDto(z.strictObject({ balance })) {}
class DetachmentBody extends createZodDto(z.strictObject({ reason })) {}
class DetachedBody extends createZodDto(z.object({ id: z.string(), detachedAt: z.iso.datetime() })) {}

class AccountsBody extends createZodDto(z.object({ items: z.array(accountBody) })) {}
class ListedBody extends createZodDto(
  z.object({
    items: z.array(
      z.object({
        bankAccountId: z.string(),
        iban: z.string().nullable(),
        status: z.string(),
        label: z.string().nullable(),
        attached: z.boolean(),
      }),
    ),
    complete: z.boolean(),
  }),
) {}

/** An employer's accounts at the bank: attached, probed, their unit checked. */
@ApiTags('accounts')
@Controller('v1/employers/:employerId')
export class AccountController {
  constructor(
    private readonly database: Database,
    private readonly attachment: Attachment,
    private readonly detachment: Detachment,
    private readonly probing: AccountProbe,
    private readonly unitCheck: UnitCheck,
    private readonly hooks: HookService,
    private readonly personal: PersonalData,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get('bank-accounts')
  @Allow('operator')
  @ApiOperation({ summary: 'Accounts the bank lists, without those of other employers' })
  @ApiOkResponse({ type: ListedBody })
  bankAccounts(
    @Param('employerId', new IdParam('emp')) employerId: string,
  ): Promise<{ items: ListedAccount[]; complete: boolean }> {
    return this.attachment.listed(employerId);
  }

  @Get('accounts')
  @Allow('operator', 'finance', 'preparer', 'approver')
  @ApiOperation({ summary: "The employer's accounts, and what each still lacks" })
  @ApiOkResponse({ type: AccountsBody })
  async list(@Param('employerId', new IdParam('emp')) employerId: string): Promise<{ items: AccountItem[] }> {
    const accounts = await this.database.inEmployer(employerId, attachedAccountsOf);
    return { items: accounts.map((account) => this.show(account)) };
  }

  @Get('accounts/:accountId')
  @Allow('operator', 'finance', 'preparer', 'approver')
  @ApiOperation({ summary: 'One account, with its status and, for finance, its balance at the bank now' })
  @ApiOkResponse({ type: AccountDetailBody })
  async get(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('accountId', new IdParam('acc')) accountId: string,
    @Me() me: SignedIn,
  ): Promise<AccountDetail> {
    const account = await this.database.inEmployer(employerId, (tx) => findAccountEver(tx, accountId));
    const shown = { ...this.show(account), detachedAt: account.detachedAt?.toISOString() ?? null };
    // It may be another employer's by now.
    if (account.detachedAt !== null) return { ...shown, atBank: null };
    return { ...shown, atBank: await this.probing.live(account, me.roles.has('finance')) };
  }

  @Post('accounts')
  @CarriedOutOnce()
  @Allow('operator')
  @ApiOperation({ summary: 'Attaches an account and finds out what the bank allows for it' })
  @ApiCreatedResponse({ type: ProbedBody })
  async attach(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
    @Body() body: NewAccountBody,
  ): Promise<ProbedItem> {
    const attached = await this.attachment.attach(employerId, me.personId, body);
    return afterCommit(() => this.probing.probed(attached, me.personId), isAnswer);
  }

  @Patch('accounts/:accountId')
  @Allow('operator')
  @ApiOperation({ summary: 'Names the identity at the bank that holds the account' })
  @ApiOkResponse({ type: AccountBody })
  async change(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('accountId', new IdParam('acc')) accountId: string,
    @Me() me: SignedIn,
    @Body() { bankIdentityId }: AccountChange,
  ): Promise<AccountItem> {
    const changed = await this.database.inEmployer(employerId, async (tx) => {
      const account = await findAccount(tx, accountId);
      await tx.manager.update(EmployerAccount, { employerId, id: accountId }, { bankUserId: bankIdentityId });
      const subject = showId('acc', accountId);
      await append(tx, {
        personId: me.personId,
        action: 'account.changed',
        subject,
        detail: { bankIdentityId },
      });
      return { ...account, bankUserId: bankIdentityId };
    });
    await this.hooks.ensureHookOf(employerId);
    return this.show(changed);
  }

  @Post('accounts/:accountId/probe')
  @HttpCode(200)
  @Allow('operator')
  @ApiOperation({ summary: 'Finds out again which reads the bank allows; moves no money' })
  @ApiOkResponse({ type: ProbedBody })
  async probe(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('accountId', new IdParam('acc')) accountId: string,
    @Me() me: SignedIn,
  ): Promise<ProbedItem> {
    return this.probing.probed(await this.find(employerId, accountId), me.personId);
  }

  @Post('accounts/:accountId/balance-check')
  @HttpCode(200)
  @Allow('operator', 'finance')
  @ApiOperation({ summary: "Checks the unit of amounts with the balance that the bank's portal shows" })
  @ApiOkResponse({ type: AccountBody })
  async checkBalance(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('accountId', new IdParam('acc')) accountId: string,
    @Me() me: SignedIn,
    @Body() body: BalanceCheck,
  ): Promise<AccountItem> {
    const account = await this.find(employerId, accountId);
    return this.show(await this.unitCheck.confirm(account, me.personId, body.balance));
  }

  @Post('accounts/:accountId/detachment')
  @HttpCode(200)
  @Allow('operator')
  @ApiOperation({
    summary: 'Takes an unused account from the employer for good; at the bank nothing changes',
  })
  @ApiOkResponse({ type: DetachedBody })
  async detach(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('accountId', new IdParam('acc')) accountId: string,
    @Me() me: SignedIn,
    @Body() { reason }: DetachmentBody,
  ): Promise<DetachedBody> {
    const detachedAt = await this.detachment.detach(employerId, me.personId, accountId, reason);
    return { id: showId('acc', accountId), detachedAt: detachedAt.toISOString() };
  }

  private find(employerId: string, accountId: string): Promise<EmployerAccount> {
    return this.database.inEmployer(employerId, (tx) => findAccount(tx, accountId));
  }

  private show(account: EmployerAccount): AccountItem {
    return showAccount(account, this.personal, this.config);
  }
}
