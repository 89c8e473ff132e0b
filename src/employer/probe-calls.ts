import { Injectable } from '@nestjs/common';
import { BankClient } from '../bank/client';
import { BankGateway } from '../bank/gateway';
import { PATHS } from '../bank/types';
import { PersonalData } from '../database/personal-data';
import { IsoDate } from '../domain/business-day';
import { BankCalls, wordsOf } from './bank-calls';
import { EmployerAccount } from './employer.entity';

/** What an empty instruction announces. */
interface Announced {
  probeId: string;
  totalMinor: bigint;
  executionDate: IsoDate;
}

/** Its id at the bank, or what came of it when none is known to exist: `isRefused` where the bank does not take it as it is. */
type Initiated = { id: string } | { why: string | null; isRefused: boolean };

/**
 * The one thing a probe leaves at the bank: an instruction that announces a payment and is never filled nor submitted.
 * An instruction that was never submitted never moves money. Its calls have intents like every other one's.
 */
@Injectable()
export class ProbeCalls {
  constructor(
    private readonly client: BankClient,
    private readonly gateway: BankGateway,
    private readonly personal: PersonalData,
    private readonly calls: BankCalls,
  ) {}

  /** Initiates the empty instruction. */
  async initiate(
    account: EmployerAccount,
    { probeId, totalMinor, executionDate }: Announced,
  ): Promise<Initiated> {
    const { path, body } = this.gateway.prepareInitiate({
      reference: `PB${probeId.replaceAll('-', '')}`,
      count: 1,
      totalMinor,
      currency: account.currency,
      executionDate,
      debtor: {
        name: account.debtorName,
        iban: this.personal.open(account.ibanSealed),
        bic: account.bic ?? undefined,
        identityId: account.bankUserId,
      },
      externalData: { probeId },
    });
    const { employerId } = account;
    const call = { employerId, subjectId: probeId, operation: 'initiate', target: path, body } as const;
    const outcome = await this.calls.recorded(call, () =>
      this.client.customerInstructions.initiateBytes(body),
    );
    if (outcome.kind === 'yes') return { id: outcome.value.id };
    const isRefused = outcome.kind === 'no' && outcome.reason === 'invalid';
    return { why: wordsOf(outcome), isRefused };
  }

  /** Tidies up; whether it succeeds changes nothing. */
  async delete(account: EmployerAccount, probeId: string, bankInstructionId: string): Promise<void> {
    const target = PATHS.creditTransfer(encodeURIComponent(bankInstructionId));
    const { employerId } = account;
    const call = { employerId, subjectId: probeId, operation: 'delete', target, body: '' } as const;
    await this.calls.recorded(call, () => this.client.customerInstructions.delete(bankInstructionId));
  }
}
