import { code, markdownTable } from '../support/markdown-table';
import { OPERATIONS } from './operations';

const NOT_SHOWN = 'not shown';

/** The README's table of the bank's operations, from the lines of the contract. */
export function operationsTable(): string {
  return markdownTable(
    ['Operation', 'Method and path', 'Scope', '`BankClient`'],
    OPERATIONS.map(({ name, method, path, scopes, client }) => [
      name,
      code(`${method} ${path}`),
      scopes.map(code).join(' and ') || NOT_SHOWN,
      client.map(code).join(', '),
    ]),
  );
}
