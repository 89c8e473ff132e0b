import { Body, Controller, Get, HttpCode, Inject, Param, Patch, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { append } from '../audit/audit';
import { CONFIG, Config } from '../config/env';
import { Database } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { checkName } from '../domain/latin';
import { parseDecimalAmount } from '../domain/money';
import { MAX_NAME } from '../domain/pay-file';
import { Allow } from '../http/allow';
import { IdParam, showId } from '../http/prefixed-id';
import { Me, SignedIn } from '../http/signed-in';
import { accountsOf, findAccount } from './account.store';
import { accountBody, AccountItem, showAccount } from './account-view';
import { Attachment, ListedAccount } from './attachment';
import { EmployerAccount } from './employer.entity';
import { HookService, HookState } from './hook.service';
import { Findings, Onboarding } from './onboarding';
import { UnitCheck } from './unit-check';

/** Ids of the bank are opaque; they only have to be no longer than an address bears. */
const bankId = z.string().trim().min(1).max(100);

/** Sent with every instruction, so it must hold what every SEPA bank takes; nothing is converted silently. */
const debtorName = z
  .string()
  .max(MAX_NAME)
  .regex(/[A-Za-z]/, 'must hold a letter')
  .refine((text) => {
    const checked = checkName(text);
    return checked.ok && !checked.changed;
  }, "must hold only A to Z, 0 to 9, spaces and / - ? : ( ) . , ' +, without spaces around or doubled");

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

const finding = z.enum(['allowed', 'refused', 'unknown']);
const findings = z.object({
  INSTRUCTION: finding,
  INSTRUCTION_PAYMENTS: finding,
  PAYMENT_LIST: finding,
  PAYMENT: finding,
  BALANCE: finding,
});
const probedBody = z.object({ ...accountBody.shape, findings, hook: z.enum(['ON', 'OFF', 'FAILED']) });
type ProbedItem = AccountItem & { findings: Findings; hook: HookState };

class AccountBody extends createZodDto(accountBody) {}
class AccountsBody extends createZodDto(z.object({ items: z.array(accountBody) })) {}
class ProbedBody extends createZodDto(probedBody) {}
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
    private readonly onboarding: Onboarding,
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
    const accounts = await this.database.inEmployer(employerId, accountsOf);
    return { items: accounts.map((account) => this.show(account)) };
  }

  @Get('accounts/:accountId')
  @Allow('operator', 'finance', 'preparer', 'approver')
  @ApiOperation({ summary: 'One account' })
  @ApiOkResponse({ type: AccountBody })
  async get(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('accountId', new IdParam('acc')) accountId: string,
  ): Promise<AccountItem> {
    return this.show(await this.find(employerId, accountId));
  }

  @Post('accounts')
  @Allow('operator')
  @ApiOperation({ summary: 'Attaches an account and finds out what the bank allows for it' })
  @ApiCreatedResponse({ type: ProbedBody })
  async attach(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
    @Body() body: NewAccountBody,
  ): Promise<ProbedItem> {
    const attached = await this.attachment.attach(employerId, me.personId, body);
    return this.probed(attached, me);
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
    return this.probed(await this.find(employerId, accountId), me);
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

  private async probed(account: EmployerAccount, me: SignedIn): Promise<ProbedItem> {
    const { account: probed, findings } = await this.onboarding.probe(account, me.personId);
    const hook = await this.hooks.ensureHookOf(account.employerId);
    return { ...this.show(probed), findings, hook };
  }

  private find(employerId: string, accountId: string): Promise<EmployerAccount> {
    return this.database.inEmployer(employerId, (tx) => findAccount(tx, accountId));
  }

  private show(account: EmployerAccount): AccountItem {
    return showAccount(account, this.personal, this.config);
  }
}
