import type { PersonalData } from '../database/personal-data';
import type { ApprovedFields } from '../domain/pay-file';

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
