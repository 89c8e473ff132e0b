import { Module } from '@nestjs/common';
import { IdentityModule } from '../identity/identity.module';
import { AccountClosing } from './account-closing';
import { AccountController } from './account.controller';
import { AccountOpening } from './account-opening';
import { AccountProbe } from './account-probe';
import { Attachment } from './attachment';
import { BankAccountController } from './bank-account.controller';
import { BankCalls } from './bank-calls';
import { BankReads } from './bank-reads';
import { Detachment } from './detachment';
import { EmployerController } from './employer.controller';
import { FaultsInARow } from './faults-in-a-row';
import { HookController } from './hook.controller';
import { HookService } from './hook.service';
import { KillSwitch } from './kill-switch';
import { EmployerSwitchController, ServiceSwitchController } from './kill-switch.controller';
import { Onboarding } from './onboarding';
import { PaymentLists } from './payment-lists';
import { PaymentsAlone } from './payments-alone';
import { PeopleController } from './people.controller';
import { ProbeCalls } from './probe-calls';
import { UnitCheck } from './unit-check';

/** Employers, who works for them, their accounts at the bank and the switches that stop them. */
@Module({
  imports: [IdentityModule],
  controllers: [
    EmployerController,
    PeopleController,
    AccountController,
    BankAccountController,
    HookController,
    EmployerSwitchController,
    ServiceSwitchController,
  ],
  providers: [
    AccountClosing,
    AccountOpening,
    AccountProbe,
    Attachment,
    BankCalls,
    BankReads,
    Detachment,
    FaultsInARow,
    HookService,
    KillSwitch,
    Onboarding,
    PaymentLists,
    PaymentsAlone,
    ProbeCalls,
    UnitCheck,
  ],
  exports: [BankCalls, BankReads, FaultsInARow, HookService, PaymentsAlone],
})
export class EmployerModule {}
