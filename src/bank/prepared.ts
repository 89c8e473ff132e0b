import { createHash } from 'node:crypto';
import type { AmountCodec } from './amount-codec';
import { segment } from './link';
import { PATHS } from './types';

/** A POST whose bytes are known before it is sent, so that its hash can be recorded as intent. */
export interface PreparedCall {
  path: string;
  /** Exactly what is sent; empty for a call without a body. */
  body: string;
  /** SHA-256 of the body's UTF-8 bytes. */
  bodyHash: Buffer;
}

export interface PreparedInitiate extends PreparedCall {
  request: InitiateInstruction;
}

export interface PreparedAdd extends PreparedCall {
  bankInstructionId: string;
  request: AddPayment;
}

export interface PreparedSubmit extends PreparedCall {
  bankInstructionId: string;
}

/** A party's account in Payrun's words. */
export interface BankParty {
  name: string;
  iban: string;
  bic?: string;
}

/** Step 1: what the instruction announces. */
export interface InitiateInstruction {
  reference: string;
  count: number;
  totalMinor: bigint;
  currency: string;
  /** Calendar date `YYYY-MM-DD`. */
  executionDate: string;
  debtor: BankParty & { identityId?: string };
  externalData: Readonly<Record<string, string>>;
}

/** Step 2: one payment. */
export interface AddPayment {
  messageId: string;
  amountMinor: bigint;
  currency: string;
  creditor: BankParty;
  remittance?: string;
  externalData: Readonly<Record<string, string>>;
}

/** How payroll instructions are marked (Customer instruction: customerInstructionInformation). */
export interface InstructionMarks {
  batchBooking: boolean;
  categoryPurpose: string;
  serviceLevel: string;
}

export const SALARY_MARKS: InstructionMarks = {
  batchBooking: true,
  categoryPurpose: 'SALA',
  serviceLevel: 'BACI',
};

/** Each side bears the charges of its own bank: what every payment is sent with (Step 2, `chargeBearer`). */
export const CHARGE_BEARER = 'SLEV';

/** Step 1 request body. The total goes out as an array of one Amount. */
export function prepareInitiate(
  request: InitiateInstruction,
  marks: InstructionMarks,
  codec: AmountCodec,
): PreparedInitiate {
  const { identityId } = request.debtor;
  const identity = identityId === undefined ? '' : `"id":{"type":"identityId","value":${json(identityId)}},`;
  const body =
    '{"customerInstructionInformation":{"paymentInstrument":"CreditTransfer","paymentService":"PAYMENTS",' +
    `"batchBooking":${marks.batchBooking},"customerInstructionReference":${json(request.reference)},` +
    `"requestedNbPaymentTransactions":${request.count},` +
    `"requestedTotalAmount":[${codec.encodeJson(request.totalMinor, request.currency)}],` +
    `"requestedExecutionDate":${json(request.executionDate)},"customerInstructionTypeInformation":` +
    `{"categoryPurpose":${json(marks.categoryPurpose)},"serviceLevel":${json(marks.serviceLevel)}}},` +
    `"customerInstructionOrderingParties":{"debtor":{${identity}${partyJson(request.debtor)}}},` +
    `"externalData":${JSON.stringify(request.externalData)}}`;
  return { path: PATHS.initiate(), body, bodyHash: hashOf(body), request };
}

/**
 * Step 2 request body, written as text: a hundred thousand of them are built in a run. No postal address: SEPA
 * refuses an unstructured one since 2026-11-15.
 */
export function prepareAdd(bankInstructionId: string, request: AddPayment, codec: AmountCodec): PreparedAdd {
  const remittance =
    request.remittance === undefined
      ? ''
      : `"paymentTransactionDedicatedInformations":{"remittanceInformation":{"value":${json(request.remittance)},"type":"UNSTRUCTURED"}},`;
  const body =
    `{"paymentTransactionAmountInformation":{"instructedAmount":${codec.encodeJson(request.amountMinor, request.currency)},"chargeBearer":"${CHARGE_BEARER}"},` +
    `"paymentTransactionParties":{"creditor":{${partyJson(request.creditor)}}},${remittance}` +
    `"paymentTransactionInformation":{"paymentTransactionIdentification":{"messageId":${json(request.messageId)}}},` +
    `"externalData":${JSON.stringify(request.externalData)}}`;
  const path = PATHS.addPaymentTransaction(segment(bankInstructionId));
  return { path, body, bodyHash: hashOf(body), bankInstructionId, request };
}

/** Step 3 has no request body. */
export function prepareSubmit(bankInstructionId: string): PreparedSubmit {
  return {
    path: PATHS.submit(segment(bankInstructionId)),
    body: '',
    bodyHash: hashOf(''),
    bankInstructionId,
  };
}

function partyJson(party: BankParty): string {
  const bank = party.bic === undefined ? '' : `,"bankId":{"type":"BIC","value":${json(party.bic)}}`;
  return `"name":${json(party.name)},"accountId":{"type":"IBAN","value":${json(party.iban)}${bank}}`;
}

function json(text: string): string {
  return JSON.stringify(text);
}

function hashOf(body: string): Buffer {
  return createHash('sha256').update(body, 'utf8').digest();
}
