import type { PersonalData } from '../database/personal-data';
import type { ApprovedFields } from '../domain/pay-file';
import type { EmployerAccount } from '../employer/employer.entity';
import type { PayRun } from './pay-run.entity';
import type { ApprovedTerms } from './run-hash';

/** The columns of a stored payment that its row hash covers, as they are read. */
export interface StoredFields {
  employee_id: string;
  name_sealed: string;
  iban_sealed: string;
  bic: string | null;
  amount_minor: string;
  currency: 'EUR';
  remittance: string | null;
  replaces_payment_id: string | null;
}

/** What an approval covers of a stored row, opened: the amount in minor units. */
export function approvedFields(personal: PersonalData, row: StoredFields): ApprovedFields {
  return {
    employeeId: row.employee_id,
    sepaName: personal.open(row.name_sealed),
    iban: personal.open(row.iban_sealed),
    bic: row.bic ?? undefined,
    amountMinor: BigInt(row.amount_minor),
    currency: row.currency,
    remittance: row.remittance ?? '',
    replacesPaymentId: row.replaces_payment_id,
  };
}

/** What a root hash covers of a run besides its rows. */
export type StoredTerms = Pick<
  PayRun,
  'id' | 'runVersion' | 'executionDate' | 'currency' | 'rowCount' | 'totalMinor'
>;

/** What a root hash covers of the account that a run pays from. */
export type StoredDebtor = Pick<EmployerAccount, 'debtorName' | 'ibanSealed' | 'bankAccountId'>;

/** What an approval covers besides the rows, opened: the total in minor units. */
export function approvedTerms(
  personal: PersonalData,
  run: StoredTerms,
  account: StoredDebtor,
): ApprovedTerms {
  return {
    payRunId: run.id,
    runVersion: run.runVersion,
    debtorName: account.debtorName,
    debtorIban: personal.open(account.ibanSealed),
    bankAccountId: account.bankAccountId,
    executionDate: run.executionDate,
    currency: run.currency,
    rowCount: run.rowCount,
    totalMinor: run.totalMinor,
  };
}
