import type {
  Account,
  CustomerInstruction,
  Party,
  PaymentTransaction,
  PaymentTransactionsStatus,
} from '../../bank/types';
import type { AmountCodec, Wire, WireAmount } from '../amounts';
import { timestamp } from '../clock';
import { electronicIban, spacedIban } from '../iban';
import { SANDBOX_BIC } from '../seed';
import type { Accounts } from '../state/accounts';
import { isCounted, paymentInstructionIdOf } from '../state/instructions';
import type { AccountRecord, InstructionRecord, PaymentRecord } from '../state/records';
import { FAILURES, groupStatusOf, isNotProcessable, statusObject } from '../state/status-sequences';
import type { Variants } from '../variants';
import type { Links } from './links';
import { withoutInstructionId, withoutOptionalFields } from './optional-fields';

/** What the document writes where a value is absent. */
export const NOT_PROVIDED = 'NOTPROVIDED';

/** By how much the two ids of a payment differ where each has its sequence. */
const SEQUENCES_APART = 50;

/** Records of the state as the document writes them, in the unit and the habits the variants ask for. */
export class Views {
  constructor(
    private readonly accounts: Accounts,
    private readonly codec: AmountCodec,
    private readonly links: Links,
    private readonly variants: Variants,
  ) {}

  account(record: AccountRecord, withIban: boolean): Wire<Account> {
    const product = this.accounts.seed.products.find(({ id }) => id === String(record.productId));
    return {
      id: record.id,
      externalId: null,
      userId: record.userId,
      productId: record.productId,
      status: this.accounts.statusOf(record),
      label: `${product?.name ?? ''} ${record.id}`,
      balance: this.codec.write(record.balanceMinor),
      availableBalance: this.codec.writeSum([record.balanceMinor, -record.heldMinor]),
      createdAt: timestamp(record.createdAtMs),
      lastUsedAt: timestamp(record.lastUsedAtMs),
      ...(withIban && { iban: this.iban(record.iban), bic: SANDBOX_BIC }),
    };
  }

  /** An instruction as it was at `asOfMs`. */
  instruction(record: InstructionRecord, asOfMs: number): Wire<CustomerInstruction> {
    const status = record.history.statusAt(asOfMs);
    // Not called optional for an instruction, whose late steps have none in the history: it keeps the last it had.
    const groupStatus = groupStatusOf(status) ?? statusObject('IN_PROGRESS');
    const seen = record.payments.filter(({ createdAtMs }) => createdAtMs <= asOfMs);
    const counted = seen.filter((payment) => isCounted(payment, this.variants));
    const grouped = this.groupedAt(record, seen, asOfMs);
    const { requestedTotalMinor, customerInstructionReference: sent, ...information } = record.information;
    const reference = this.inItsCase(sent);
    return {
      id: record.id,
      status: statusObject(status),
      groupStatus,
      history: record.history.entriesAt(asOfMs),
      calculatedNbPaymentTransactions: counted.length,
      calculatedAmount: this.codec.writeSum(counted.map(amountOf)),
      ...(grouped && { paymentTransactionsStatus: this.groups(grouped) }),
      customerInstructionInformation: {
        ...information,
        ...(reference !== undefined && { customerInstructionReference: reference }),
        ...(requestedTotalMinor !== undefined && {
          requestedTotalAmount: this.codec.write(BigInt(requestedTotalMinor)),
        }),
      },
      customerInstructionOrderingParties: {
        initiatingParty: this.initiatingParty(),
        debtor: this.party(record.debtor),
      },
      ...(record.externalData && { externalData: record.externalData }),
      links: this.links.ofInstruction(record),
    };
  }

  /** A payment as it was at `asOfMs`; a list may leave parts of it out. */
  payment(record: PaymentRecord, asOfMs: number, inList: boolean): Wire<PaymentTransaction> {
    const { omitFromLists, optionalFields } = this.variants;
    const left = inList ? omitFromLists : [];
    const paymentInstructionId = paymentInstructionIdOf(record, asOfMs);
    // A payment fails before it is charged.
    const failed = FAILURES.has(record.history.statusAt(asOfMs));
    const settlementDate = record.history.hadBy('SETTLED', asOfMs) ? record.settlementDate : undefined;
    const instructionId = record.instruction?.id;
    const whole: Wire<PaymentTransaction> = {
      paymentTransactionInformation: this.information(record, left.includes('messageId')),
      paymentTransactionInternalInformation: this.internalInformation(record, asOfMs),
      paymentTransactionDateInformation: {
        creationDate: timestamp(record.createdAtMs),
        instructedDate: record.instructedDate,
        ...this.maybe('settlementDate', settlementDate),
      },
      paymentTransactionAmountInformation: {
        instructedAmount: this.codec.write(amountAt(record, asOfMs)),
        chargesAmount: this.charges((failed ? 0n : record.chargeMinor) + (record.furtherChargeMinor ?? 0n)),
        ...this.maybe('chargeBearer', record.chargeBearer),
      },
      ...(!left.includes('parties') && { paymentTransactionParties: this.parties(record) }),
      ...(record.remittance && {
        paymentTransactionDedicatedInformations: { remittanceInformation: record.remittance },
      }),
      ...(instructionId !== undefined && { customerInstructionId: instructionId }),
      ...(paymentInstructionId !== undefined && { paymentInstructionId }),
      ...(record.externalData && { externalData: record.externalData }),
      links: this.links.ofPayment(record),
    };
    if (optionalFields === 'left-out') return withoutOptionalFields(whole);
    return left.includes('customerInstructionId') ? withoutInstructionId(whole) : whole;
  }

  private charges(minor: bigint): WireAmount {
    return this.codec.write(this.variants.chargeSign === 'negative' ? -minor : minor);
  }

  iban(iban: string): string {
    return this.variants.respaceIbans ? spacedIban(electronicIban(iban)) : iban;
  }

  private inItsCase(text: string | undefined): string | undefined {
    return this.variants.upperCaseReferences ? text?.toUpperCase() : text;
  }

  private information(record: PaymentRecord, withoutMessageId: boolean) {
    const ordered = record.instruction?.information.customerInstructionTypeInformation?.serviceLevel;
    return {
      paymentInstrument: 'CreditTransfer',
      paymentTransactionIdentification: {
        messageId: (withoutMessageId ? undefined : this.inItsCase(record.messageId)) ?? NOT_PROVIDED,
        endToEndId: this.inItsCase(record.endToEndId) ?? NOT_PROVIDED,
        clearingChannel: record.channel,
        ...(record.direction === 'INWARD' && { externalTransactionId: `EXT-${record.id}` }),
        id: this.variants.paymentIds === 'one-sequence' ? record.id : record.id - SEQUENCES_APART,
        ...(record.instruction && { customerInstructionId: record.instruction.id }),
      },
      paymentTransactionTypeInformation: {
        serviceLevel: record.channel === 'BOOK' ? 'ON_US' : (ordered ?? 'BACI'),
      },
      direction: record.direction,
      ...this.maybe('transactionType', record.transactionType),
    };
  }

  /** A field that a record may not have. */
  private maybe<Name extends string>(name: Name, text: string | undefined): Partial<Record<Name, string>> {
    const written = text ?? (this.variants.absentTexts === 'empty' ? '' : undefined);
    return written === undefined ? {} : ({ [name]: written } as Record<Name, string>);
  }

  private internalInformation(record: PaymentRecord, asOfMs: number) {
    const status = record.history.statusAt(asOfMs);
    const groupStatus = this.isLeft(record, asOfMs) ? statusObject('NOTPROCESSABLE') : groupStatusOf(status);
    return {
      id: record.id,
      status: record.history.statusObjectAt(asOfMs),
      ...(groupStatus && { groupStatus }),
      history: record.history.entriesAt(asOfMs),
      contractId: record.account.productId,
    };
  }

  /** Whether it failed its own checks and is left where it stood. */
  private isLeft({ outcome, history }: PaymentRecord, asOfMs: number): boolean {
    const { failedChecks } = this.variants;
    return failedChecks === 'leave-it' && isNotProcessable(outcome) && history.hadBy('SUB_STARTED', asOfMs);
  }

  private parties(record: PaymentRecord): NonNullable<PaymentTransaction['paymentTransactionParties']> {
    return {
      ...(record.instruction && { initiatingParty: this.initiatingParty() }),
      debtor: this.party(record.debtor),
      creditor: this.party(record.creditor),
      ...(record.ultimateCreditor && { ultimateCreditor: this.party(record.ultimateCreditor) }),
    };
  }

  private initiatingParty(): Party {
    const { id, name } = this.accounts.seed.distributor;
    return this.party({ name, id: { type: 'identityId', value: String(id) } });
  }

  private party(party: Party): Party {
    const { accountId } = party;
    return {
      ...party,
      name: this.name(party.name),
      ...(accountId && { accountId: { ...accountId, value: this.iban(accountId.value) } }),
    };
  }

  name(name: string): string {
    const { respaceNames, upperCaseNames } = this.variants;
    const spaced = respaceNames ? name.replaceAll(' ', '  ') : name;
    return upperCaseNames ? spaced.toUpperCase() : spaced;
  }

  /** The payments that are in their groups by then; undefined while there are no groups. */
  private groupedAt(
    { checkedAtMs, history }: InstructionRecord,
    seen: readonly PaymentRecord[],
    asOfMs: number,
  ): readonly PaymentRecord[] | undefined {
    if (checkedAtMs !== undefined && checkedAtMs <= asOfMs)
      return seen.filter((payment) => !this.isLeftOut(payment, asOfMs));
    const filling = this.variants.groupsFill === 'progressively' && history.hadBy('SUB_STARTED', asOfMs);
    return filling ? seen.slice(0, seen.length >> 1) : undefined;
  }

  /** Whether groups tell nothing of it any more. */
  private isLeftOut({ outcome, history }: PaymentRecord, asOfMs: number): boolean {
    const { groupsLeaveOut } = this.variants;
    if (groupsLeaveOut === 'nothing') return false;
    const failed = isNotProcessable(outcome) || FAILURES.has(history.statusAt(asOfMs));
    return failed || (groupsLeaveOut === 'ended' && history.hadBy('SETTLED', asOfMs));
  }

  private groups(payments: readonly PaymentRecord[]): Wire<PaymentTransactionsStatus>[] {
    const refused = payments.filter(isRefused);
    const processable = payments.filter((payment) => !isRefused(payment));
    const groups = [
      { groupStatus: 'PROCESSABLE', members: processable },
      { groupStatus: 'NOTPROCESSABLE', members: refused },
    ];
    return groups
      .filter(
        ({ groupStatus, members }) =>
          members.length > 0 || (groupStatus === 'PROCESSABLE' && payments.length === 0),
      )
      .map(({ groupStatus, members }) => ({
        groupStatus,
        nbTransactions: members.length,
        totalAmount: this.codec.writeSum(members.map(amountOf)),
      }));
  }
}

/** Its amount, or once it is returned what it brought back. */
function amountAt({ amountMinor, returnedMinor, history }: PaymentRecord, asOfMs: number): bigint {
  return history.statusAt(asOfMs) === 'RETURNED' ? (returnedMinor ?? amountMinor) : amountMinor;
}

function amountOf({ amountMinor }: PaymentRecord): bigint {
  return amountMinor;
}

/** By its own checks, or with its instruction. */
function isRefused({ outcome, history }: PaymentRecord): boolean {
  return isNotProcessable(outcome) || history.has('P_INSTRUCTION_SUB_NOT_PASSED');
}
