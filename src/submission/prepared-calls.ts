import type { BankGateway } from '../bank/gateway';
import type { PreparedAdd, PreparedInitiate } from '../bank/prepared';
import type { PersonalData } from '../database/personal-data';
import { messageIdOf } from '../pay-run/message-id';
import type { PayableRow, Work } from './work';

const SHORT_ID = 22;
const REFERENCE = /^([0-9a-f]{22})-(\d{1,6})-\d{1,4}-\d{1,4}$/;

/** The `customerInstructionReference`: run, planned instruction, attempt to build it, and attempt to initiate that. */
export function referenceOf({ run, planned, instruction }: Work, initiate: number): string {
  return `${shortId(run.id)}-${planned.ordinal}-${instruction.attempt}-${initiate}`;
}

/** Whether a reference is of this attempt to build the instruction, whichever of its attempts to initiate was answered. */
export function isReferenceOf(work: Work, reference: string): boolean {
  return reference.toLowerCase().replace(/\d{1,4}$/, '0') === referenceOf(work, 0);
}

/**
 * The run (the beginning of its id) and the planned instruction a reference names, which a bank may write in capitals;
 * undefined for one not ours.
 */
export function readReference(reference: string): { run: string; ordinal: number } | undefined {
  const [, run, ordinal] = REFERENCE.exec(reference.toLowerCase()) ?? [];
  return run === undefined ? undefined : { run, ordinal: Number(ordinal) };
}

/** The beginning of a run's id as a reference has it. */
export function shortId(id: string): string {
  return id.replaceAll('-', '').slice(0, SHORT_ID);
}

/** Step 1 of an instruction, as it is sent. */
export function initiateOf(
  gateway: BankGateway,
  personal: PersonalData,
  { run, planned, account, instruction }: Work,
  reference: string,
): PreparedInitiate {
  return gateway.prepareInitiate({
    reference,
    count: planned.rowCount,
    totalMinor: planned.totalMinor,
    currency: run.currency,
    executionDate: run.executionDate,
    debtor: {
      name: account.debtorName,
      iban: personal.open(account.ibanSealed),
      bic: account.bic ?? undefined,
      identityId: account.bankUserId,
    },
    externalData: { payRunId: run.id, instructionId: instruction.id },
  });
}

/** Step 2 of one row, as it is sent. @throws Error for an instruction the bank has not named */
export function addOf(gateway: BankGateway, { run, instruction }: Work, row: PayableRow): PreparedAdd {
  if (instruction.bankInstructionId === null)
    throw new Error('rows are added only to an instruction the bank has named');
  const messageId = messageIdOf(instruction.id, row.rowNo);
  return gateway.prepareAdd(instruction.bankInstructionId, {
    messageId,
    amountMinor: row.amountMinor,
    currency: row.currency,
    creditor: { name: row.name, iban: row.iban, bic: row.bic ?? undefined },
    remittance: row.remittance ?? undefined,
    externalData: { messageId, payRunId: run.id, paymentId: row.paymentId },
  });
}
