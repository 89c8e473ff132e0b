import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Outcome } from '../bank/outcome';
import { BankClient } from '../bank/client';
import { BankGateway } from '../bank/gateway';
import { PATHS } from '../bank/types';
import { Clock } from '../config/clock';
import { Database } from '../database/database';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { IsoDate } from '../domain/business-day';
import { EmployerAccount } from './employer.entity';

const ONE_CENT = 1n;

interface Call {
  employerId: string;
  probeId: string;
  operation: 'initiate' | 'delete';
  target: string;
  body: string;
}

/**
 * The one thing a probe leaves at the bank: an instruction that announces a cent and is never filled nor submitted.
 * An instruction that was never submitted never moves money. Its calls have intents like every other one's.
 */
@Injectable()
export class ProbeCalls {
  constructor(
    private readonly database: Database,
    private readonly client: BankClient,
    private readonly gateway: BankGateway,
    private readonly personal: PersonalData,
    private readonly clock: Clock,
  ) {}

  /** Initiates the empty instruction. @returns its id at the bank, or undefined when none is known to exist. */
  async initiate(
    account: EmployerAccount,
    probeId: string,
    executionDate: IsoDate,
  ): Promise<string | undefined> {
    const { path, body } = this.gateway.prepareInitiate({
      reference: `PB${probeId.replaceAll('-', '')}`,
      count: 1,
      totalMinor: ONE_CENT,
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
    const call = { employerId, probeId, operation: 'initiate', target: path, body } as const;
    const outcome = await this.recorded(call, () => this.client.customerInstructions.initiateBytes(body));
    return outcome.kind === 'yes' ? outcome.value.id : undefined;
  }

  /** Tidies up; whether it succeeds changes nothing. */
  async delete(account: EmployerAccount, probeId: string, bankInstructionId: string): Promise<void> {
    const target = PATHS.creditTransfer(encodeURIComponent(bankInstructionId));
    const call = { employerId: account.employerId, probeId, operation: 'delete', target, body: '' } as const;
    await this.recorded(call, () => this.client.customerInstructions.delete(bankInstructionId));
  }

  private async recorded<T>(call: Call, send: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
    const { employerId, probeId, operation, target } = call;
    const callId = newId(this.clock.now().getTime());
    const bodyHash = createHash('sha256').update(call.body).digest();
    await this.database.inEmployer(employerId, (tx) =>
      tx.query(
        `INSERT INTO bank_call (employer_id, id, operation, instruction_id, target, body_hash, attempt, epoch)
         VALUES ($1, $2, $3, $4, $5, $6, 1, 0)`,
        [employerId, callId, operation, probeId, target, bodyHash],
      ),
    );
    const outcome = await send();
    const told = { yes: 'YES', no: 'NO', 'in-doubt': 'IN_DOUBT' }[outcome.kind];
    await this.database.inEmployer(employerId, (tx) =>
      tx.query(
        `UPDATE bank_call SET outcome = $3, finished_at = clock_timestamp() WHERE employer_id = $1 AND id = $2`,
        [employerId, callId, told],
      ),
    );
    return outcome;
  }
}
