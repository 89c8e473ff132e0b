import type { BankGateway } from '../bank/gateway';
import type { PreparedAdd, PreparedInitiate } from '../bank/prepared';
import type { PersonalData } from '../database/personal-data';
import { messageIdOf } from '../pay-run/message-id';
import type { PayableRow, Work } from './work';

const SHORT_ID = 22;
const BASE = 36;
const REFERENCE = /^([0-9a-f]{22})-([0-9a-z]{1,4})-([0-9a-z]{1,4})-[0-9a-z]{1,4}-[0-9a-z]{1,4}$/;
/** As it was sent before it named the version, in decimals. */
const WITHOUT_VERSION = /^([0-9a-f]{22})-(\d{1,6})-\d{1,4}-\d{1,4}$/;

/**
 * The `customerInstructionReference`: run, its version, planned instruction, attempt to build it, and attempt to initiate
 * that. Not in decimals: 35 characters are allowed.
 */
export function referenceOf({ run, planned, instruction }: Work, initiate: number): string {
  const numbers = [planned.runVersion, planned.ordinal, instruction.attempt, initiate];
  return [shortId(run.id), ...numbers.map((number) => number.toString(BASE))].join('-');
}

/** Whether a reference is of this attempt to build the instruction, whichever of its attempts to initiate was answered. */
export function isReferenceOf(work: Work, reference: string): boolean {
  const { run, planned, instruction } = work;
  const withoutVersion = `${shortId(run.id)}-${planned.ordinal}-${instruction.attempt}-0`;
  const first = reference.toLowerCase().replace(/[0-9a-z]{1,4}$/, '0');
  return first === referenceOf(work, 0) || first === withoutVersion;
}

/** What a reference names. */
export interface Referred {
  /** The beginning of its id. */
  run: string;
  /** Undefined in references that were sent before they named it. */
  version: number | undefined;
  ordinal: number;
}

/** What a reference names, which a bank may write in capitals; undefined for one not ours. */
export function readReference(reference: string): Referred | undefined {
  const written = reference.toLowerCase();
  const [, run, version = '', ordinal = ''] = REFERENCE.exec(written) ?? [];
  if (run !== undefined)
    return { run, version: Number.parseInt(version, BASE), ordinal: Number.parseInt(ordinal, BASE) };
  const [, before, decimal] = WITHOUT_VERSION.exec(written) ?? [];
  return before === undefined ? undefined : { run: before, version: undefined, ordinal: Number(decimal) };
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
