import type { AccountItem } from '../employer/account-view';
import { Api, Refused } from './api';
import { Register, withRegister } from './people';
import { PortalAccount } from './portal';

/** The sandbox's company with the largest balance. */
export const COMPANY = 'Birch Foods SARL';

/** Who works with the sandbox, by what they do; each but the administrator holds the role of that name. */
const STAFF = {
  administrator: 'Ada Administrator',
  preparer: 'Paul Preparer',
  approver: 'Alma Approver',
  finance: 'Fynn Finance',
  operator: 'Olga Operator',
} as const;

export type StaffRole = keyof typeof STAFF;
export type StaffKeys = Readonly<Record<StaffRole, string>>;

export const STAFF_ROLES = Object.keys(STAFF) as StaffRole[];

/** A sandbox is thrown away long before. */
const KEY_DAYS = 365;

/**
 * Makes those persons whose keys do not work, such as all of them in an empty database.
 * @param known the keys of an earlier time
 */
export function ensureStaff(
  databaseUrl: string,
  serviceUrl: string,
  known: Partial<StaffKeys>,
): Promise<StaffKeys> {
  return withRegister(databaseUrl, async (register) => {
    const keys = new Map<StaffRole, string>();
    for (const role of STAFF_ROLES) {
      const kept = known[role];
      const works = kept !== undefined && (await isValid(new Api(serviceUrl, kept)));
      keys.set(role, works ? kept : await makePerson(register, role));
    }
    return Object.fromEntries(keys) as StaffKeys;
  });
}

/** An employer with an account at the bank. */
export interface SeededEmployer {
  readonly employerId: string;
  readonly accountId: string;
  /** Why nothing is paid from the account yet; empty where it is ready. */
  readonly notReady: readonly string[];
}

/**
 * Makes the employer of a company at the bank, or completes what is there of it: roles, account, what the bank
 * allows, and the check of the amount's unit with the balance the portal shows.
 */
export async function ensureEmployer(
  serviceUrl: string,
  keys: StaffKeys,
  portalAccount: PortalAccount,
): Promise<SeededEmployer> {
  const administrator = new Api(serviceUrl, keys.administrator);
  const operator = new Api(serviceUrl, keys.operator);
  const employerId = await findOrCreate(administrator, portalAccount.holderName);
  for (const role of STAFF_ROLES) {
    if (role === 'administrator') continue;
    const { person } = await new Api(serviceUrl, keys[role]).whoami();
    await administrator.grantRole(employerId, person.id, role);
  }
  const account = await ensureAccount(operator, employerId, portalAccount);
  const notReady = account.notReady.map(({ detail }) => detail);
  return { employerId, accountId: account.id, notReady };
}

async function isValid(api: Api): Promise<boolean> {
  try {
    await api.whoami();
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return false;
    throw error;
  }
}

async function makePerson(register: Register, role: StaffRole): Promise<string> {
  const personId = await register.createPerson(STAFF[role], role === 'administrator');
  return (await register.issueKey(personId, 'sandbox', KEY_DAYS)).key;
}

async function findOrCreate(administrator: Api, name: string): Promise<string> {
  const found = (await administrator.employers()).find((employer) => employer.name === name);
  // A hundred rows, so that a payroll of some hundred shows several instructions at work.
  const settings = { name, timeZone: 'Europe/Paris', rowsPerInstruction: 100 };
  return (found ?? (await administrator.createEmployer(settings))).id;
}

async function ensureAccount(
  operator: Api,
  employerId: string,
  { accountId: bankAccountId, holderName, identityId, balance }: PortalAccount,
): Promise<AccountItem> {
  const accounts = await operator.accounts(employerId);
  const wanted = { bankAccountId, debtorName: holderName, bankIdentityId: String(identityId) };
  let account =
    accounts.find((one) => one.bankAccountId === bankAccountId) ??
    (await operator.attachAccount(employerId, wanted));
  // The bank may have opened it again since.
  if (account.probedAt === null || !account.ready)
    account = await operator.probeAccount(employerId, account.id);
  if (account.unitConfirmed === null) account = await operator.checkBalance(employerId, account.id, balance);
  return account;
}
