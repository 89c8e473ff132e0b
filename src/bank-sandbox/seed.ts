/** A user of the distributor as the sandbox starts with it; balances are in cents. */
export interface SeedUser {
  userId: number;
  identityId: number;
  holderName: string;
  kyc: 'VERIFIED' | 'PENDING';
  /** The user's account at the start, or none. */
  account?: { accountId: string; iban: string; balanceMinor: string };
}

export interface Seed {
  distributor: { id: number; name: string };
  products: { id: string; type: string; currency: string; name: string; profiles: number[] }[];
  users: SeedUser[];
}

/** The bank code inside every IBAN of the sandbox bank. No real bank code begins with 9. */
export const SANDBOX_BANK_CODE = '99990000';

export const SANDBOX_BIC = 'SBOXDEFFXXX';

/** What a fresh sandbox holds: one distributor, two products, three verified companies with funded accounts. */
export const DEFAULT_SEED: Readonly<Seed> = {
  distributor: { id: 77, name: 'Payrun Distributor' },
  products: [
    { id: '11', type: 'CURRENT', currency: 'EUR', name: 'Business Current', profiles: [2] },
    { id: '12', type: 'CURRENT', currency: 'EUR', name: 'Payroll Current', profiles: [2] },
  ],
  users: [
    {
      userId: 501,
      identityId: 9501,
      holderName: 'Alder Logistics GmbH',
      kyc: 'VERIFIED',
      account: { accountId: '1001', iban: 'DE70999900000000001001', balanceMinor: '25000000' },
    },
    {
      userId: 502,
      identityId: 9502,
      holderName: 'Birch Foods SARL',
      kyc: 'VERIFIED',
      account: { accountId: '1002', iban: 'DE43999900000000001002', balanceMinor: '100000000000' },
    },
    {
      userId: 503,
      identityId: 9503,
      holderName: 'Cedar Crèches SAS',
      kyc: 'VERIFIED',
      account: { accountId: '1003', iban: 'DE16999900000000001003', balanceMinor: '150000' },
    },
  ],
};
