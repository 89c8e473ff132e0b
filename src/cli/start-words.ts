import { bankHours } from '../config/bank-hours';
import { Config } from '../config/env';
import { earliestExecutionDate, periodOf } from '../domain/business-day';
import { COMPANY, SeededEmployer, STAFF_ROLES, StaffKeys } from './seed';

/** What there is to tell of a service with a sandbox. */
export interface Running {
  readonly url: string;
  readonly config: Config;
  readonly bankUrl: string;
  readonly database: string;
  readonly keys: StaffKeys;
  readonly employer: SeededEmployer;
}

/** Says where everything is, and a first thing to do that works when it is pasted. */
export function announce(print: (line: string) => void, running: Running): void {
  const { url, bankUrl, database, keys, employer } = running;
  const lines = [
    '',
    `Payrun      ${url}/docs`,
    `Bank        ${bankUrl}, a sandbox: its portal is ${bankUrl}/sandbox/portal/accounts`,
    `Database    ${database}`,
    `Employer    ${COMPANY}, ${employer.employerId}`,
    ...employer.notReady.map((why) => `            nothing is paid from its account yet: ${why}`),
    '',
    'Keys, kept in .payrun/keys.json:',
    ...STAFF_ROLES.map((role) => `  ${role.padEnd(15)}${keys[role]}`),
    '',
    'Upload a payroll as the preparer:',
    '',
    `  ${uploadExample(running)}`,
    '',
    'Ctrl-C stops all of it.',
  ];
  lines.forEach(print);
}

/** Says where a service is that works with a bank of its environment. */
export function announceService(print: (line: string) => void, url: string, database: string): void {
  ['', `Payrun      ${url}/docs`, `Database    ${database}`, '', 'Ctrl-C stops it.'].forEach(print);
}

function uploadExample({ url, config, keys, employer }: Running): string {
  const date = earliestExecutionDate(new Date(), bankHours(config));
  const period = periodOf(date);
  const address = `${url}/v1/employers/${employer.employerId}/pay-files?period=${period}&executionDate=${date}`;
  return [
    `curl -sS -H 'Authorization: Bearer ${keys.preparer}' -H 'Content-Type: text/csv' \\`,
    `    --data-binary @samples/payroll-5.csv '${address}'`,
  ].join('\n  ');
}
